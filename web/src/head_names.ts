// Names of heads: labels on this text and on the battery, requested when they are displayed.
import { computed, effect, signal } from '@preact/signals';
import { headStatistics } from './atlas_data';
import { parseQuery, passes } from './query';
import { sweep } from './sweep';
import { labelled, offline, order, part, partInfo, report, run, streaming, theSource, type Place } from './state';

export interface LabelScore {
  label: string;
  score: number | null;
  lift: number | null;
  rows: number;
  detail: number;
}
export interface HeadLabels {
  layer: number;
  head: number;
  text: LabelScore[];
  battery: LabelScore[];
  similar?: { layer: number; head: number; cosine: number }[]; // the nearest three; none where there are too many heads
}
const found = signal<{ key: string; heads: HeadLabels[] } | null>(null);
export const loadingLabels = signal(false);
const keyOf = () => `${run.value?.id}/${part.value}`;
export const headLabels = computed<HeadLabels[] | null>(() =>
  found.value?.key === keyOf() ? found.value.heads : null,
);

export const searchText = signal('');
const query = computed(() => parseQuery(searchText.value));
const wanted = computed(
  () =>
    labelled.value ||
    order.value === 'label' ||
    (query.value.kind === 'heads' && query.value.conditions.some((c) => c.of === 'label')),
);
export function followLabels(): void {
  let aborter: AbortController | null = null;
  effect(() => {
    const info = run.value,
      name = part.value,
      key = keyOf();
    aborter?.abort();
    loadingLabels.value = false;
    if (!info || !wanted.value || streaming.value || offline.value || found.peek()?.key === key) return;
    const mine = (aborter = new AbortController());
    loadingLabels.value = true;
    theSource()
      .get(info, `labels?part=${name}`, mine.signal)
      .then(
        (answer) => {
          if (!mine.signal.aborted) found.value = { key, heads: (answer as { heads: HeadLabels[] }).heads };
        },
        (error) => mine.signal.aborted || report(error),
      )
      .finally(() => {
        if (!mine.signal.aborted) loadingLabels.value = false;
      });
  });
}

export const indexOf = (at: Place) => at.layer * (partInfo.value?.heads ?? 0) + at.head;
// The best label: on this text, else on the battery.
export function bestLabel(at: number): LabelScore | null {
  const h = headLabels.value?.[at];
  return h ? (h.text[0] ?? h.battery[0] ?? null) : null;
}
const short: Record<string, string> = {
  previous: 'prev',
  current: 'self',
  delimiter: 'delim',
  duplicate: 'dup',
  induction: 'induct',
  aligned: 'align',
};
export const labelName = (l: LabelScore) => (l.label === 'offset' ? `offset ${l.detail}` : l.label);
export function caption(at: number): string {
  const best = bestLabel(at);
  if (!best || best.label === 'none') return '–';
  return `${best.label === 'offset' ? `off ${best.detail}` : (short[best.label] ?? best.label)} ${(best.score ?? 0).toFixed(1).replace(/^0/, '')}`;
}

// Heads that pass the conditions in the search field; null: there are none.
export const matching = computed<boolean[] | null>(() => {
  const q = query.value,
    p = partInfo.value;
  if (q.kind !== 'heads' || !p) return null;
  return Array.from({ length: p.layers * p.heads }, (_, at) => {
    const numbers = headStatistics.value?.[at],
      names = headLabels.value?.[at];
    return passes(
      {
        layer: Math.floor(at / p.heads),
        labels: names ? [...names.text, ...names.battery].map((l) => l.label) : null,
        entropy: numbers?.entropy ?? null,
        first: numbers?.first ?? null,
        distance: numbers?.distance ?? null,
        effect: sweep.value?.kl[at] ?? null,
      },
      q.conditions,
    );
  });
});
