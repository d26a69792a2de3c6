// The playground's runs, as kept by the program: found again after a reload, and polled while they run.
import { computed, effect, signal } from '@preact/signals';
import { story } from './pages';
import { ask, post, Trouble } from './source';
import { report } from './state';

export interface Settings {
  task: string;
  layers: number;
  heads: number;
  width: number;
  positions: boolean;
  mask: boolean;
  scale: boolean;
  residual: boolean;
  steps: number;
  rate: number;
  seed: number;
}
interface Look {
  says: number[];
  maps: Uint8Array; // [layer, head, query, key], weights · 255
}
export interface Frame extends Look {
  step: number;
  seconds: number;
  loss: number | null;
  accuracy: number;
  probe: number;
}
export interface Run {
  id: number;
  state: 'running' | 'paused' | 'finished' | 'stopped' | 'failed';
  reason: string;
  step: number;
  seconds: number;
  parameters: number;
  settings: Settings;
  probes: { ids: number[]; targets: number[] }[];
  frames: Frame[];
}
export interface Preset {
  name: string;
  title: string;
  claim: string;
  measured: string;
  arms: { label: string; settings: Settings }[];
}
export interface Offer {
  tasks: { name: string; what: string; words: string[]; example: string }[];
  presets: Preset[];
  ranges: Record<string, [number, number]>;
  usual: Settings;
  runs: Run[];
}

export const offer = signal<Offer | null>(null);
export const settings = signal<Settings | null>(null);
export const runs = signal<Run[]>([]); // the newest last, three at most
export const preset = signal<Preset | null>(null);
export const queue = signal<Settings[]>([]); // arms of a preset that are still to come
export const at = signal<number | null>(null); // the displayed step; null: the newest
export const compared = signal(true);
export const since = signal(0); // the first run of the comparison with the newest
export const out = signal<string[]>([]); // removed heads: "0.1"
export const knocked = signal<(Look & { accuracy: number; before: number }) | null>(null);
export const said = signal(''); // the result of the last command

export const newest = computed<Run | null>(() => runs.value.at(-1) ?? null);
export const isOver = (run: Run) => run.state !== 'running' && run.state !== 'paused';
export const wordsOf = (run: Run) => offer.value?.tasks.find((t) => t.name === run.settings.task)?.words ?? [];
export function frameAt(run: Run, step: number | null): Frame | undefined {
  if (step === null) return run.frames.at(-1);
  let best = run.frames[0];
  for (const f of run.frames) if (Math.abs(f.step - step) <= Math.abs(best.step - step)) best = f;
  return best;
}

const bytes = (text: string) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
async function more(id: number): Promise<Run> {
  const had = runs.value.find((r) => r.id === id),
    count = had?.frames.length ?? 0;
  const got = await (await ask(`train/${id}/frames?after=${count}&state=${had?.state ?? ''}`)).json();
  got.frames = [...(had?.frames ?? []), ...got.frames.map((f: { maps: string }) => ({ ...f, maps: bytes(f.maps) }))];
  runs.value = [...runs.value.filter((r) => r.id !== id), got as Run].sort((a, b) => a.id - b.id).slice(-3);
  return got as Run;
}

let following = 0;
async function follow(id: number): Promise<void> {
  if (following === id) return;
  following = id;
  // Milliseconds between pictures: the browser and the training share this machine's cores.
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches ? 1000 : 150;
  try {
    for (;;) {
      const run = await more(id);
      if (following !== id) return;
      if (isOver(run)) break;
      await new Promise((done) => setTimeout(done, calm));
    }
    following = 0;
    const next = queue.value[0];
    if (!next || newest.value?.state !== 'finished') return;
    queue.value = queue.value.slice(1);
    await train(next);
  } catch (error) {
    following = 0;
    report(error);
  }
}

export async function train(wanted: Settings): Promise<void> {
  at.value = null;
  out.value = [];
  knocked.value = null;
  said.value = '';
  try {
    const { id } = await (await post('train', wanted)).json();
    void follow(id);
  } catch (error) {
    report(error);
  }
}
export function choosePreset(name: string): void {
  const found = offer.value?.presets.find((p) => p.name === name) ?? null;
  preset.value = found;
  if (found) settings.value = found.arms[0].settings;
}
// Selects the preset in the address, once presets are known.
effect(() => {
  if (offer.value && story.value) choosePreset(story.value);
});
export function startPreset(chosen: Preset): void {
  compared.value = true;
  since.value = (newest.value?.id ?? 0) + 1;
  queue.value = chosen.arms.slice(1).map((arm) => arm.settings);
  void train(chosen.arms[0].settings);
}

export async function command(name: string, body: object = {}): Promise<boolean> {
  const run = newest.value;
  if (!run) return false;
  if (name === 'stop') queue.value = [];
  try {
    await post(`train/${run.id}/${name}`, body);
    said.value = '';
    if (name === 'probe' || isOver(run)) await more(run.id);
    return true;
  } catch (error) {
    if (error instanceof Trouble && error.code.startsWith('playground.')) said.value = error.message;
    else report(error);
    return false;
  }
}
export async function toggleHead(name: string): Promise<void> {
  const run = newest.value;
  if (!run) return;
  out.value = out.value.includes(name) ? out.value.filter((h) => h !== name) : [...out.value, name];
  if (out.value.length === 0) knocked.value = null;
  else
    try {
      const heads = out.value.map((h) => h.split('.').map(Number));
      const got = await (await post(`train/${run.id}/ablate`, { heads })).json();
      knocked.value = { ...got, maps: bytes(got.maps) };
    } catch (error) {
      report(error);
    }
}
export async function save(): Promise<string | null> {
  const run = newest.value;
  if (!run) return null;
  const name = `${run.settings.task}-${run.id}`;
  try {
    const got = await (await post(`train/${run.id}/save`, { name })).json();
    said.value = `Saved in ${got.folder}.`;
    return name;
  } catch (error) {
    if (error instanceof Trouble) said.value = error.message;
    else report(error);
    return null;
  }
}

export async function openPlayground(): Promise<void> {
  if (offer.value) return;
  try {
    const got = (await (await ask('train')).json()) as Offer;
    settings.value = got.runs.at(-1)?.settings ?? got.usual;
    offer.value = got; // after the settings: a preset in the address has its own
    for (const run of got.runs) {
      if (run === got.runs.at(-1)) void follow(run.id);
      else await more(run.id);
    }
  } catch (error) {
    report(error);
  }
}
