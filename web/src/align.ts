// Two texts side by side: which token or word is paired with which, and how two maps differ there. Nothing here knows
// the page.
import type { Joined } from './words';

export type Pair = [a: number, b: number]; // -1: it has none there

// The longest common subsequence of two lists of names; unmatched names have no partner.
export function align(a: string[], b: string[]): Pair[] {
  const width = b.length + 1,
    longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; --i)
    for (let j = b.length - 1; j >= 0; --j)
      longest[i * width + j] =
        a[i] === b[j]
          ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
  const out: Pair[] = [];
  let i = 0,
    j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) out.push([i++, j++]);
    else if (j >= b.length || (i < a.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1]))
      out.push([i++, -1]);
    else out.push([-1, j++]);
  }
  return out;
}

// A map over both texts: NaN where this text has no word, or the query cannot see the key.
export function placed(d: Joined, rows: Pair[], columns: Pair[], side: 0 | 1): Float32Array {
  const out = new Float32Array(rows.length * columns.length).fill(NaN);
  rows.forEach((row, i) =>
    columns.forEach((column, j) => {
      if (row[side] >= 0 && column[side] >= 0)
        out[i * columns.length + j] = d.values[row[side] * d.columns + column[side]];
    }),
  );
  return out;
}
export const difference = (a: Float32Array, b: Float32Array): Float32Array => b.map((x, i) => x - a[i]);

// Half the sum of |b - a| per row that both have: 0 is the same, 1 is nothing in common.
export function distance(a: Float32Array, b: Float32Array, rows: Pair[], columns: number): number {
  let sum = 0,
    counted = 0;
  rows.forEach((row, i) => {
    if (row[0] < 0 || row[1] < 0) return;
    ++counted;
    for (let j = 0; j < columns; ++j) sum += Math.abs((b[i * columns + j] || 0) - (a[i * columns + j] || 0)) / 2;
  });
  return counted > 0 ? sum / counted : NaN;
}
