// The playground: a small model learns while its heads are drawn.
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { host } from './host';
import { entry, table } from './color';
import { digits, weight } from './format';
import { models, palette, theme, theSource } from './state';
import {
  at,
  choosePreset,
  command,
  compared,
  frameAt,
  isOver,
  knocked,
  newest,
  offer,
  openPlayground,
  out,
  preset,
  queue,
  runs,
  said,
  save,
  settings,
  since,
  startPreset,
  toggleHead,
  train,
  wordsOf,
  type Run,
  type Settings,
} from './train_state';

const switches: [keyof Settings, string][] = [
  ['positions', 'Positions'],
  ['mask', 'Mask'],
  ['scale', 'Divide by √d'],
  ['residual', 'Residual connections'],
];
const numbers: [keyof Settings, string, number][] = [
  ['layers', 'Layers', 1],
  ['heads', 'Heads', 1],
  ['width', 'Width', 8],
  ['steps', 'Steps', 100],
  ['seed', 'Seed', 1],
];
const palettes = ['cividis', 'viridis', 'magma', 'grey']; // the first two are made for colour-blind readers
const percent = (x: number) => `${(100 * x).toFixed(0)} %`;

function Controls() {
  const o = offer.value!,
    s = settings.value!,
    run = newest.value,
    busy = run !== null && !isOver(run);
  const change = (part: Partial<Settings>) => {
    preset.value = null;
    settings.value = { ...s, ...part };
  };
  return (
    <form
      class="card train-controls"
      onSubmit={(event) => {
        event.preventDefault();
        if (preset.value) startPreset(preset.value);
        else {
          queue.value = [];
          since.value = newest.value?.id ?? 0;
          void train(s);
        }
      }}
    >
      <label>
        Story
        <select
          data-test="preset"
          value={preset.value?.name ?? ''}
          onChange={(event) => choosePreset(event.currentTarget.value)}
        >
          <option value="">my own settings</option>
          {o.presets.map((p) => (
            <option key={p.name} value={p.name}>
              {p.title}
            </option>
          ))}
        </select>
      </label>
      <label>
        Task
        <select data-test="task" value={s.task} onChange={(event) => change({ task: event.currentTarget.value })}>
          {o.tasks.map((t) => (
            <option key={t.name}>{t.name}</option>
          ))}
        </select>
      </label>
      {numbers.map(([key, name, step]) => (
        <label key={key}>
          {name}
          <input
            type="number"
            min={o.ranges[key][0]}
            max={o.ranges[key][1]}
            step={key === 'width' ? 1 : step === 100 ? 1 : step}
            required
            value={s[key] as number}
            onInput={(event) => change({ [key]: event.currentTarget.valueAsNumber })}
          />
        </label>
      ))}
      {switches.map(([key, name]) => (
        <label class="check" key={key}>
          <input
            type="checkbox"
            checked={s[key] as boolean}
            onChange={(event) => change({ [key]: event.currentTarget.checked })}
          />
          {name}
        </label>
      ))}
      <button type="submit" class="primary" disabled={busy} data-test="start">
        Train
      </button>
      <p class="hint">
        {preset.value
          ? `${preset.value.claim} ${preset.value.measured}`
          : `${o.tasks.find((t) => t.name === s.task)?.what} For example: `}
        {!preset.value && <code>{o.tasks.find((t) => t.name === s.task)?.example}</code>}
      </p>
    </form>
  );
}

