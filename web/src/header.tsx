// The bar at the top: model, text, tools.
import { useEffect, useRef } from 'preact/hooks';
import { dialog } from './dialogs';

import { compute, computeText } from './runs';
import { busy, model, models, offline, run, sentence, text, theme, themeChoice } from './state';
import { endTour, startTour, touring } from './tour';

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M6 9c6 0 9 3 9 7s-3 7-9 7c-2-4-2-10 0-14z" fill="currentColor" />
      <path d="M18 12l10-4M19 16h10M18 20l10 4" stroke="var(--accent)" stroke-width="2.4" stroke-linecap="round" />
    </svg>
  );
}

function Input() {
  const field = useRef<HTMLInputElement>(null),
    timer = useRef(0);
  useEffect(() => {
    field.current?.focus({ preventScroll: true });
  }, []);
  const started = (value: string) => {
    text.value = value;
    clearTimeout(timer.current);
    // Short texts are computed while they are typed; long ones wait for Enter.
    if (value.trim() !== '' && value.length < 600)
      timer.current = window.setTimeout(() => {
        if (value !== run.value?.text) computeText(value);
      }, 350);
  };
  return (
    <form
      class="ask"
      onSubmit={(event) => {
        event.preventDefault();
        clearTimeout(timer.current);
        computeText(text.value);
      }}
    >
      {models.value.length > 1 ? (
        <select
          aria-label="Model"
          value={model.value}
          disabled={offline.value}
          onChange={(event) => {
            model.value = event.currentTarget.value;
            void compute({ model: event.currentTarget.value, text: text.value || sentence.value });
          }}
        >
          {models.value.map((m) => (
            <option key={m.name} value={m.name}>
              {m.name}
            </option>
          ))}
        </select>
      ) : (
        <span class="model-name" title="model">
          {model.value}
        </span>
      )}
      <input
        ref={field}
        id="text"
        aria-label="Text"
        dir="auto"
        autocomplete="off"
        spellcheck={false}
        value={text.value}
        readOnly={offline.value}
        placeholder="Write a sentence"
        onInput={(event) => started(event.currentTarget.value)}
      />
      {!offline.value && (
        <button type="submit" class="primary" data-test="run">
          {busy.value ? 'Running…' : 'Run'}
        </button>
      )}
    </form>
  );
}

export function Header() {
  return (
    <header class="top">
      <h1>
        <Mark />
        Headlight
      </h1>
      <Input />
      <nav aria-label="Tools">
        <button type="button" onClick={() => (touring.value ? endTour() : startTour())} aria-pressed={touring.value}>
          Tour
        </button>
        <button
          type="button"
          onClick={() => {
            dialog.value = 'share';
          }}
          disabled={!run.value}
          data-test="share"
        >
          Share
        </button>
        <button
          type="button"
          onClick={() => {
            dialog.value = 'export';
          }}
          disabled={!run.value}
          data-test="export"
        >
          Export
        </button>
        <button
          type="button"
          class="icon"
          aria-label="Keys"
          title="Keys (?)"
          onClick={() => {
            dialog.value = 'keys';
          }}
        >
          ?
        </button>
        <button
          type="button"
          class="icon"
          aria-label={theme.value === 'dark' ? 'Light page' : 'Dark page'}
          title="Light or dark"
          data-test="theme"
          onClick={() => {
            themeChoice.value = theme.value === 'dark' ? 'light' : 'dark';
          }}
        >
          {theme.value === 'dark' ? '☀' : '☾'}
        </button>
      </nav>
    </header>
  );
}
