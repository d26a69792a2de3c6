// The position in the model, from the embedding through the layers to the logits, and the prediction at each place.
import { effect, signal } from '@preact/signals';
import { clipped, digits, shown } from './format';
import { predictionAt } from './predictions';
import {
  clearHover,
  depth,
  guessing,
  offline,
  part,
  partInfo,
  place,
  report,
  run,
  streaming,
  theSource,
} from './state';
import type { Guess } from './types';

interface Lens {
  position: number;
  layers: { tops: Guess[] }[];
  experts: { layer: number; count: number; used: [number, number][] }[];
}
const lens = signal<{ run: string; answer: Lens } | null>(null);
const opened = signal(false);
const rest = 120; // milliseconds without another place
export function followLens(): void {
  let timer = 0;
  effect(() => {
    const info = run.value,
      at = predictionAt.value;
    clearTimeout(timer);
    if (!info || at === null || !opened.value || streaming.value || offline.value) return;
    if (lens.peek()?.run === info.id && lens.peek()?.answer.position === at) return;
    timer = window.setTimeout(() => {
      theSource()
        .get(info, `lens?position=${at}`)
        .then((answer) => (lens.value = { run: info.id, answer: answer as Lens }), report);
    }, rest);
  });
}

export function Where() {
  const p = partInfo.value,
    info = run.value;
  if (!p || !info || depth.value === 'learner') return null;
  // Only the stack that predicts has a lens.
  const predicts = info.predictions > 0 && !(info.written !== null && part.value === 'encoder') && !offline.value,
    found = predicts && opened.value && !guessing.value && lens.value?.run === info.id ? lens.value.answer : null;
  const guess = (i: number) => {
    const top = found?.layers[i]?.tops[0];
    return top ? (
      <small title={`p ${top.p}, id ${top.id}`}>
        <bdi>{clipped(shown(top.text), 9)}</bdi> {digits(top.p, 2)}
      </small>
    ) : null;
  };
  return (
    <nav class="where" aria-label="Place in the model" data-test="where">
      <span class="stop">x {guess(0)}</span>
      {Array.from({ length: p.layers }, (_, layer) => {
        const experts = found?.experts.find((e) => e.layer === layer);
        return [
          <i aria-hidden="true">→</i>,
          <button
            type="button"
            key={layer}
            class="stop"
            aria-current={place.value.layer === layer ? 'true' : undefined}
            title={`Layer ${layer}: attention, then feed-forward${experts ? ` with experts ${experts.used.map(([e, w]) => `${e} (${digits(w, 2)})`).join(', ')} of ${experts.count}` : ''}`}
            onClick={() => {
              clearHover();
              place.value = { layer, head: place.value.head };
            }}
          >
            {layer}{' '}
            <span class="quiet">
              {part.value === 'cross' ? 'cross' : 'attention'} ·{' '}
              {experts ? `experts ${experts.used.map((e) => e[0]).join(' ')}` : 'ff'}
            </span>{' '}
            {guess(layer + 1)}
          </button>,
        ];
      })}
      <i aria-hidden="true">→</i>
      <span class="stop">{predicts ? 'logits' : info.written !== null ? 'cross-attention' : 'out'}</span>
      {predicts && (
        <label
          class="check"
          title="Logit lens: the stream after each layer through the final norm and the output matrix. Derived: training uses the prediction of the last layer only"
        >
          <input
            type="checkbox"
            data-test="lens"
            checked={opened.value}
            onChange={(event) => (opened.value = event.currentTarget.checked)}
          />{' '}
          lens
        </label>
      )}
      {found && <span class="badge derived">derived</span>}
    </nav>
  );
}
