// The order of heads in the atlas. A new one is a line in `sorts`: a name, and a number for each head.
import { computed } from '@preact/signals';
import { headStatistics, links } from './atlas_data';
import { bestLabel, caption, headLabels } from './head_names';
import { sweep } from './sweep';
import { guessing, order, partInfo, type Place } from './state';
import type { Order } from './types';

interface Sort {
  name: string;
  number: (at: number) => number; // of a head; the largest comes first
  text: (at: number) => string; // shown below it
  ready: () => boolean;
}
export const effectText = (kl: number) =>
  Number.isNaN(kl)
    ? ''
    : kl >= 0.095
      ? kl.toFixed(2).replace(/^0/, '')
      : kl >= 0.0005
        ? kl.toFixed(3).replace(/^0/, '')
        : '0';
const fraction = (x: number) => x.toFixed(2).replace(/^0/, '');
// Heads with the same label together, the best first; those without a label last.
const ranks = [
  'previous',
  'current',
  'next',
  'offset',
  'induction',
  'duplicate',
  'aligned',
  'first',
  'end',
  'delimiter',
  'local',
  'broad',
];
function labelRank(at: number): number {
  const best = bestLabel(at),
    rank = best ? ranks.indexOf(best.label) : -1;
  return rank < 0 ? -1 : 2 * (ranks.length - rank) + Math.min(1, best!.score ?? 0);
}

export const sorts: Record<Order, Sort> = {
  layer: { name: 'layer', number: () => 0, text: () => '', ready: () => true },
  link: {
    name: 'the pinned link',
    number: (at) => links.value![at],
    text: (at) => fraction(links.value![at]),
    ready: () => links.value !== null,
  },
  focus: {
    name: 'entropy, focused first',
    number: (at) => -headStatistics.value![at].entropy,
    text: (at) => headStatistics.value![at].entropy.toFixed(1),
    ready: () => headStatistics.value !== null,
  },
  first: {
    name: 'share of the first token',
    number: (at) => headStatistics.value![at].first,
    text: (at) => fraction(headStatistics.value![at].first),
    ready: () => headStatistics.value !== null,
  },
  effect: {
    name: 'effect of the sweep',
    number: (at) => sweep.value!.kl[at] || 0,
    text: (at) => effectText(sweep.value!.kl[at]),
    ready: () => sweep.value !== null,
  },
  label: {
    name: 'label',
    number: (at) => labelRank(at),
    text: (at) => caption(at),
    ready: () => headLabels.value !== null,
  },
};

// The requested order, if its numbers are known; while the reader guesses in the tour, layers reveal nothing.
export const shownOrder = computed<Order>(() =>
  guessing.value || !sorts[order.value].ready() ? 'layer' : order.value,
);

export interface Sequence {
  heads: Place[];
  at: (place: Place) => number;
}
export const sequence = computed<Sequence>(() => {
  const p = partInfo.value;
  if (!p) return { heads: [], at: () => 0 };
  const list = Array.from({ length: p.layers * p.heads }, (_, i) => i),
    sort = sorts[shownOrder.value];
  if (shownOrder.value !== 'layer') {
    const numbers = list.map(sort.number);
    list.sort((a, b) => numbers[b] - numbers[a] || a - b);
  }
  const where = new Int32Array(list.length);
  list.forEach((head, n) => (where[head] = n));
  return {
    heads: list.map((i) => ({ layer: Math.floor(i / p.heads), head: i % p.heads })),
    at: (place) => where[place.layer * p.heads + place.head],
  };
});
