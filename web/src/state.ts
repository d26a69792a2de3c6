// One selection that all views share: (part, layer, head, queries, keys), and what is hovered on top of it.
import { batch, computed, effect, signal } from '@preact/signals';
import { openSource, readAtlas, readHead, Trouble, type Source } from './source';
import { firstLook, sameWord } from './finding';
import { parseAddress, writeAddress, type Address } from './address';
import type { Atlas, Head, ModelInfo, PartInfo, PartName, Prediction, Reading, RunInfo, RunRequest, Scale, Theme } from './types';

export interface Place { layer: number; head: number }
export interface Cell { query: number; key: number }

export const version = signal('');
export const models = signal<ModelInfo[]>([]);
export const sentence = signal('');
export const offline = signal(false);
export const run = signal<RunInfo | null>(null);
export const model = signal('');
export const text = signal('');
export const target = signal('');
export const busy = signal(false);
export const trouble = signal<{ message: string; again: boolean } | null>(null);

export const part = signal<PartName>('decoder');
export const place = signal<Place>({ layer: 0, head: 0 });
export const queries = signal<number[]>([]);
export const keys = signal<number[]>([]);
export const scale = signal<Scale>('sqrt');
export const themeChoice = signal<Theme | null>(null);
export const muted = signal(false);      // the first key greyed
export const words = signal(false);      // tokens joined into words
export const linkMap = signal(false);    // atlas: the pinned link in all heads
export const lines = signal(false);      // the pattern as lines
export const solo = signal(false);       // the atlas shows the pinned head alone
export const guessing = signal(false);   // weights are hidden until revealed

export const hoverCell = signal<Cell | null>(null);
export const hoverPlace = signal<Place | null>(null);
export const hoverQuery = signal<number | null>(null);

export const sampling = signal({ temperature: 0, top_k: 0, seed: 0 });

const darkSystem = matchMedia('(prefers-color-scheme: dark)');
const systemTheme = signal<Theme>(darkSystem.matches ? 'dark' : 'light');
darkSystem.addEventListener('change', () => { systemTheme.value = darkSystem.matches ? 'dark' : 'light'; });
const printing = signal(false);
addEventListener('beforeprint', () => { printing.value = true; });
addEventListener('afterprint', () => { printing.value = false; });
matchMedia('print').addEventListener('change', (event) => { printing.value = event.matches; });
export const theme = computed<Theme>(() => (printing.value ? 'light' : themeChoice.value ?? systemTheme.value));

let source: Source;
export const theSource = () => source;

export const partInfo = computed<PartInfo | null>(() => run.value?.parts.find((p) => p.part === part.value) ?? null);
export const shownPlace = computed<Place>(() => hoverPlace.value ?? place.value);

function readings(info: RunInfo, name: PartName): [Reading, Reading] {
  if (info.written === null || name === 'encoder') return [info.source, info.source];
  return name === 'cross' ? [info.written, info.source] : [info.decoder_input!, info.decoder_input!];
}
const none: Reading = { text: '', tokens: [], words: [] };
export const queryReading = computed<Reading>(() => (run.value ? readings(run.value, part.value)[0] : none));
export const keyReading = computed<Reading>(() => (run.value ? readings(run.value, part.value)[1] : none));
export const readingsOf = readings;

// The query that is looked at now: hovered, else pinned.
export const activeQueries = computed<number[]>(() =>
  hoverCell.value ? [hoverCell.value.query] : hoverQuery.value !== null ? [hoverQuery.value] : queries.value);

// ---------------------------------------------------------------- numbers

export const weights = signal<Float32Array | null>(null);  // of all heads of the part, where they fit
export const atlas = signal<Atlas | null>(null);
// Of one query in all heads, [layers, heads, columns]: for texts that are too long for all weights.
const rowWeights = signal<{ query: number; values: Float32Array } | null>(null);
const heads = signal<ReadonlyMap<string, Head>>(new Map());
const wanted = new Set<string>();
const headKey = (at: Place) => `${run.value?.id}/${part.value}/${at.layer}/${at.head}`;
const mostWeights = 1.5e6;