// One head: rows are queries, columns keys.
function HeadMap({
  run,
  name,
  maps,
  offset,
  size,
}: {
  run: Run;
  name: string;
  maps: Uint8Array;
  offset: number;
  size: number;
}) {
  const canvas = useRef<HTMLCanvasElement>(null),
    words = wordsOf(run),
    last = run === newest.value,
    ids = run.probes.at(-1)!.ids,
    colors = table(theme.value, palette.value);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const image = context.createImageData(size, size);
    for (let i = 0; i < size * size; ++i) {
      const e = 3 * entry(maps[offset + i] / 255, 'sqrt');
      image.data.set([colors[e], colors[e + 1], colors[e + 2], 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
  });
  let top = 0;
  for (let i = 0; i < size * size; ++i) if (i > 0 && maps[offset + i] > maps[offset + top]) top = i;
  const word = (i: number) => words[ids[i]] ?? '';
  const strongest = `${word(Math.floor(top / size))} → ${word(top % size)} ${weight(maps[offset + top] / 255)}`;
  return (
    <button
      type="button"
      class="head-map"
      disabled={!last}
      aria-pressed={last && out.value.includes(name)}
      aria-label={`Head ${name}, strongest ${strongest}. ${last ? 'Remove' : ''}`}
      title={`Head ${name}: ${strongest}`}
      onClick={() => void toggleHead(name)}
      onMouseMove={(event) => {
        const box = canvas.current!.getBoundingClientRect();
        const i = Math.floor(((event.clientY - box.top) / box.height) * size),
          j = Math.floor(((event.clientX - box.left) / box.width) * size);
        if (i >= 0 && j >= 0 && i < size && j < size)
          event.currentTarget.title = `Head ${name}: ${word(i)} → ${word(j)} ${weight(maps[offset + i * size + j] / 255)}`;
      }}
    >
      <canvas ref={canvas} width={size} height={size} />
      <span>{name}</span>
    </button>
  );
}

// Accuracy and loss against steps.
function Curves({ run, step }: { run: Run; step: number }) {
  const w = 300,
    h = 70,
    top = Math.max(...run.frames.map((f) => f.loss ?? 0), 1);
  const x = (s: number) => (w * s) / run.settings.steps;
  const line = (value: (f: Run['frames'][0]) => number | null) =>
    run.frames
      .filter((f) => value(f) !== null)
      .map((f) => `${x(f.step).toFixed(1)},${(h - h * value(f)!).toFixed(1)}`)
      .join(' ');
  const f = frameAt(run, step)!;
  return (
    <svg
      class="curves"
      viewBox={`0 -3 ${w} ${h + 6}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`At step ${f.step}: loss ${f.loss === null ? 'unknown' : digits(f.loss, 3)}, right answers ${percent(f.accuracy)}`}
    >
      <polyline points={line((g) => (g.loss === null ? null : g.loss / top))} class="loss" />
      <polyline points={line((g) => g.accuracy)} class="right" />
      <line x1={x(f.step)} x2={x(f.step)} y1={0} y2={h} />
    </svg>
  );
}

const settingsText = (s: Settings) =>
  `${s.layers} layer${s.layers > 1 ? 's' : ''} of ${s.heads} head${s.heads > 1 ? 's' : ''}, width ${s.width}` +
  switches
    .filter(([key]) => !s[key])
    .map(([, name]) => `, without ${name === 'Divide by √d' ? '√d' : name.toLowerCase()}`)
    .join('');

function RunView({ run }: { run: Run }) {
  const frame = frameAt(run, at.value);
  if (!frame) return <p class="hint">Starting…</p>;
  const last = run === newest.value,
    changed = last && at.value === null ? knocked.value : null;
  const { layers, heads } = run.settings,
    probe = run.probes[frame.probe],
    size = probe.ids.length,
    words = wordsOf(run),
    look = changed ?? frame;
  const asks = probe.targets.some((t) => t >= 0);
  return (
    <section class="card run" data-test="run-view" data-state={run.state} data-frames={run.frames.length}>
      <header>
        <h2>{run.settings.task}</h2>
        <span class="quiet">{settingsText(run.settings)}</span>
      </header>
      <p data-test="run-numbers">
        Step <b>{frame.step}</b> of {run.settings.steps}, loss{' '}
        <b>{frame.loss === null ? '–' : digits(frame.loss, 3)}</b>, right on unseen cases{' '}
        <b>{percent(changed ? changed.accuracy : frame.accuracy)}</b>
        {changed && ` without ${out.value.join(', ')} (${percent(changed.before)} with)`}. {run.parameters} parameters,{' '}
        {frame.seconds.toFixed(1)} s.{' '}
        {run.state !== 'running' && run.state !== 'finished' && `${run.state}: ${run.reason}`}
      </p>
      <Curves run={run} step={frame.step} />
      <p class="legend-line">
        <i class="right" /> right answers <i class="loss" /> loss
      </p>
      <div class="maps">
        {Array.from({ length: layers }, (_, l) => (
          <div class="maps-row" key={l} role="group" aria-label={`Layer ${l}`}>
            {Array.from({ length: heads }, (_, h) => (
              <HeadMap
                key={h}
                run={run}
                name={`${l}.${h}`}
                maps={look.maps}
                offset={(l * heads + h) * size * size}
                size={size}
              />
            ))}
          </div>
        ))}
      </div>
      <p class="probe-line">
        {probe.ids.map((id, i) => {
          const asked = !asks || probe.targets[i] >= 0,
            right = asks && probe.targets[i] === look.says[i];
          return (
            <span key={i} class={asked ? (right || !asks ? 'right' : 'wrong') : ''}>
              {words[id]}
              {asked && (
                <small>
                  {words[look.says[i]]}
                  {asks && (right ? ' ✓' : ' ✗')}
                </small>
              )}
            </span>
          );
        })}
      </p>
    </section>
  );
}

// The same element for an unchanged run, so that a picture of the newest run does not redraw the others.
const views = new WeakMap<Run, VNode>();
function viewOf(run: Run): VNode {
  const view = views.get(run) ?? <RunView run={run} key={run.id} />;
  views.set(run, view);
  return view;
}

function Player({ run }: { run: Run }) {
  const over = isOver(run),
    last = run.frames.at(-1)?.step ?? 0,
    text = useRef<HTMLInputElement>(null);
  return (
    <div class="card player">
      {!over && (
        <>
          <button
            type="button"
            onClick={() => void command(run.state === 'paused' ? 'resume' : 'pause')}
            data-test="pause"
          >
            {run.state === 'paused' ? 'Go on' : 'Pause'}
          </button>
          <button type="button" onClick={() => void command('step', { steps: 1 })} data-test="step">
            One step
          </button>
          <button type="button" onClick={() => void command('stop')} data-test="stop">
            Stop
          </button>
        </>
      )}
      <label class="scrub">
        Moment
        <input
          type="range"
          min={0}
          max={last}
          value={at.value ?? last}
          data-test="scrub"
          aria-valuetext={`step ${at.value ?? last}`}
          onInput={(event) => {
            const step = event.currentTarget.valueAsNumber;
            at.value = step >= last ? null : step;
          }}
        />
      </label>
      {runs.value.length > 1 && (
        <label class="check">
          <input
            type="checkbox"
            checked={compared.value}
            onChange={(event) => {
              compared.value = event.currentTarget.checked;
            }}
          />
          Beside earlier runs
        </label>
      )}
      <label>
        Colours
        <select
          data-test="train-palette"
          value={palette.value}
          onChange={(event) => {
            palette.value = event.currentTarget.value as typeof palette.value;
          }}
        >
          {palettes.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void command('probe', { text: text.current?.value ?? '' });
        }}
      >
        <input ref={text} aria-label="Probe: words of your own" placeholder="words of your own" data-test="probe" />
        <button type="submit">Probe</button>
      </form>
      {['png', 'svg'].map((form) => (
        <a
          key={form}
          class="button"
          download
          href={`/api/v1/train/${run.id}/strip?format=${form}&theme=${theme.value}&palette=${palette.value}`}
        >
          Strip {form.toUpperCase()}
        </a>
      ))}
      <button
        type="button"
        data-test="save"
        onClick={async () => {
          const name = await save();
          if (!name) return;
          models.value = (await theSource().start()).models;
          const words = wordsOf(run),
            text = run.probes
              .at(-1)!
              .ids.slice(1)
              .map((id) => words[id]);
          host.go(`#m=${name}&t=${encodeURIComponent(text.join(' '))}`);
        }}
      >
        Save, open in the viewer
      </button>
      <p class="hint" role="status">
        {said.value}
      </p>
    </div>
  );
}

export function Train() {
  useEffect(() => void openPlayground(), []);
  if (!offer.value || !settings.value) return <main class="train">Asking the server…</main>;
  const run = newest.value,
    shown = compared.value ? runs.value.filter((r) => r.id >= since.value) : runs.value.slice(-1);
  return (
    <main class="train" data-test="train">
      <h2 class="says">Watch heads form while a model learns</h2>
      <Controls />
      {run && <Player run={run} />}
      <div class="runs" aria-live="off">
        {shown.map(viewOf)}
      </div>
      {run && (
        <p class="hint">
          Rows look at columns; the stronger the colour, the larger the weight (square root scale, rounded to 1/255).
          Press a map to remove that head. The line below the maps shows the model's prediction after each word.
        </p>
      )}
      <p class="unseen" role="status">
        {run ? `${run.settings.task}: ${run.state}` : ''}
      </p>
    </main>
  );
}
