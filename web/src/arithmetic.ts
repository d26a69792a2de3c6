// The arithmetic of one link in float64, from the model's own q, k and v: what the steps panel shows.
import type { Head } from './types';

export interface Product {
  at: number;
  q: number;
  k: number;
  product: number;
}
export interface RowEntry {
  key: number;
  score: number;
  shifted: number;
  exp: number;
  weight: number;
  kernel: number;
}
export interface Steps {
  q: number[];
  k: number[];
  products: Product[];
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

function scoreOf(
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
  const bias = h.bias ? h.bias[query * columns + key] : 0;
  return { dot, scaled, capped, slope: slopes, bias, score: capped + slopes + bias };
}

export function stepsOf(h: Head, query: number, key: number): Steps {
  const { dim, columns, value_dim, sink } = h.info;
  const q = Array.from(h.q.subarray(query * dim, (query + 1) * dim)),
    k = Array.from(h.k.subarray(key * dim, (key + 1) * dim));
  const products = q.map((x, at) => ({ at, q: x, k: k[at], product: x * k[at] }));
  const own = scoreOf(h, query, key);
  const row: RowEntry[] = [];
  let max = sink ?? -Infinity;
  for (let j = 0; j < columns; ++j) {
    const kernel = h.weights[query * columns + j];
    if (Number.isNaN(kernel)) continue;
    const score = scoreOf(h, query, j).score;
    max = Math.max(max, score);
    row.push({ key: j, score, shifted: 0, exp: 0, weight: 0, kernel });
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
    const a = rope.interleaved ? 2 * j : j,
      b = rope.interleaved ? 2 * j + 1 : j + half;
    const angle = position * rope.angles[j],
      c = Math.cos(angle) / rope.factor,
      s = Math.sin(angle) / rope.factor;
    out[a] = x[a] * c + x[b] * s;
    out[b] = x[b] * c - x[a] * s;
  }
  return out;
}
