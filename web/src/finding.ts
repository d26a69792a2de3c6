// What to look at first, and how to say it.
import { rowIn } from './numbers';
import { keyReading, part, partInfo, queryReading, type Place } from './state';
import { shown } from './format';
import type { Reading } from './types';

const isMark = (text: string) => !/[\p{L}\p{N}]/u.test(text);
const clean = (text: string) => shown(text).toLowerCase();

// The tokens of the word that a token belongs to.
export function wordAround(reading: Reading, token: number): number[] {
  const word = reading.words.find((w) => w.begin <= token && token < w.end);
  const list: number[] = [];
  for (let i = word?.begin ?? token; i < (word?.end ?? token + 1); ++i) list.push(i);
  return list;
}
function findWord(reading: Reading, text: string): number[] | null {
  const word = reading.words.find((w) => clean(w.text) === text);
  return word ? wordAround(reading, word.begin) : null;
}
// The word that was pinned, in another text.
export function sameWord(before: Reading, list: number[], now: Reading): number[] | null {
  if (list.length === 0) return null;
  const word = before.words.find((w) => w.begin === list[0]) ?? null;
  const text = clean(word?.text ?? before.tokens[list[0]]?.text ?? '');
  return findWord(now, text);
}

// How many keys the query sees.
export function seen(map: Float32Array, query: number, columns: number): number {
  let count = 0;
  for (let j = 0; j < columns; ++j) if (!Number.isNaN(map[query * columns + j])) ++count;
  return count;
}

export interface Look {
  queries: number[];
  keys: number[];
  place: Place;
}

// The query (“it” where there is one), and the head and word where it looks hardest: at another word that is neither
// the first token nor a mark. `only`: in this head.
export function firstLook(given: number[], only: Place | null = null): Look | null {
  const p = partInfo.value;
  if (!p || p.rows === 0) return null;
  const rows = queryReading.value,
    columns = keyReading.value,
    square = part.value !== 'cross';
  const list = given.length > 0 ? given : (findWord(rows, 'it') ?? lastWord(rows));
  const candidates = columns.words
    .filter((w) => !columns.tokens[w.begin].added && !isMark(w.text))
    .map((w) => wordAround(columns, w.begin))
    .filter((w) => !square || !list.some((i) => w.includes(i)));
  const animal =
    given.length === 0 && square && clean(rows.tokens[list[0]]?.text ?? '') === 'it'
      ? findWord(columns, 'animal')
      : null;
  const strongest = strongestLink(list, candidates, only);
  // “it” and its animal, where the model sees more in them than chance would.
  const classic = animal ? strongestLink(list, [animal], only) : null;
  const chosen = classic && classic.weight > animal!.length / p.columns ? classic : strongest;
  return { queries: list, keys: chosen?.keys ?? [], place: chosen?.place ?? only ?? { layer: 0, head: 0 } };
}

// The head (or the only one that counts) and the keys that get most of the queries; nothing where weights are not here.
function strongestLink(
  list: number[],
  candidates: number[][],
  only: Place | null,
): { keys: number[]; place: Place; weight: number } | null {
  const p = partInfo.value!;
  let best: { keys: number[]; place: Place; weight: number } | null = null;
  for (let layer = 0; layer < p.layers; ++layer) {
    for (let head = 0; head < p.heads; ++head) {
      if (only && (only.layer !== layer || only.head !== head)) continue;
      const row = rowIn({ layer, head }, list);
      if (!row) return null;
      for (const keys of candidates) {
        const w = keys.reduce((sum, j) => sum + (row[j] || 0), 0);
        if (w > (best?.weight ?? -1)) best = { keys, place: { layer, head }, weight: w };
      }
    }
  }
  return best;
}
function lastWord(reading: Reading): number[] {
  const found = reading.words.filter((w) => !reading.tokens[w.begin].added && !isMark(w.text));
  const word = found[Math.max(0, found.length - 1)];
  return word ? wordAround(reading, word.begin) : [Math.max(0, reading.tokens.length - 1)];
}

// Mean over the queries of what they give to all of the keys together.
export function linkWeight(map: Float32Array, queries: number[], keys: number[], columns: number): number {
  let sum = 0;
  for (const i of queries) for (const j of keys) sum += map[i * columns + j] || 0;
  return queries.length > 0 ? sum / queries.length : 0;
}

export function nameOf(reading: Reading, list: number[]): string {
  if (list.length === 0) return '';
  const word = reading.words.find((w) => w.begin === list[0] && w.end === list[0] + list.length);
  if (word) return shown(word.text);
  return (
    list
      .slice(0, 4)
      .map((i) => shown(reading.tokens[i]?.text ?? ''))
      .join(' ') + (list.length > 4 ? ' …' : '')
  );
}
