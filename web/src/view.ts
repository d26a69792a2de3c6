// The visible part of the map, and the size of its cells.
import { computed, signal } from '@preact/signals';
import { clipped, shown } from './format';
import { isLong, longMap, moveSight, showAll, sight, stepSight } from './long';
import { modeMap } from './modes';
import { shownMap } from './numbers';
import {
  block,
  keyReading,
  lines,
  mode,
  mutedKeys,
  partInfo,
  present,
  queryReading,
  renormalise,
  words,
} from './state';
import { columnsOf, cropped, joined, renormalised, type Joined } from './words';

// Renormalized rows: only of weights, and only if columns are muted.
export const isRenormalised = computed(
  () => renormalise.value && mutedKeys.value.size > 0 && (lines.value || mode.value === 'weights'),
);

// The drawn map: the head's own or its words, whole or in part. Scores of words have no meaning.
export const drawn = computed<Joined | null>(() => {
  if (isLong.value) return longMap.value;
  const map = lines.value ? shownMap.value : modeMap.value, // lines are weights
    info = partInfo.value;
  if (!map || !info) return null;
  const byWords = words.value && (lines.value || mode.value !== 'scores');
  const all = joined(map, queryReading.value, keyReading.value, byWords);
  return cropped(isRenormalised.value ? renormalised(all, mutedKeys.value) : all, block.value);
});
export const mutedColumns = computed(() => (drawn.value ? columnsOf(drawn.value, mutedKeys.value) : []));

export const view = signal({ x: 0, y: 0, cell: 0 }); // offset in pixels; a cell of 0 fits the map to its panel
export const space = signal({ width: 600, height: 560 });
const mostCell = 110; // a few words fill the panel too
export const columnLetters = 13;
// Space for the words on the left, and for slanted ones beyond the right end.
export const rooms = computed(() =>
  space.value.width < 460
    ? { left: 84, right: 40 }
    : present.value
      ? { left: 180, right: 110 }
      : { left: 112, right: 64 },
);

// And for slanted ones above, by the longest. Wide letters count twice.
export const upperRoom = computed(() => {
  let longest = 0;
  for (const name of drawn.value?.columnNames ?? []) {
    let length = 0;
    for (const c of clipped(shown(name), columnLetters)) length += c.codePointAt(0)! > 0x2e7f ? 2 : 1;
    longest = Math.max(longest, length);
  }
  return present.value ? 150 : Math.max(56, Math.min(96, 26 + 6 * longest));
});

export const fitted = computed(() => {
  const d = drawn.value;
  if (!d) return 1;
  return Math.min(
    mostCell,
    (space.value.width - rooms.value.left - rooms.value.right) / d.columns,
    Math.max(8, space.value.height / d.rows),
  );
});
export const cellSize = computed(() => view.value.cell || fitted.value);
// Zooming in moves the map within a fixed frame, so that the cell under the pointer can stay there.
export const frame = computed(() => {
  const d = drawn.value,
    cell = Math.min(cellSize.value, fitted.value);
  if (!d) return { width: 0, height: 0 };
  return {
    width: Math.max(
      1,
      Math.min(Math.round(d.columns * cell), Math.floor(space.value.width - rooms.value.left - rooms.value.right)),
    ),
    height: Math.max(1, Math.min(Math.round(d.rows * cell), Math.max(200, space.value.height))),
  };
});

// The offset of the map within its frame; for a long text the frame shows the visible part.
export const shift = computed(() => (isLong.value ? { x: 0, y: 0, cell: 0 } : view.value));

export function fit(): void {
  view.value = { x: 0, y: 0, cell: 0 };
  showAll();
}
export function moveTo(x: number, y: number, cell: number): void {
  const d = drawn.value;
  if (!d) return;
  if (isLong.value) return moveSight(y / cellSize.value, x / cellSize.value);
  const f = frame.value;
  view.value = {
    cell,
    x: Math.max(0, Math.min(x, d.columns * (cell || fitted.value) - f.width)),
    y: Math.max(0, Math.min(y, d.rows * (cell || fitted.value) - f.height)),
  };
}
// The start of a drag: for a long text, in pixels of its level.
export const origin = () =>
  isLong.value ? { x: sight.value.column * cellSize.value, y: sight.value.row * cellSize.value, cell: 0 } : view.value;
let turned = 1; // wheel movement since the last step
export function zoom(factor: number, x: number, y: number): void {
  if (isLong.value) {
    turned *= factor;
    if (turned < 1.6 && turned > 0.62) return;
    stepSight(turned > 1 ? 1 : -1, x / frame.value.width, y / frame.value.height);
    turned = 1;
    return;
  }
  const old = cellSize.value,
    least = Math.min(fitted.value, space.value.height / Math.max(1, drawn.value?.rows ?? 1)), // all rows are visible
    cell = Math.max(least, Math.min(Math.max(96, fitted.value), old * factor));
  const v = view.value;
  if (cell === old) return;
  view.value = { ...v, cell };
  moveTo(((v.x + x) * cell) / old - x, ((v.y + y) * cell) / old - y, cell);
}
