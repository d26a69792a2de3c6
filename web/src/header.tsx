// The bar at the top: model, text, tools.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { useSignal, type Signal } from '@preact/signals';
import { host } from './host';
import { openCompare } from './compare';
import { dialog } from './dialogs';
import { computeText, stopPlaying, switchModel } from './runs';
import {
  busy,
  depth,
  model,
  models,
  offline,
  present,
  run,
  second,
  stale,
  text,
  theme,
  themeChoice,
  wantedModel,
} from './state';
import { page, showPage } from './pages';
import { endTour, startTour, touring } from './tour';
import type { Depth } from './types';

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M6 9c6 0 9 3 9 7s-3 7-9 7c-2-4-2-10 0-14z" fill="currentColor" />
      <path d="M18 12l10-4M19 16h10M18 20l10 4" stroke="var(--accent)" stroke-width="2.4" stroke-linecap="round" />
    </svg>
  );
}

interface TextFieldProps {
  id: string;
  label: string;
  hint: string;
  value: Signal<string>;
  changed: () => void;
  entered: () => void;
  focused?: boolean; // from the start, unless that opens an on-screen keyboard
}
// As many lines as its text: Enter computes, Shift-Enter starts a line.
function TextField({ id, label, hint, value, changed, entered, focused }: TextFieldProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (focused && !matchMedia('(pointer: coarse)').matches) field.current?.focus({ preventScroll: true });
  }, []);
  useLayoutEffect(() => {
    const box = field.current!;
    box.style.height = 'auto';
    box.style.height = `${box.scrollHeight + box.offsetHeight - box.clientHeight}px`;
  }, [value.value]);
  return (
    <textarea
      ref={field}
      id={id}
      rows={1}
      aria-label={label}
      dir="auto"
      autocomplete="off"
      spellcheck={false}
      value={value.value}
      readOnly={offline.value}
      placeholder={hint}
      onInput={(event) => {
        value.value = event.currentTarget.value;
        changed();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        entered();
      }}
    />
  );
}

function Input() {
  const timer = useRef(0);
  const wanted = useSignal(false); // the field for the second text
  const started = () => {
    clearTimeout(timer.current);
    stopPlaying(); // never overwrite the field while the user types
    // Short texts are computed while they are typed; long ones on Enter.
    if (text.value.trim() !== '' && text.value.length + second.value.length < 600)
      timer.current = window.setTimeout(() => {
        if (stale.value || !run.value) computeText(text.value, true);
      }, 250);
  };
  const entered = () => {
    clearTimeout(timer.current);
    computeText(text.value);
    if (text.value.trim() === '') return; // an empty field keeps the focus
    // From here on keys are shortcuts; i returns to the field.
    (host.root.activeElement as HTMLElement | null)?.blur();
    host.root.querySelector<HTMLElement>('[data-test=grid]')?.focus({ preventScroll: true });
  };
  const own = models.value.find((m) => m.name === model.value),
    reads = own?.reads !== false,
    pairs = own?.kind === 'encoder',
    shows = pairs && (wanted.value || second.value !== '');
  return (
    <form
      class="ask"
      onSubmit={(event) => {
        event.preventDefault();
        entered();
      }}
    >
      {models.value.length > 1 ? (
        <select
          aria-label="Model"
          title={own?.context ? `Reads up to ${own.context} tokens` : 'All models in the model folders'}
          value={wantedModel.value ?? model.value}
          disabled={offline.value}
          onChange={(event) => {
            clearTimeout(timer.current);
            void switchModel(event.currentTarget.value);
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
      <div class="texts">
        <TextField
          id="text"
          label={!reads ? 'Token ids' : shows ? 'Text A' : 'Text'}
          hint={reads ? 'Write a sentence' : 'Token ids, such as 0 1 2'}
          value={text}
          changed={started}
          entered={entered}
          focused
        />
        {shows && (
          <TextField
            id="second"
            label="Text B"
            hint="A second text, read together with the first"
            value={second}
            changed={started}
            entered={entered}
          />
        )}
      </div>
      {pairs && !offline.value && (
        <button
          type="button"
          class="icon"
          aria-pressed={shows}
          data-test="pair"
          title={shows ? 'Remove the second text' : 'Add a second text'}
          aria-label={shows ? 'Remove the second text' : 'Add a second text'}
          onClick={() => {
            wanted.value = !shows;
            if (!shows) return;
            const had = second.value !== '';
            second.value = '';
            if (had) computeText(text.value);
          }}
        >
          {shows ? '−B' : '+B'}
        </button>
      )}
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
      <nav aria-label="Pages">
        {(
          [
            ['view', 'View'],
            ['learn', 'Learn'],
            ['train', 'Train'],
          ] as const
        ).map(
          ([name, title]) =>
            !offline.value && (
              <a
                key={name}
                class="button"
                href={name === 'view' ? '#' : `#${name}`}
                aria-current={page.value === name ? 'page' : undefined}
                onClick={(event) => {
                  event.preventDefault();
                  showPage(name);
                }}
              >
                {title}
              </a>
            ),
        )}
      </nav>
      {page.value === 'view' && <Input />}
      <nav aria-label="Tools" class={page.value === 'view' ? '' : 'few'}>
        <select
          aria-label="Depth"
          title="How many numbers are shown; their values do not change"
          data-test="depth"
          value={depth.value}
          onChange={(event) => {
            depth.value = event.currentTarget.value as Depth;
          }}
        >
          <option value="learner">Learner</option>
          <option value="engineer">Engineer</option>
          <option value="researcher">Researcher</option>
        </select>
        <button type="button" onClick={() => (touring.value ? endTour() : startTour())} aria-pressed={touring.value}>
          Tour
        </button>
        {!offline.value && (
          <button
            type="button"
            onClick={openCompare}
            disabled={!run.value}
            data-test="compare"
            title="With another text, another model, or the unchanged model (=)"
          >
            Compare
          </button>
        )}
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
          disabled={!run.value}
          data-test="present"
          title="One panel in large type, for presenting (p)"
          onClick={() => (present.value = true)}
        >
          Present
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
