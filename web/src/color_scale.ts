// Converts the displayed numbers to colours.
import { computed } from '@preact/signals';
import { entry, signedEntry, table } from './color';
import { autoRange, lines, mode, palette, scale, theme } from './state';
import type { Palette, Scale, Theme } from './types';
import { drawn, mutedColumns } from './view';

const ofWeights = computed(() => lines.value || mode.value === 'weights');

// By default weights end at 1, so that heads can be compared; other numbers end at the largest displayed.
export const limit = computed(() => {
  const d = drawn.value,
    grey = mutedColumns.value;
  if (!d || (ofWeights.value && !autoRange.value)) return 1;
  let top = 0;
  d.values.forEach((x, at) => {
    if (Math.abs(x) > top && !grey[at % d.columns]) top = Math.abs(x);
  });
  return top || 1;
});

// Converts numbers to entries of a colour table.
export interface Paint {
  signed: boolean;
  limit: number;
  scale: Scale;
  theme: Theme;
  palette: Palette;
}
export const paint = computed<Paint>(() => ({
  signed: mode.value === 'scores' && !lines.value,
  limit: limit.value,
  scale: scale.value,
  theme: theme.value,
  palette: palette.value,
}));
// For weights next to the map: the same colours if the map shows weights too.
export const weightPaint = computed<Paint>(() => ({
  ...paint.value,
  signed: false,
  limit: ofWeights.value ? limit.value : 1,
}));
export const colorsOf = (p: Paint) => table(p.theme, p.signed ? 'signed' : p.palette);
export const entryOf = (p: Paint, x: number) => (p.signed ? signedEntry(x / p.limit) : entry(x / p.limit, p.scale));
