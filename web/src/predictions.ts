// The predictions at the pinned position, and numbers that depend on the pins.
import { computed, effect, signal } from '@preact/signals';
import { atlas, loadRow } from './numbers';
import { run, part, queries, theSource, restingQueries, report, streaming } from './state';
import type { Prediction } from './types';

const predictions = new Map<string, Prediction>();
export const prediction = signal<Prediction | null>(null);
// The row of the logits that belongs to the pinned query.
export const predictionAt = computed<number | null>(() => {
  const info = run.value;
  if (!info || info.predictions === 0) return null;
  if (info.written !== null && part.value === 'encoder') return info.predictions - 1;
  const last = restingQueries.value.at(-1);
  return last === undefined ? info.predictions - 1 : Math.min(last, info.predictions - 1);
});
export function followQueries(): void {
  effect(() => {
    if (run.value && atlas.value && queries.value.length > 0) loadRow(queries.value[0]).catch(report);
  });
}
export function followPredictions(): void {
  effect(() => {
    const info = run.value,
      at = predictionAt.value;
    if (streaming.value) return;
    if (!info || at === null) {
      prediction.value = null;
      return;
    }
    const key = `${info.id}/${at}`,
      known = predictions.get(key);
    if (known) {
      prediction.value = known;
      return;
    }
    theSource()
      .prediction(info, at)
      .then((found) => {
        if (predictions.size > 500) predictions.clear();
        predictions.set(key, found);
        if (run.value?.id === info.id && predictionAt.peek() === at) prediction.value = found;
      }, report);
  });
}
