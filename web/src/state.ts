// One selection that all views share: (part, layer, head, queries, keys), and what is hovered on top of it.
import { batch, computed, effect, signal } from '@preact/signals';
import { Trouble, type Source } from './source';
import type {
  Block,
  Depth,
  Derived,
  ModelInfo,
  Mode,
  Mute,
  Order,
  Palette,
  Plan,
  PartInfo,
  PartName,
  Reading,
  RunInfo,
  Scale,
  Theme,
} from './types';

export interface Place {
  layer: number;
  head: number;
}
export interface Cell {
  query: number;
  key: number;
}

export const version = signal('');
export const models = signal<ModelInfo[]>([]);
export const sentence = signal('');
export const corpus = signal(0); // texts to search
export const offline = signal(false);
export const run = signal<RunInfo | null>(null);
export const model = signal(''); // of the displayed run
export const wantedModel = signal<string | null>(null); // requested, but not loaded yet
export const text = signal(''); // the text in the field; written only when the user types, opens a link or goes back
export const second = signal(''); // for encoders that read two texts
export const busy = signal(false);
export const trouble = signal<{ message: string; again: boolean; code?: string } | null>(null);

export const part = signal<PartName>('decoder');
export const place = signal<Place>({ layer: 0, head: 0 });
export const queries = signal<number[]>([]);
export const keys = signal<number[]>([]);
export const scale = signal<Scale>('sqrt');
export const themeChoice = signal<Theme | null>(null);
export const palette = signal<Palette>('cividis');
export const autoRange = signal(false); // colours of the map end at its largest number, not at 1
export const muted = signal<Mute>('none'); // keys that are greyed
export const renormalise = signal(false); // weights that are not muted sum to 1 again
export const order = signal<Order>('layer'); // of the atlas
export const words = signal(false); // tokens joined into words
export const linkMap = signal(false); // atlas: the pinned link in all heads
export const effectMap = signal(false); // atlas: the effect of removing each head
export const labelled = signal(false); // atlas: what each head does
export const lines = signal(false); // the pattern as lines
export const mode = signal<Mode>('weights'); // what the map shows
export const block = signal<Block | null>(null); // one part of the map of two texts
export const depth = signal<Depth>('engineer'); // how many numbers are shown; the numbers are the same
export const solo = signal(false); // the atlas shows the pinned head alone
// Heads in addition to the chosen one: drawn as lines, or combined.
export const overlay = signal<Place[]>([]);
export const beside = computed<Place[]>(() =>
  overlay.value.filter((h) => h.layer !== place.value.layer || h.head !== place.value.head),
);
export const derived = signal<Derived>('none');
export const present = signal(false); // one panel in large type
export const views = signal<string[]>([]); // addresses to step through
export const compared = signal<string | null>(null); // the run shown for comparison: see compare.tsx
export const guessing = signal(false); // weights are hidden until revealed

// Pinned keys as displayed: none while the reader guesses, because they would be the answer.
export const shownKeys = computed<number[]>(() => (guessing.value ? [] : keys.value));

export const plan = signal<Plan | null>(null); // heads or links that are changed

export const hoverCell = signal<Cell | null>(null);
export const hoverPlace = signal<Place | null>(null);
export const hoverQuery = signal<number | null>(null);

export const playing = signal(false); // generating token by token
export const streaming = signal(false); // numbers arrive with the tokens: nothing else is requested

export const sampling = signal({ temperature: 0, top_k: 0, seed: 0 });

const darkSystem = matchMedia('(prefers-color-scheme: dark)');
const systemTheme = signal<Theme>(darkSystem.matches ? 'dark' : 'light');
darkSystem.addEventListener('change', () => {
  systemTheme.value = darkSystem.matches ? 'dark' : 'light';
});
const printing = signal(false);
addEventListener('beforeprint', () => {
  printing.value = true;
});
addEventListener('afterprint', () => {
  printing.value = false;
});
matchMedia('print').addEventListener('change', (event) => {
  printing.value = event.matches;
});
export const theme = computed<Theme>(() => (printing.value ? 'light' : (themeChoice.value ?? systemTheme.value)));

let source: Source;
export const theSource = () => source;
export function useSource(found: Source): void {
  source = found;
}
export const partInfo = computed<PartInfo | null>(() => run.value?.parts.find((p) => p.part === part.value) ?? null);
export const shownPlace = computed<Place>(() => hoverPlace.value ?? place.value);

export function readings(info: RunInfo, name: PartName): [Reading, Reading] {
  if (info.written === null || name === 'encoder') return [info.source, info.source];
  return name === 'cross' ? [info.written, info.source] : [info.decoder_input!, info.decoder_input!];
}
// The picture belongs to another text or model than the requested one.
export const stale = computed(() => {
  const info = run.value;
  if (!info || offline.value) return false;
  const pair = info.model.kind === 'encoder' && second.value.trim() ? second.value : '';
  return wantedModel.value !== null || text.value !== info.text || pair !== info.second;
});
const none: Reading = { text: '', second: 0, tokens: [], words: [] };
export const queryReading = computed<Reading>(() => (run.value ? readings(run.value, part.value)[0] : none));
export const keyReading = computed<Reading>(() => (run.value ? readings(run.value, part.value)[1] : none));

export const hasSpecial = computed(() => keyReading.value.tokens.some((t) => t.added));
export const mutedKeys = computed<ReadonlySet<number>>(() => {
  if (muted.value === 'none') return new Set();
  if (muted.value === 'first') return new Set([0]);
  return new Set(keyReading.value.tokens.flatMap((t, i) => (t.added ? [i] : [])));
});
export const mutedNames = { none: '', first: 'the first token', special: 'special tokens' };

// The current query: hovered, else pinned.
export const activeQueries = computed<number[]>(() =>
  hoverCell.value ? [hoverCell.value.query] : hoverQuery.value !== null ? [hoverQuery.value] : queries.value,
);

// The hovered cell; for a long text only when the mouse rests. For slow drawings: the chips, the steps.
export const restingCell = signal<Cell | null>(null);
const longText = 300,
  rest = 70; // tokens, milliseconds
let resting = 0;
effect(() => {
  const at = hoverCell.value,
    p = partInfo.peek();
  clearTimeout(resting);
  if (!at || !p || Math.max(p.rows, p.columns) <= longText) restingCell.value = at;
  else
    resting = window.setTimeout(() => {
      restingCell.value = at;
    }, rest);
});
export const restingQueries = computed<number[]>(() =>
  restingCell.value ? [restingCell.value.query] : hoverQuery.value !== null ? [hoverQuery.value] : queries.value,
);

export function report(error: unknown): void {
  if (error instanceof DOMException && error.name === 'AbortError') return;
  const message = error instanceof Error ? error.message : String(error);
  const known = error instanceof Trouble;
  trouble.value = { message, again: !known || error.again, code: known ? error.code : undefined };
}

export function clearHover(): void {
  hoverCell.value = hoverPlace.value = hoverQuery.value = null;
}
export function pin(list: number[], keyList: number[]): void {
  batch(() => {
    queries.value = list;
    keys.value = keyList;
  });
}
// Esc undoes one level.
export function clearOne(): void {
  if (hoverCell.value || hoverPlace.value) {
    hoverCell.value = null;
    hoverPlace.value = null;
  } else if (hoverQuery.value !== null) hoverQuery.value = null;
  else if (solo.value) solo.value = false;
  else if (keys.value.length > 0) keys.value = [];
  else if (queries.value.length > 0) queries.value = [];
}