// The head's own numbers, asked for when they are not here yet.
export function headOf(at: Place): Head | null {
  const key = headKey(at), known = heads.value.get(key);
  if (known) return known;
  const info = run.value;
  if (!info || wanted.has(key)) return null;
  wanted.add(key);
  readHead(source, info, part.value, at.layer, at.head).then((head) => {
    const next = new Map(heads.value);
    if (next.size > 200) next.delete(next.keys().next().value as string);
    heads.value = next.set(key, head);
  }, report).finally(() => wanted.delete(key));
  return null;
}

// [rows, columns] of a head: from all weights, from its own numbers, or nothing yet.
export function mapOf(at: Place): Float32Array | null {
  const info = partInfo.value;
  if (!info) return null;
  const all = weights.value;
  if (all) {
    const size = info.rows * info.columns, first = (at.layer * info.heads + at.head) * size;
    return all.subarray(first, first + size);
  }
  return atlas.value ? headOf(at)?.weights ?? null : null;  // not before it is known that all weights are too many
}
export const shownMap = computed(() => mapOf(shownPlace.value));

// Mean over the queries of their weights, one number per key.
export function rowOf(map: Float32Array, list: number[], columns: number): Float32Array {
  const out = new Float32Array(columns);
  for (let j = 0; j < columns; ++j) {
    let sum = 0, seen = 0;
    for (const i of list) {
      const w = map[i * columns + j];
      if (!Number.isNaN(w)) { sum += w; ++seen; }
    }
    out[j] = seen > 0 ? sum / list.length : NaN;
  }
  return out;
}
// What the queries give to each key in a head, without asking for more than is here.
export function rowIn(at: Place, list: number[]): Float32Array | null {
  const info = partInfo.value, rows = rowWeights.value;
  if (!info) return null;
  if (weights.value) return rowOf(mapOf(at)!, list, info.columns);
  if (!rows || rows.query !== list[0]) return null;
  const first = (at.layer * info.heads + at.head) * info.columns;
  return rows.values.subarray(first, first + info.columns);
}
async function loadRow(query: number): Promise<void> {
  const info = run.value, name = part.value;
  if (!info || weights.value || offline.value || rowWeights.value?.query === query) return;
  const values = new Float32Array(await source.bytes(info, `${name}/row/${query}.f32`));
  if (run.value?.id === info.id && part.value === name) rowWeights.value = { query, values };
}
export const activeRow = computed(() => {
  const map = shownMap.value, info = partInfo.value;
  const list = activeQueries.value.filter((i) => info && i < info.rows);
  return map && info && list.length > 0 ? rowOf(map, list, info.columns) : null;
});

export function report(error: unknown): void {
  if (error instanceof DOMException && error.name === 'AbortError') return;
  const message = error instanceof Error ? error.message : String(error);
  trouble.value = { message, again: !(error instanceof Trouble) || error.again };
}

async function loadNumbers(info: RunInfo, name: PartName): Promise<void> {
  const p = info.parts.find((item) => item.part === name)!;
  weights.value = null; atlas.value = null; rowWeights.value = null;
  try {
    if (p.layers * p.heads * p.rows * p.columns <= mostWeights) {
      const all = new Float32Array(await source.bytes(info, `${name}/weights.f32`));
      if (run.value?.id !== info.id || part.value !== name) return;
      batch(() => { weights.value = all; atlas.value = { rows: p.rows, columns: p.columns, exact: true, values: all }; });
    } else {
      const small = await readAtlas(source, info, p);
      if (run.value?.id === info.id && part.value === name) atlas.value = small;
    }
  } catch (error) {
    if (!(source.offline && error instanceof Trouble)) throw error;
    atlas.value = await readAtlas(source, info, p);
  }
}

// ---------------------------------------------------------------- runs

let aborter: AbortController | null = null;
let lastRequest: RunRequest | null = null;

export async function compute(request: RunRequest, address: Address | null = null): Promise<void> {
  aborter?.abort();
  const mine = (aborter = new AbortController());
  lastRequest = request;
  busy.value = true;
  try {
    const info = await source.run(request, mine.signal);
    if (mine === aborter) await show(info, address);
    if (mine === aborter) trouble.value = null;
  } catch (error) {
    if (mine === aborter) report(error);
  } finally {
    if (mine === aborter) busy.value = false;
  }
}

