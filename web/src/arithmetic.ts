// The arithmetic of one link in float64, from the model's own q, k and v: what the steps panel shows.
import type { Head, Matrices, Matrix } from './types';

export interface Term {
  at: number;
  a: number;
  b: number;
  product: number;
}
export interface RowEntry {
  key: number;
  dot: number;
  score: number;
  shifted: number;
  exp: number;
  weight: number;
  kernel: number;
}
export interface Steps {
  q: number[];
  k: number[];
  products: Term[];
  dot: number;
  scaled: number;
  capped: number;
  slope: number;
  bias: number;
  score: number;
  visible: boolean;
  seen: number;
  row: RowEntry[];
  max: number;
  sum: number;
  sinkExp: number;
  weight: number;
  kernel: number;
  z: number[];
  zKernel: number[];
  difference: number;
  zDifference: number;
  contributions: { key: number; weight: number; size: number }[];
}

export function scoreOf(
  h: Head,
  query: number,
  key: number,
): { dot: number; scaled: number; capped: number; slope: number; bias: number; score: number } {
  const { dim, columns, scale, softcap, slope, offset } = h.info;
  let dot = 0;
  for (let d = 0; d < dim; ++d) dot += h.q[query * dim + d] * h.k[key * dim + d];
  const scaled = dot * scale;
  const capped = softcap > 0 ? softcap * Math.tanh(scaled / softcap) : scaled;
  const slopes = slope === null ? 0 : -slope * Math.abs(query + offset - key);
  const bias = h.bias ? h.bias[(query - h.first) * columns + key] : 0;
  return { dot, scaled, capped, slope: slopes, bias, score: capped + slopes + bias };
}

export function stepsOf(h: Head, query: number, key: number): Steps {
  const { dim, columns, value_dim, sink } = h.info;
  const q = Array.from(h.q.subarray(query * dim, (query + 1) * dim)),
    k = Array.from(h.k.subarray(key * dim, (key + 1) * dim));
  const products = q.map((x, at) => ({ at, a: x, b: k[at], product: x * k[at] }));
  const own = scoreOf(h, query, key);
  const row: RowEntry[] = [];
  let max = sink ?? -Infinity;
  for (let j = 0; j < columns; ++j) {
    const kernel = h.weights[(query - h.first) * columns + j];
    if (Number.isNaN(kernel)) continue;
    const { dot, score } = scoreOf(h, query, j);
    max = Math.max(max, score);
    row.push({ key: j, dot, score, shifted: 0, exp: 0, weight: 0, kernel });
  }
  const sinkExp = sink === null ? 0 : Math.exp(sink - max);
  let sum = sinkExp;
  for (const e of row) {
    e.shifted = e.score - max;
    e.exp = Math.exp(e.shifted);
    sum += e.exp;
  }
  let difference = 0;
  for (const e of row) {
    e.weight = e.exp / sum;
    difference = Math.max(difference, Math.abs(e.weight - e.kernel));
  }
  const z = new Array<number>(value_dim).fill(0);
  const contributions = row
    .map((e) => {
      let size = 0;
      for (let d = 0; d < value_dim; ++d) {
        const x = e.weight * h.v[e.key * value_dim + d];
        z[d] += x;
        size += x * x;
      }
      return { key: e.key, weight: e.weight, size: Math.sqrt(size) };
    })
    .sort((a, b) => b.size - a.size);
  const zKernel = Array.from(h.z.subarray(query * value_dim, (query + 1) * value_dim));
  const zDifference = z.reduce((most, x, d) => Math.max(most, Math.abs(x - zKernel[d])), 0);
  const mine = row.find((e) => e.key === key);
  return {
    q,
    k,
    products,
    ...own,
    visible: mine !== undefined,
    seen: row.length,
    row,
    max,
    sum,
    sinkExp,
    weight: mine?.weight ?? NaN,
    kernel: mine?.kernel ?? NaN,
    z,
    zKernel,
    difference,
    zDifference,
    contributions,
  };
}

// q or k before its position turned it: the rotation backwards.
export function unturned(x: number[], position: number, rope: NonNullable<Head['info']['rope']>): number[] {
  const out = x.slice(),
    half = rope.dims / 2;
  for (let j = 0; j < half; ++j) {
    const a = rope.first + (rope.interleaved ? 2 * j : j),
      b = rope.first + (rope.interleaved ? 2 * j + 1 : j + half);
    const angle = position * rope.angles[j],
      c = Math.cos(angle) / rope.factor,
      s = Math.sin(angle) / rope.factor;
    out[a] = x[a] * c + x[b] * s;
    out[b] = x[b] * c - x[a] * s;
  }
  return out;
}

// A row of a matrix against a vector: terms, and the bias they are added to.
export function termsOf(m: Matrix, row: number, x: ArrayLike<number>): Term[] {
  return Array.from({ length: m.columns }, (_, at) => {
    const a = m.weights[row * m.columns + at];
    return { at, a, b: x[at], product: a * x[at] };
  });
}
export function applied(m: Matrix, x: ArrayLike<number>): number[] {
  const out = new Array<number>(m.bias.length).fill(0);
  for (let row = 0, at = 0; row < out.length; ++row)
    for (let c = 0; c < m.columns; ++c, ++at) out[row] += m.weights[at] * x[c];
  return out;
}
export const largest = (list: ArrayLike<number>) =>
  Array.from(list).reduce((best, x, i, all) => (Math.abs(x) > Math.abs(all[best]) ? i : best), 0);
const size = (x: ArrayLike<number>) => Math.sqrt(Array.from(x).reduce((sum, v) => sum + v * v, 0));

// What one head adds to its layer's output for one query.
export interface HeadOutput {
  share: number[]; // W_O · z, without the bias
  size: number;
  all: number; // size of what the layer returns
  along: number; // how much of that is this head's: all heads and the bias sum to one
  difference: number; // to what the model's own matrix returned
}
export function outputOf(m: Matrices, z: number[], query: number): HeadOutput {
  const row = (x: Float32Array) => x.subarray(query * m.info.width, (query + 1) * m.info.width);
  const share = applied(m.out, z),
    own = row(m.own),
    all = row(m.all),
    square = size(all) ** 2;
  return {
    share,
    size: size(share),
    all: size(all),
    along: square > 0 ? share.reduce((sum, x, i) => sum + x * all[i], 0) / square : 0,
    difference: share.reduce((most, x, i) => Math.max(most, Math.abs(x + m.out.bias[i] - own[i])), 0),
  };
}
