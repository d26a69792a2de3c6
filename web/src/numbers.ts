// The numbers of the displayed part: all weights if they fit, else heads and rows on demand.
import { computed, signal } from '@preact/signals';
import { ByteCache } from './byte_cache';
import { isLong, longRow, mostWhole, numbersOf } from './long';
import { readAtlas, readHead, readMatrices, Trouble } from './source';
import {
  type Place,
  derived,
  hoverPlace,
  offline,
  beside,
  part,
  place,
  theSource,
  partInfo,
  shownPlace,
  activeQueries,
  restingQueries,
  report,
  streaming,
} from './state';
import type { Atlas, Head, Matrices, PartInfo, PartName, RunInfo } from './types';

export const weights = signal<Float32Array | null>(null); // of all heads of the part, if they fit
export const atlas = signal<Atlas | null>(null);
// One query in all heads, [layers, heads, columns]: for texts too long for all weights.
const rowWeights = signal<RowWeights | null>(null);
const heads = signal(new ByteCache<Head>(48e6)); // bytes
const wanted = new Set<string>();
// The run of the numbers: the displayed one, or the same with changed heads.
export const numbersInfo = signal<RunInfo | null>(null);
const headKey = (at: Place) => `${numbersInfo.value?.id}/${part.value}/${at.layer}/${at.head}`;
const mostWeights = 1.5e6;

// The numbers of the head, requested if missing.
export function headOf(at: Place, query?: number): Head | null {
  const row = isLong.value ? query : undefined,
    key = headKey(at) + (row === undefined ? '' : `?${row}`),
    known = heads.value.get(key);
  if (known) return known;
  const info = numbersInfo.value;
  if (!info || streaming.value || wanted.has(key) || (isLong.value && row === undefined)) return null;
  wanted.add(key);
  readHead(theSource(), info, part.value, at.layer, at.head, row)
    .then((head) => {
      heads.value = heads.value.with(key, head, head.weights.buffer.byteLength);
    }, report)
    .finally(() => wanted.delete(key));
  return null;
}

// The parameters around a head, requested if missing; 'none' if a saved page does not have them.
const matrices = signal(new ByteCache<Matrices | 'none'>(24e6));
export function matricesOf(at: Place, query?: number): Matrices | 'none' | null {
  const key = headKey(at) + '.matrices',
    known = matrices.value.get(key);
  if (known) return known;
  const info = numbersInfo.value,
    head = headOf(at, query);
  if (!info || !head || wanted.has(key)) return null;
  wanted.add(key);
  const keep = (found: Matrices | 'none') => {
    matrices.value = matrices.value.with(key, found, found === 'none' ? 0 : found.out.weights.buffer.byteLength);
  };
  readMatrices(theSource(), info, part.value, head)
    .then(keep, (error) => (theSource().offline ? keep('none') : report(error)))
    .finally(() => wanted.delete(key));
  return null;
}

// [rows, columns] of a head: from all weights, from its own numbers, or nothing yet.
export function mapOf(at: Place): Float32Array | null {
  const info = partInfo.value;
  if (!info) return null;
  const all = weights.value;
  if (all) {
    const size = info.rows * info.columns,
      first = (at.layer * info.heads + at.head) * size;
    return all.subarray(first, first + size);
  }
  return atlas.value && !isLong.value ? (headOf(at)?.weights ?? null) : null; // only once it is known that all weights are too many
}
// A map that the program computes from several heads, requested if missing.
const derivedMaps = signal(new ByteCache<Float32Array>(24e6));
export const together = computed<Place[]>(() => [place.value, ...beside.value]);
const derivedMap = computed<Float32Array | null>(() => {
  const info = numbersInfo.value;
  if (!info || isLong.value) return null;
  const heads = derived.value === 'mean' ? together.value.map((h) => `${h.layer}.${h.head}`).join(',') : '',
    path = `${part.value}/derived.f32?heads=${heads}`,
    key = `${info.id}/${path}`,
    known = derivedMaps.value.get(key);
  if (known || streaming.value || wanted.has(key)) return known ?? null;
  wanted.add(key);
  theSource()
    .bytes(info, path)
    .then(
      (data) => {
        derivedMaps.value = derivedMaps.value.with(key, new Float32Array(data), data.byteLength);
      },
      (error) => {
        derived.value = 'none';
        report(error);
      },
    )
    .finally(() => wanted.delete(key));
  return null;
});
// A head under the pointer is shown alone.
export const isDerived = computed(() => derived.value !== 'none' && !hoverPlace.value && !isLong.value);
export const shownMap = computed(() => (isDerived.value ? derivedMap.value : mapOf(shownPlace.value)));