export function again(): void {
  trouble.value = null;
  if (!source) void open();
  else if (lastRequest) void compute(lastRequest);
}

// A new run takes the place of the old one; what was pinned stays where it can.
async function show(info: RunInfo, address: Address | null): Promise<void> {
  const before = run.value, beforeQueries = queries.value, beforeReading = queryReading.value;
  const known = (name: PartName | undefined) => name !== undefined && info.parts.some((p) => p.part === name);
  const name = known(address?.part) ? address!.part! : before && known(part.value) ? part.value : info.usual_part;
  batch(() => {
    run.value = info; model.value = info.model.name; text.value = info.text; target.value = info.target;
    part.value = name;
    models.value = models.value.map((m) => (m.name === info.model.name ? info.model : m));
    hoverCell.value = hoverPlace.value = hoverQuery.value = null;
    clampPlace();
    if (!before || before.id !== info.id) { queries.value = []; keys.value = []; }
  });
  await loadNumbers(info, name);
  const kept = before ? sameWord(beforeReading, beforeQueries, queryReading.value) : null;
  if (!weights.value && !address?.place) await loadRow((address?.queries ?? firstLook(kept ?? [])?.queries ?? [])[0] ?? 0);
  batch(() => {
    const p = partInfo.value!;
    if (address?.place && address.place.layer < p.layers && address.place.head < p.heads) place.value = address.place;
    const inside = (list: number[] | undefined, most: number) => (list ?? []).filter((i) => i < most);
    if (address?.queries) {
      queries.value = inside(address.queries, p.rows); keys.value = inside(address.keys, p.columns);
      if (!address.place && queries.value.length > 0) choose(queries.value);
    } else if (before && beforeQueries.length > 0 && before.more.length < info.more.length && before.text === info.text) {
      queries.value = [p.rows - 1];  // the token that was just written
    } else {
      choose(kept ?? [], Boolean(address?.place));
    }
  });
}

// Pins a query, and the head and keys that have most to say about it.
function choose(list: number[], keepHead = false): void {
  const look = firstLook(list);
  if (!look) return;
  queries.value = look.queries;
  keys.value = look.keys;
  if (!keepHead) place.value = look.place;
}

function clampPlace(): void {
  const p = partInfo.value;
  if (p && (place.value.layer >= p.layers || place.value.head >= p.heads)) place.value = { layer: 0, head: 0 };
}

export async function setPart(name: PartName): Promise<void> {
  const info = run.value;
  if (!info || name === part.value) return;
  batch(() => { part.value = name; queries.value = []; keys.value = []; clampPlace(); });
  try {
    await loadNumbers(info, name);
    batch(() => choose([]));
  } catch (error) { report(error); }
}

export function computeText(value: string): void {
  if (value.trim() === '') { trouble.value = { message: 'The text is empty; write a few words.', again: false }; return; }
  void compute({ model: model.value, text: value, ...drawn() });
}
function drawn(): Partial<RunRequest> {
  const kind = models.value.find((m) => m.name === model.value)?.kind;
  return kind === 'encoder_decoder' && sampling.value.temperature > 0 ? sampling.value : {};
}
export function redraw(): void {
  const info = run.value;
  if (info) void compute({ model: info.model.name, text: info.text, ...sampling.value });
}
export async function writeOne(): Promise<boolean> {
  const info = run.value;
  if (!info || info.model.kind !== 'decoder' || offline.value) return false;
  busy.value = true;
  try {
    const { temperature, top_k, seed } = sampling.value;
    await show(await source.next(info, { temperature, top_k, seed }), null);
    return true;
  } catch (error) {
    report(error);
    return false;
  } finally { busy.value = false; }
}
export function takeBack(): void {
  const info = run.value;
  if (info && info.more.length > 0) void compute({ model: info.model.name, text: info.text, more: info.more.slice(0, -1) });
}

// ---------------------------------------------------------------- predictions

