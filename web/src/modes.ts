// What the map shows of a head: its weights, the scores before the softmax, or how much of each value goes on.
import { computed } from '@preact/signals';
import { scoreOf } from './arithmetic';
import { entry, signedEntry, table } from './color';
import { headOf, shownMap } from './numbers';
import { mode, scale, shownPlace, theme } from './state';
import type { Head, Scale, Theme } from './types';

function scores(head: Head): Float32Array {
  const { rows, columns } = head.info,
    out = new Float32Array(rows * columns);
  for (let i = 0; i < rows; ++i)
    for (let j = 0; j < columns; ++j)
      out[i * columns + j] = Number.isNaN(head.weights[i * columns + j]) ? NaN : scoreOf(head, i, j).score;
  return out;
}
// The length of weight · v: a key with a short value gives little, however much it is looked at.
function values(head: Head): Float32Array {
  const { columns, value_dim } = head.info,
    lengths = new Float64Array(columns);
  for (let j = 0; j < columns; ++j) {
    let sum = 0;
    for (let d = 0; d < value_dim; ++d) sum += head.v[j * value_dim + d] ** 2;
    lengths[j] = Math.sqrt(sum);
  }
  return head.weights.map((w, at) => w * lengths[at % columns]);
}

export const modeMap = computed<Float32Array | null>(() => {
  if (mode.value === 'weights') return shownMap.value;
  const head = headOf(shownPlace.value);
  return head && (mode.value === 'scores' ? scores(head) : values(head));
});

// Weights end at 1, so that heads compare; others end at the largest of their head.
export const limit = computed(() => {
  if (mode.value === 'weights') return 1;
  let top = 1e-9;
  for (const x of modeMap.value ?? []) if (Math.abs(x) > top) top = Math.abs(x);
  return top;
});

// How numbers become entries of a colour table.
export interface Paint {
  signed: boolean;
  limit: number;
  scale: Scale;
  theme: Theme;
}
export const paint = computed<Paint>(() => ({
  signed: mode.value === 'scores',
  limit: limit.value,
  scale: scale.value,
  theme: theme.value,
}));
export const colorsOf = (p: Paint) => table(p.theme, p.signed);
export const entryOf = (p: Paint, x: number) => (p.signed ? signedEntry(x / p.limit) : entry(x / p.limit, p.scale));
