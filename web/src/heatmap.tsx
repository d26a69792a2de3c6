// The weights of one head: a canvas for the cells, real text for the words.
import { computed, useComputed, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Cells, pinCell } from './cells';
import { css } from './color';
import { colorsOf, entryOf, weightPaint } from './color_scale';
import { seen } from './links';
import { shown } from './format';
import { Labels } from './labels';
import { openMenu } from './menu';
import { activeRow, rowsOf } from './numbers';
import { faint, sized } from './paint';
import {
  activeQueries,
  guessing,
  hoverCell,
  keyReading,
  keys,
  part,
  partInfo,
  present,
  queries,
  queryReading,
  run,
  shownPlace,
} from './state';
import { cellSize, drawn, frame, isRenormalised, mutedColumns, rooms, shift, space, upperRoom } from './view';
import { type Joined } from './words';

// What a screen reader hears: the cell under the arrows or the mouse, with both words, weight, rank and head.
export const spoken = computed(() => {
  const info = partInfo.value,
    at =
      hoverCell.value ??
      (queries.value.length && keys.value.length ? { query: queries.value[0], key: keys.value[0] } : null);
  const rows = at ? rowsOf([at.query], false) : null;
  if (!rows || !info || !at || guessing.value) return '';
  const first = rows.at[0] * info.columns,
    w = rows.map[first + at.key];
  const from = shown(queryReading.value.tokens[at.query]?.text ?? ''),
    to = shown(keyReading.value.tokens[at.key]?.text ?? '');
  const where = `layer ${shownPlace.value.layer} head ${shownPlace.value.head}`;
  if (Number.isNaN(w)) return `from ${from} to ${to}: not visible, ${where}`;
  let rank = 1;
  for (let j = 0; j < info.columns; ++j) if (rows.map[first + j] > w) ++rank;
  return `from ${from} to ${to}, weight ${w.toPrecision(4)}, rank ${rank} of ${seen(rows.map, rows.at[0], info.columns)}, ${where}`;
});

export function HeatMap() {
  const box = useRef<HTMLDivElement>(null);
  const caught = useSignal(false);
  useEffect(() => {
    const element = box.current!;
    const measure = () => {
      const width = element.clientWidth,
        // A room sees the whole map at once, between its headline and the buttons.
        height = Math.max(240, present.value ? innerHeight - 600 : Math.min(innerHeight * 0.62, 720));
      if (Math.abs(width - space.value.width) > 1 || Math.abs(height - space.value.height) > 1)
        space.value = { width, height };
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [present.value]);
  const name = useComputed(
    () => spoken.value || 'heat map of attention weights: arrows move from cell to cell, Enter pins',
  );
  const d = drawn.value;
  const step = (event: KeyboardEvent) => {
    if (!d) return;
    const at = hoverCell.value ?? { query: queries.value[0] ?? 0, key: keys.value[0] ?? 0 };
    const moves: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      Home: [0, -d.columns],
      End: [0, d.columns],
    };
    const delta = moves[event.key],
      row = Math.max(0, d.rowOf[at.query] ?? 0),
      column = Math.max(0, d.columnOf[at.key] ?? 0);
    const cell = (i: number, j: number) => {
      const clamp = (x: number, most: number) => Math.max(0, Math.min(most - 1, x));
      return { query: d.rowTokens[clamp(i, d.rows)][0], key: d.columnTokens[clamp(j, d.columns)][0] };
    };
    if (delta) {
      event.preventDefault();
      hoverCell.value = cell(row + delta[0], column + delta[1]);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      pinCell(d, cell(row, column), event.shiftKey);
    } else if (event.key === 'ContextMenu' || (event.shiftKey && event.key === 'F10')) {
      event.preventDefault();
      const box = event.currentTarget as HTMLElement,
        from = box.getBoundingClientRect();
      openMenu({ x: from.left + from.width / 2, y: from.top + 80, cell: cell(row, column) });
    }
  };
  return (
    <div
      class={`heatmap${caught.value ? ' focused' : ''}`}
      ref={box}
      role="grid"
      tabIndex={0}
      aria-label="attention weights, rows are queries, columns are keys"
      aria-rowcount={d?.rows ?? 0}
      aria-colcount={d?.columns ?? 0}
      aria-activedescendant="map-cell"
      onKeyDown={step}
      data-test="grid"
      onFocus={() => {
        caught.value = true;
      }}
      onBlur={() => {
        caught.value = false;
        hoverCell.value = null;
      }}
    >
      <div class="unseen" role="row">
        <span id="map-cell" role="gridcell" aria-label={name}>
          {name}
        </span>
      </div>
      {d ? (
        <>
          <div class="axis-to" aria-hidden="true">
            {part.value === 'cross' ? 'keys: the text (to) →' : 'keys (to) →'}
          </div>
          <div
            class="map-frame"
            style={{
              paddingLeft: `${rooms.value.left}px`,
              paddingRight: `${rooms.value.right}px`,
              '--up': `${upperRoom.value}px`,
            }}
          >
            <Labels axis="column" />
            <Labels axis="row" />
            <Cells />
          </div>
          <Margin />
        </>
      ) : (
        <p class="empty">{run.value ? 'Loading this head’s weights…' : 'Waiting for the model…'}</p>
      )}
    </div>
  );
}

// What the pinned (or hovered) queries give to each column, as it is shown.
function sumsOf(d: Joined, row: Float32Array): Float64Array {
  const sums = new Float64Array(d.columns);
  if (isRenormalised.value) {
    const rows = activeQueries.value.map((i) => d.rowOf[i]).filter((i) => i >= 0);
    for (const i of rows)
      for (let j = 0; j < d.columns; ++j) sums[j] += (d.values[i * d.columns + j] || 0) / rows.length;
  } else
    row.forEach((w, j) => {
      if (!Number.isNaN(w) && d.columnOf[j] >= 0) sums[d.columnOf[j]] += w;
    });
  return sums;
}

// Below the columns: those sums, as bars.
function Margin() {
  const d = drawn.value,
    row = activeRow.value,
    f = frame.value,
    cell = cellSize.value,
    v = shift.value,
    paint = weightPaint.value,
    grey = mutedColumns.value;
  const canvas = useRef<HTMLCanvasElement>(null);
  const show = Boolean(d && row && activeQueries.value.length > 0) && !guessing.value;
  useLayoutEffect(() => {
    if (!d || !row || !canvas.current || !show) return;
    const height = 44,
      context = sized(canvas.current, f.width, height),
      colors = colorsOf(paint),
      sums = sumsOf(d, row);
    context.clearRect(0, 0, f.width, height);
    for (let j = 0; j < d.columns; ++j) {
      const h = Math.min(height, Math.max(sums[j] > 0 ? 1 : 0, (sums[j] / paint.limit) * height));
      context.globalAlpha = grey[j] ? faint : 1;
      context.fillStyle = css(colors, Math.max(70, entryOf(paint, sums[j])));
      context.fillRect(j * cell - v.x + (cell > 6 ? 1 : 0), 0, Math.max(1, cell - (cell > 6 ? 2 : 0)), h);
    }
  }, [d, row, f, cell, v, paint, grey, show]);
  return (
    <div class="margin" style={{ marginLeft: `${rooms.value.left}px`, width: `${f.width}px` }}>
      {show && <canvas ref={canvas} aria-hidden="true" />}
    </div>
  );
}
