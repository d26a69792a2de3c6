// Words in place of tokens: rows are averaged, columns summed, so that rows still sum to one.
import type { Reading } from './types';

export interface Joined {
  rows: number;
  columns: number;
  values: Float32Array;
  derived: boolean;
  rowOf: number[];
  columnOf: number[]; // of each token, its row and column
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
