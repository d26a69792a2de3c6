// Words in place of tokens: rows are averaged, columns summed, so that rows still sum to one. And parts of a map of two
// texts, which keep their values.
import type { Block, Reading } from './types';

export interface Joined {
  rows: number;
  columns: number;
  values: Float32Array;
  derived: boolean;
  rowOf: number[];
  columnOf: number[]; // the row and column of each token; -1: in another part of the map
  rowBorder: number;
  columnBorder: number; // the start of the second text; 0: there is one, or one is shown
  rowTokens: number[][];
  columnTokens: number[][];
  rowNames: string[];
  columnNames: string[];
}

interface Side {
  tokens: number[][];
  names: string[];
  of: number[];
}
const sides = new WeakMap<Reading, { words: Side; tokens: Side }>();

function side(reading: Reading, byWords: boolean): Side {
  let known = sides.get(reading);
  if (!known) {
    const tokens: Side = {
      tokens: reading.tokens.map((_, i) => [i]),
      names: reading.tokens.map((t) => t.text),
      of: reading.tokens.map((_, i) => i),
    };
    const words: Side = { tokens: [], names: [], of: [] };
    for (const word of reading.words) {
      const list = [];
      for (let i = word.begin; i < word.end; ++i) {
        list.push(i);
        words.of[i] = words.tokens.length;
      }
      words.tokens.push(list);
      words.names.push(word.text);
    }
    sides.set(reading, (known = { words, tokens }));
  }
  return byWords ? known.words : known.tokens;
}

export function joined(map: Float32Array, queryReading: Reading, keyReading: Reading, byWords: boolean): Joined {
  const r = side(queryReading, byWords),
    c = side(keyReading, byWords);
  const rows = r.tokens.length,
    columns = c.tokens.length,
    width = keyReading.tokens.length;
  const base = {
    rows,
    columns,
    rowOf: r.of,
    columnOf: c.of,
    rowTokens: r.tokens,
    columnTokens: c.tokens,
    rowNames: r.names,
    columnNames: c.names,
    rowBorder: queryReading.second > 0 ? r.of[queryReading.second] : 0,
    columnBorder: keyReading.second > 0 ? c.of[keyReading.second] : 0,
  };
  if (!byWords || (rows === queryReading.tokens.length && columns === width))
    return { ...base, values: map, derived: false };
  const values = new Float32Array(rows * columns);
  r.tokens.forEach((from, i) =>
    c.tokens.forEach((to, j) => {
      let sum = 0,
        seen = false;
      for (const a of from)
        for (const b of to) {
          const w = map[a * width + b];
          if (!Number.isNaN(w)) {
            sum += w;
            seen = true;
          }
        }
      values[i * columns + j] = seen ? sum / from.length : NaN;
    }),
  );
  return { ...base, values, derived: true };
}

// Columns whose tokens are all muted.
export const columnsOf = (d: Joined, muted: ReadonlySet<number>): boolean[] =>
  d.columnTokens.map((list) => muted.size > 0 && list.every((i) => muted.has(i)));

// The weights of each row that are not muted, divided by their sum. Muted columns keep their values, as do rows of zeros.
export function renormalised(d: Joined, muted: ReadonlySet<number>): Joined {
  const grey = columnsOf(d, muted),
    values = d.values.slice();
  for (let i = 0; i < d.rows; ++i) {
    let sum = 0;
    for (let j = 0; j < d.columns; ++j) if (!grey[j]) sum += values[i * d.columns + j] || 0;
    if (sum > 0) for (let j = 0; j < d.columns; ++j) if (!grey[j]) values[i * d.columns + j] /= sum;
  }
  return { ...d, values, derived: true };
}

// From one of two texts to one of them.
export function cropped(d: Joined, block: Block | null): Joined {
  if (!block || d.rowBorder === 0 || d.columnBorder === 0) return d;
  const [top, bottom] = block[0] === 'A' ? [0, d.rowBorder] : [d.rowBorder, d.rows],
    [left, right] = block[1] === 'A' ? [0, d.columnBorder] : [d.columnBorder, d.columns];
  const rows = bottom - top,
    columns = right - left,
    values = new Float32Array(rows * columns);
  for (let i = 0; i < rows; ++i)
    values.set(d.values.subarray((top + i) * d.columns + left, (top + i) * d.columns + right), i * columns);
  const within = (list: number[], first: number, end: number) =>
    list.map((at) => (at >= first && at < end ? at - first : -1));
  return {
    ...d,
    rows,
    columns,
    values,
    rowOf: within(d.rowOf, top, bottom),
    columnOf: within(d.columnOf, left, right),
    rowBorder: 0,
    columnBorder: 0,
    rowTokens: d.rowTokens.slice(top, bottom),
    columnTokens: d.columnTokens.slice(left, right),
    rowNames: d.rowNames.slice(top, bottom),
    columnNames: d.columnNames.slice(left, right),
  };
}