const predictions = new Map<string, Prediction>();
export const prediction = signal<Prediction | null>(null);
// Which row of the logits belongs to the pinned query.
export const predictionAt = computed<number | null>(() => {
  const info = run.value;
  if (!info || info.predictions === 0) return null;
  if (info.written !== null && part.value === 'encoder') return info.predictions - 1;
  const last = activeQueries.value.at(-1);
  return last === undefined ? info.predictions - 1 : Math.min(last, info.predictions - 1);
});
function followQueries(): void {
  effect(() => { if (run.value && atlas.value && queries.value.length > 0) loadRow(queries.value[0]).catch(report); });
}
function followPredictions(): void {
  effect(() => {
    const info = run.value, at = predictionAt.value;
    if (!info || at === null) { prediction.value = null; return; }
    const key = `${info.id}/${at}`, known = predictions.get(key);
    if (known) { prediction.value = known; return; }
    source.prediction(info, at).then((found) => {
      if (predictions.size > 500) predictions.clear();
      predictions.set(key, found);
      if (run.value?.id === info.id && predictionAt.peek() === at) prediction.value = found;
    }, report);
  });
}

// ---------------------------------------------------------------- address

function address(): Address {
  const info = run.value;
  return {
    model: model.value, text: info?.text ?? text.value, target: info?.target || undefined,
    more: info && info.more.length > 0 ? info.more : undefined,
    temperature: info && info.temperature > 0 ? info.temperature : undefined,
    top_k: info?.top_k || undefined, seed: info?.seed || undefined,
    part: part.value, place: place.value, queries: queries.value, keys: keys.value, scale: scale.value,
    theme: themeChoice.value ?? undefined, muted: muted.value, words: words.value, linkMap: linkMap.value, solo: solo.value, lines: lines.value,
  };
}
export const addressText = computed(() => writeAddress(address()));

let writtenHash = '';
function followAddress(): void {
  effect(() => {
    if (!run.value) return;
    const hash = '#' + addressText.value;
    if (hash === writtenHash) return;
    writtenHash = hash;
    try { history.replaceState(null, '', hash); } catch { /* a page inside a page has no address of its own */ }
  });
  addEventListener('hashchange', () => {
    if (location.hash !== writtenHash) applyAddress(parseAddress(location.hash.slice(1)));
  });
}

function applyLooks(a: Address): void {
  batch(() => {
    if (a.scale) scale.value = a.scale;
    themeChoice.value = a.theme ?? themeChoice.value;
    muted.value = a.muted ?? false; words.value = a.words ?? false;
    linkMap.value = a.linkMap ?? false; solo.value = a.solo ?? false; lines.value = a.lines ?? false;
    sampling.value = { temperature: a.temperature ?? 0, top_k: a.top_k ?? 0, seed: a.seed ?? 0 };
  });
}

function applyAddress(a: Address): void {
  applyLooks(a);
  void compute({
    model: a.model ?? models.value[0].name, text: a.text || sentence.value, target: a.target, more: a.more,
    temperature: a.temperature, top_k: a.top_k, seed: a.seed,
  }, a);
}

export async function open(): Promise<void> {
  try {
    source = await openSource();
    const start = await source.start();
    batch(() => {
      offline.value = source.offline; version.value = start.version; sentence.value = start.sentence;
      models.value = start.models; model.value = start.models[0].name; text.value = start.sentence;
    });
    const own = source.offline && location.hash.length > 1 ? location.hash.slice(1) : source.at;
    const a = parseAddress(own);
    if (a.model && !start.models.some((m) => m.name === a.model)) {
      report(new Trouble(`This server has no model “${a.model}”; the link was made for another one. Showing “${start.models[0].name}”.`, 'model', false));
      a.model = undefined; a.place = undefined;
    }
    followPredictions();
    followQueries();
    const complaint = trouble.value;
    applyLooks(a);
    await compute({
      model: a.model ?? start.models[0].name, text: a.text || start.sentence, target: a.target, more: a.more,
      temperature: a.temperature, top_k: a.top_k, seed: a.seed,
    }, own ? a : null);
    if (complaint && !trouble.value) trouble.value = complaint;
    followAddress();
  } catch (error) { report(error); }
}

export function pin(list: number[], keyList: number[]): void {
  batch(() => { queries.value = list; keys.value = keyList; });
}
// Esc takes one level away.
export function clearOne(): void {
  if (hoverCell.value || hoverPlace.value) { hoverCell.value = null; hoverPlace.value = null; }
  else if (solo.value) solo.value = false;
  else if (keys.value.length > 0) keys.value = [];
  else if (queries.value.length > 0) queries.value = [];
}
