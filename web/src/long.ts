// Texts too long for whole maps: visible parts of one head, as tiles pooled by the program; rows on demand.
import { computed, effect, signal } from '@preact/signals';
import { ByteCache } from './byte_cache';
import {
  keyReading,
  mode,
  part,
  partInfo,
  queries,
  queryReading,
  report,
  restingQueries,
  run,
  shownPlace,
  theSource,
  type Place,
} from './state';
import { copyTile, fitLevel, inCell, mostDepth, tilesOf, tokensOf, windowAt, type Tile, type Window } from './tiles';
import type { RunInfo } from './types';
import type { Joined } from './words';

export const mostWhole = 1100; // tokens: shorter texts are read whole
export const isLong = computed(() => Math.max(partInfo.value?.rows ?? 0, partInfo.value?.columns ?? 0) > mostWhole);

// The visible part: its level, and its position in cells of the level.
const at = signal({ depth: 0, row: 0, column: 0 });
export const sight = computed<Window>(() => {
  const p = partInfo.value;
  return windowAt(at.value.depth, at.value.row, at.value.column, p?.rows ?? 1, p?.columns ?? 1);
});
export const pooled = computed(() => (isLong.value ? inCell(sight.value.level) : 1));
export const isWhole = computed(() => at.value.depth === 0);
export function showAll(): void {
  at.value = { depth: 0, row: 0, column: 0 };
}
export function moveSight(row: number, column: number): void {
  at.value = { ...at.value, row, column };
}
// One step closer or farther; the cell at (x, y), in fractions of the view, keeps its position.
export function stepSight(delta: number, x = 0.5, y = 0.5): void {
  const p = partInfo.value!,
    w = sight.value,
    depth = Math.max(0, Math.min(mostDepth(p.rows, p.columns), at.value.depth + delta));
  if (depth === at.value.depth) return;
  const next = windowAt(depth, 0, 0, p.rows, p.columns),
    place = (first: number, count: number, share: number, size: number) =>
      ((first + share * count) * inCell(w.level)) / inCell(next.level) - share * size;
  at.value = { depth, row: place(w.row, w.rows, y, next.rows), column: place(w.column, w.columns, x, next.columns) };
}
// Brings a token into view, close enough to read words.
export function goTo(query: number, key = query): void {
  const p = partInfo.value!,
    depth = Math.max(at.value.depth, fitLevel(p.rows, p.columns) + 2),
    next = windowAt(depth, 0, 0, p.rows, p.columns);
  at.value = { depth, row: query - next.rows / 2, column: key - next.columns / 2 };
}
export const isInSight = (query: number) => {
  const w = sight.value,
    row = query / inCell(w.level);
  return row >= w.row && row < w.row + w.rows;
};

const tiles = signal(new ByteCache<Float32Array>(48e6)),
  rows = signal(new ByteCache<Float32Array>(8e6)),
  wanted = new Set<string>();
export const numbersOf = signal<RunInfo | null>(null); // the run whose numbers are displayed

function ask(cache: typeof tiles, path: string, info: RunInfo): Float32Array | null {
  const key = `${info.id}/${path}`,
    known = cache.value.get(key);
  if (known) return known;
  if (wanted.has(key)) return null;
  wanted.add(key);
  theSource()
    .bytes(info, path)
    .then((data) => {
      cache.value = cache.value.with(key, new Float32Array(data), data.byteLength);
    }, report)
    .finally(() => wanted.delete(key));
  return null;
}
const pathOf = (p: Place, from: [number, number], to: [number, number], size: number, of: string) =>
  `${part.value}/${p.layer}/${p.head}.map?rows=${from.join(':')}&columns=${to.join(':')}&in=${size}&of=${of}`;
function tileOf(place: Place, t: Tile): Float32Array | null {
  const p = partInfo.value!,
    info = numbersOf.value;
  if (!info) return null;
  const from = tokensOf(t.i, t.level, p.rows),
    to = tokensOf(t.j, t.level, p.columns);
  return ask(tiles, pathOf(place, from, to, inCell(t.level), mode.value), info);
}
// One query's weights in the displayed head, requested if missing.
export function longRow(query: number, fetches = true): Float32Array | null {
  const p = partInfo.value!,
    info = numbersOf.value;
  if (!info || query >= p.rows) return null;
  const path = pathOf(shownPlace.value, [query, query + 1], [0, p.columns], 1, 'weights');
  return fetches ? ask(rows, path, info) : (rows.value.get(`${info.id}/${path}`) ?? null);
}
export function followLong(): void {
  effect(() => {
    if (isLong.value && run.value) for (const i of [...queries.value, ...restingQueries.value].slice(0, 64)) longRow(i);
  });
  // A query pinned elsewhere is brought into view, unless the whole map is visible.
  effect(() => {
    const first = queries.value[0];
    if (isLong.value && first !== undefined && at.peek().depth > 0 && !isInSight(first)) goTo(first);
  });
}

// The visible part, as a separate map. A cell is the largest of the weights pooled into it.
export const longMap = computed<Joined | null>(() => {
  const p = partInfo.value,
    w = sight.value;
  if (!isLong.value || !p || !run.value) return null;
  const values = new Float32Array(w.rows * w.columns).fill(NaN);
  let here = 0;
  const list = tilesOf(w);
  for (const tile of list) {
    const found = tileOf(shownPlace.value, tile);
    if (!found) continue;
    ++here;
    copyTile(values, w, tile, found, p.rows, p.columns);
  }
  if (here === 0) return null;
  const size = inCell(w.level),
    row = side(queryReading.value.tokens, w.row, w.rows, size),
    column = side(keyReading.value.tokens, w.column, w.columns, size);
  return {
    rows: w.rows,
    columns: w.columns,
    values,
    derived: size > 1,
    rowOf: row.of,
    columnOf: column.of,
    rowTokens: row.tokens,
    columnTokens: column.tokens,
    rowNames: row.names,
    columnNames: column.names,
    rowBorder: 0,
    columnBorder: 0,
  };
});
function side(all: { text: string }[], first: number, count: number, size: number) {
  const of = new Array<number>(all.length).fill(-1),
    tokens: number[][] = [],
    names: string[] = [];
  for (let i = 0; i < count; ++i) {
    const list: number[] = [];
    for (let t = (first + i) * size; t < Math.min(all.length, (first + i + 1) * size); ++t) {
      list.push(t);
      of[t] = i;
    }
    tokens.push(list);
    names.push(all[list[0]].text);
  }
  return { of, tokens, names };
}
