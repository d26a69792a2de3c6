// What the map shows of a head: its weights, the scores before the softmax, or the contribution of each value.
import { computed } from '@preact/signals';
import { scoreOf } from './arithmetic';
import { headOf, isDerived, shownMap } from './numbers';
import { mode, shownPlace } from './state';
import type { Head } from './types';

function scores(head: Head): Float32Array {
  const { rows, columns } = head.info,
    out = new Float32Array(rows * columns);
  for (let i = 0; i < rows; ++i)
    for (let j = 0; j < columns; ++j)
      out[i * columns + j] = Number.isNaN(head.weights[i * columns + j]) ? NaN : scoreOf(head, i, j).score;
  return out;
}
// The norm of weight · v: a key with a short value contributes little, whatever its weight.
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
  if (mode.value === 'weights' || isDerived.value) return shownMap.value;
  const head = headOf(shownPlace.value);
  return head && (mode.value === 'scores' ? scores(head) : values(head));
});