// Rows of the displayed head, as a map and the position of each query's row in it; for a long text those that are loaded.
export interface Rows {
  map: Float32Array;
  at: number[];
}
export function rowsOf(list: number[], fetches = true): Rows | null {
  const map = shownMap.value,
    columns = partInfo.value?.columns ?? 0;
  if (map) return { map, at: list };
  if (!isLong.value || list.length > mostRows) return null;
  const found = list.map((i) => longRow(i, fetches));
  if (found.length === 0 || found.includes(null)) return null;
  const out = new Float32Array(list.length * columns);
  found.forEach((row, n) => out.set(row!, n * columns));
  return { map: out, at: list.map((_, n) => n) };
}
const mostRows = 64;

// Mean over the queries of their weights, one number per key.
export function rowOf(map: Float32Array, list: number[], columns: number): Float32Array {
  const out = new Float32Array(columns);
  for (let j = 0; j < columns; ++j) {
    let sum = 0,
      seen = 0;
    for (const i of list) {
      const w = map[i * columns + j];
      if (!Number.isNaN(w)) {
        sum += w;
        ++seen;
      }
    }
    out[j] = seen > 0 ? sum / list.length : NaN;
  }
  return out;
}
// The weights of the queries on each key in a head, without a request.
export function rowIn(at: Place, list: number[]): Float32Array | null {
  const info = partInfo.value,
    rows = rowWeights.value;
  if (!info) return null;
  if (weights.value) return rowOf(mapOf(at)!, list, info.columns);
  if (!rows || rows.query !== list[0]) return null;
  const first = (at.layer * info.heads + at.head) * info.columns;
  return rows.values.subarray(first, first + info.columns);
}
interface RowWeights {
  query: number;
  values: Float32Array;
}
export async function readRow(info: RunInfo, name: PartName, query: number): Promise<RowWeights> {
  return { query, values: new Float32Array(await theSource().bytes(info, `${name}/row/${query}.f32`)) };
}
export async function loadRow(query: number): Promise<void> {
  const info = numbersInfo.value,
    name = part.value;
  if (!info || weights.value || offline.value || rowWeights.value?.query === query) return;
  const row = await readRow(info, name, query);
  if (numbersInfo.value?.id === info.id && part.value === name) rowWeights.value = row;
}
function meanRow(given: number[]): Float32Array | null {
  const info = partInfo.value,
    list = given.filter((i) => info && i < info.rows),
    found = list.length > 0 ? rowsOf(list, false) : null;
  return info && found ? rowOf(found.map, found.at, info.columns) : null;
}
export const activeRow = computed(() => meanRow(activeQueries.value));
export const restingRow = computed(() => meanRow(restingQueries.value));

// The data for drawing a part: all weights if they fit, else small maps.
export interface Numbers {
  weights: Float32Array | null;
  atlas: Atlas;
}
export async function readNumbers(info: RunInfo, name: PartName): Promise<Numbers> {
  const p = info.parts.find((item) => item.part === name)!;
  if (p.layers * p.heads * p.rows * p.columns <= mostWeights)
    try {
      const all = new Float32Array(await theSource().bytes(info, `${name}/weights.f32`));
      return { weights: all, atlas: { rows: p.rows, columns: p.columns, exact: true, values: all } };
    } catch (error) {
      if (!(theSource().offline && error instanceof Trouble)) throw error; // a saved page may contain small maps only
    }
  if (Math.max(p.rows, p.columns) > mostWhole && !theSource().offline) {
    const cells = new Float32Array(p.layers * p.heads).fill(NaN);
    return { weights: null, atlas: { rows: 1, columns: 1, exact: false, values: cells, later: true } };
  }
  return { weights: null, atlas: await readAtlas(theSource(), info, p) };
}
// For a long text the small maps are loaded layer by layer, after the visible map.
async function readLater(info: RunInfo, p: PartInfo): Promise<void> {
  let all: Atlas | null = null;
  for (let layer = 0; layer < p.layers; ++layer) {
    const one = await readAtlas(theSource(), info, p, layer);
    if (numbersInfo.value !== info || part.value !== p.part) return;
    const values: Float32Array = all?.values ?? new Float32Array(p.layers * one.values.length).fill(NaN);
    values.set(one.values, layer * one.values.length);
    atlas.value = all = { ...one, values };
  }
}
export function useNumbers(numbers: Numbers, info: RunInfo, row: RowWeights | null = null): void {
  numbersInfo.value = numbersOf.value = info;
  const p = info.parts.find((item) => item.part === part.value);
  if (numbers.atlas.later && p) setTimeout(() => readLater(info, p).catch(report), 300);
  weights.value = numbers.weights;
  atlas.value = numbers.atlas;
  rowWeights.value = row;
}
