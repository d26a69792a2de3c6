// The weights of one head: a canvas for the cells, real text for the words.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { computed, signal, useComputed, useSignal } from '@preact/signals';
import {
  activeQueries, activeRow, guessing, hoverCell, keyReading, keys, muted, part, partInfo, pin, queries, queryReading, run, scale,
  shownMap, shownPlace, theme, words, type Cell,
} from './state';
import { css, entry, hatch, table } from './color';
import { clipped, shown } from './format';
import { seen } from './finding';
import { joined, type Joined } from './words';
import type { Scale, Theme } from './types';

// What is drawn: the head's own map, or its words.
export const drawn = computed<Joined | null>(() => {
  const map = shownMap.value, info = partInfo.value;
  if (!map || !info) return null;
  return joined(map, queryReading.value, keyReading.value, words.value);
});

export const view = signal({ x: 0, y: 0, cell: 0 });  // offset in pixels; a cell of 0 fits the map to its place
const space = signal({ width: 600, height: 560 });
const mostCell = 44;
// Room for the words on the left, and for slanted ones beyond the right end.
const rooms = computed(() => (space.value.width < 460 ? { left: 84, right: 40 } : { left: 112, right: 64 }));

const fitted = computed(() => {
  const d = drawn.value;
  if (!d) return 1;
  return Math.min(mostCell, (space.value.width - rooms.value.left - rooms.value.right) / d.columns, Math.max(8, space.value.height / d.rows));
});
export const cellSize = computed(() => view.value.cell || fitted.value);
const frame = computed(() => {
  const d = drawn.value, cell = cellSize.value;
  if (!d) return { width: 0, height: 0 };
  return {
    width: Math.max(1, Math.min(Math.round(d.columns * cell), Math.floor(space.value.width - rooms.value.left - rooms.value.right))),
    height: Math.max(1, Math.min(Math.round(d.rows * cell), Math.max(200, space.value.height))),
  };
});

export function fit(): void { view.value = { x: 0, y: 0, cell: 0 }; }
function moveTo(x: number, y: number, cell: number): void {
  const d = drawn.value;
  if (!d) return;
  const f = frame.value;
  view.value = {
    cell, x: Math.max(0, Math.min(x, d.columns * (cell || fitted.value) - f.width)),
    y: Math.max(0, Math.min(y, d.rows * (cell || fitted.value) - f.height)),
  };
}
function zoom(factor: number, x: number, y: number): void {
  const old = cellSize.value, cell = Math.max(Math.min(1, fitted.value), Math.min(96, old * factor));
  const v = view.value;
  view.value = { ...v, cell };
  moveTo((v.x + x) * cell / old - x, (v.y + y) * cell / old - y, cell);
}

// One pixel per cell, transparent where nothing is visible. Several cells on one pixel show their largest weight.
function picture(d: Joined, width: number, height: number, s: Scale, t: Theme, mute: boolean): HTMLCanvasElement {
  const columns = Math.min(d.columns, width), rows = Math.min(d.rows, height);
  const canvas = document.createElement('canvas');
  canvas.width = columns; canvas.height = rows;
  const context = canvas.getContext('2d')!, image = context.createImageData(columns, rows);
  const colors = table(t), pixels = image.data;
  for (let i = 0; i < rows; ++i) {
    const i0 = Math.floor(i * d.rows / rows), i1 = Math.max(i0 + 1, Math.floor((i + 1) * d.rows / rows));
    for (let j = 0; j < columns; ++j) {
      const j0 = Math.floor(j * d.columns / columns), j1 = Math.max(j0 + 1, Math.floor((j + 1) * d.columns / columns));
      let top = NaN;
      for (let a = i0; a < i1; ++a) for (let b = j0; b < j1; ++b) {
        const w = d.values[a * d.columns + b];
        if (!(w <= top) && !Number.isNaN(w)) top = w;
      }
      if (Number.isNaN(top)) continue;
      const at = 4 * (i * columns + j), from = 3 * entry(top, s);
      pixels[at] = colors[from]; pixels[at + 1] = colors[from + 1]; pixels[at + 2] = colors[from + 2];
      pixels[at + 3] = mute && j0 === 0 ? 60 : 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

let hatchTile: { color: string; tile: HTMLCanvasElement } | null = null;
export function hatched(context: CanvasRenderingContext2D, t: Theme): CanvasPattern {
  if (hatchTile?.color !== hatch[t]) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const c = tile.getContext('2d')!;
    c.strokeStyle = hatch[t]; c.lineWidth = 1;
    c.beginPath();
    for (const shift of [-6, 0, 6]) { c.moveTo(shift, 6); c.lineTo(shift + 6, 0); }
    c.stroke();
    hatchTile = { color: hatch[t], tile };
  }
  return context.createPattern(hatchTile.tile, 'repeat')!;
}

function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d')!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.imageSmoothingEnabled = false;
  return context;
}

function Cells() {
  const base = useRef<HTMLCanvasElement>(null), over = useRef<HTMLCanvasElement>(null);
  const cached = useRef<{ key: unknown[]; picture: HTMLCanvasElement } | null>(null);
  const d = drawn.value, f = frame.value, v = view.value, cell = cellSize.value, t = theme.value, s = scale.value;
  const hide = guessing.value;

  useLayoutEffect(() => {
    if (!d || !base.current) return;
    const context = sized(base.current, f.width, f.height);
    const key = [d, s, t, muted.value, cell < 1 ? f.width : 0];
    if (!cached.current || cached.current.key.some((x, i) => x !== key[i]))
      cached.current = { key, picture: picture(d, cell < 1 ? f.width : Infinity, cell < 1 ? f.height : Infinity, s, t, muted.value) };
    const from = cached.current.picture, ratio = cell < 1 ? 1 : cell;
    context.clearRect(0, 0, f.width, f.height);
    context.fillStyle = hatched(context, t);
    context.fillRect(0, 0, f.width, f.height);
    if (hide) return;
    context.drawImage(from, v.x / ratio, v.y / ratio, f.width / ratio, f.height / ratio, 0, 0, f.width, f.height);
    if (cell < 9) return;
    context.fillStyle = getComputedStyle(base.current).getPropertyValue('--card');
    for (let i = Math.ceil(v.x / cell); i * cell - v.x < f.width; ++i) context.fillRect(i * cell - v.x - 0.5, 0, 1, f.height);
    for (let i = Math.ceil(v.y / cell); i * cell - v.y < f.height; ++i) context.fillRect(0, i * cell - v.y - 0.5, f.width, 1);
  }, [d, f, v, cell, t, s, muted.value, hide]);

  const at = hoverCell.value, pinnedQ = queries.value, pinnedK = keys.value;
  useLayoutEffect(() => {
    if (!d || !over.current) return;
    const context = sized(over.current, f.width, f.height);
    context.clearRect(0, 0, f.width, f.height);
    const style = getComputedStyle(over.current), accent = style.getPropertyValue('--accent'), ring = style.getPropertyValue('--ring');
    const rows = [...new Set(pinnedQ.map((i) => d.rowOf[i]))], columns = [...new Set(pinnedK.map((j) => d.columnOf[j]))];
    context.strokeStyle = accent; context.lineWidth = 2;
    for (const i of rows) context.strokeRect(-4, i * cell - v.y, f.width + 8, cell);
    for (const i of rows) for (const j of columns) {
      context.strokeStyle = ring; context.lineWidth = 2.5;
      context.strokeRect(j * cell - v.x + 1, i * cell - v.y + 1, cell - 2, cell - 2);
      if (cell < 9) continue;
      context.strokeStyle = style.getPropertyValue('--card'); context.lineWidth = 1.5;
      context.strokeRect(j * cell - v.x + 3.25, i * cell - v.y + 3.25, cell - 6.5, cell - 6.5);
    }
    if (!at) return;
    const i = d.rowOf[at.query], j = d.columnOf[at.key];
    context.fillStyle = style.getPropertyValue('--cross');
    context.fillRect(0, i * cell - v.y, f.width, cell);
    context.fillRect(j * cell - v.x, 0, cell, f.height);
    context.strokeStyle = ring; context.lineWidth = 2;
    context.strokeRect(j * cell - v.x + 1, i * cell - v.y + 1, Math.max(2, cell - 2), Math.max(2, cell - 2));
  }, [d, f, v, cell, at, pinnedQ, pinnedK, t]);

  const drag = useRef<{ x: number; y: number; moved: boolean; view: typeof v } | null>(null);
  if (!d) return null;
  const cellAt = (event: MouseEvent): Cell | null => {
    const box = over.current!.getBoundingClientRect();
    const j = Math.floor((event.clientX - box.left + v.x) / cell), i = Math.floor((event.clientY - box.top + v.y) / cell);
    return i >= 0 && j >= 0 && i < d.rows && j < d.columns ? { query: d.rowTokens[i][0], key: d.columnTokens[j][0] } : null;
  };
  const move = (event: PointerEvent) => {
    const from = drag.current;
    if (from && event.buttons === 1 && (from.moved || Math.hypot(event.clientX - from.x, event.clientY - from.y) > 4)) {
      from.moved = true;
      moveTo(from.view.x + from.x - event.clientX, from.view.y + from.y - event.clientY, view.value.cell);
      return;
    }
    const next = cellAt(event), old = hoverCell.value;
    if (next?.query !== old?.query || next?.key !== old?.key) hoverCell.value = next;
  };
  const click = (event: MouseEvent) => {
    if (drag.current?.moved) return;
    const next = cellAt(event);
    if (next) pinCell(d, next, event.shiftKey);
  };
  return (
    <div class="cells" style={{ width: `${f.width}px`, height: `${f.height}px` }}>
      <canvas ref={base} data-test="map" aria-hidden="true" />
      <canvas ref={over} class="over" aria-hidden="true" onPointerMove={move} onClick={click}
        onPointerLeave={() => { hoverCell.value = null; }}
        onPointerDown={(event) => { drag.current = { x: event.clientX, y: event.clientY, moved: false, view: view.value }; }}
        onWheel={(event) => {
          if (event.ctrlKey || event.metaKey) {
            event.preventDefault();
            const box = over.current!.getBoundingClientRect();
            zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
          } else if (view.value.cell > fitted.value * 1.001) {
            event.preventDefault();
            moveTo(v.x + (event.shiftKey ? event.deltaY : event.deltaX), v.y + (event.shiftKey ? 0 : event.deltaY), view.value.cell);
          }
        }} />
    </div>
  );
}

function pinCell(d: Joined, at: Cell, more: boolean): void {
  const q = d.rowTokens[d.rowOf[at.query]], k = d.columnTokens[d.columnOf[at.key]];
  const same = (a: number[], b: number[]) => a.length === b.length && a.every((x, i) => x === b[i]);
  if (more) pin([...new Set([...queries.value, ...q])].sort((a, b) => a - b), [...new Set([...keys.value, ...k])].sort((a, b) => a - b));
  else if (same(queries.value, q) && same(keys.value, k)) pin(q, []);
  else pin(q, k);
}

interface LabelProps { axis: 'row' | 'column' }
function Labels({ axis }: LabelProps) {
  const d = drawn.value, cell = cellSize.value, v = view.value, f = frame.value;
  if (!d) return null;
  const isRow = axis === 'row', count = isRow ? d.rows : d.columns, offset = isRow ? v.y : v.x, length = isRow ? f.height : f.width;
  const step = Math.max(1, Math.ceil((isRow ? 14 : 15) / cell));
  const hovered = hoverCell.value ? (isRow ? d.rowOf[hoverCell.value.query] : d.columnOf[hoverCell.value.key]) : -1;
  const pinned = new Set((isRow ? queries.value : keys.value).map((i) => (isRow ? d.rowOf[i] : d.columnOf[i])));
  const names = isRow ? d.rowNames : d.columnNames, tokens = isRow ? d.rowTokens : d.columnTokens;
  const items = [];
  for (let i = 0; i < count; ++i) {
    const at = (i + 0.5) * cell - offset;
    if (at < 0 || at > length) continue;
    const stands = i === hovered || pinned.has(i);
    if (!stands && (i % step !== 0 || (hovered >= 0 && Math.abs(i - hovered) < step) || [...pinned].some((p) => Math.abs(i - p) < step && p !== i))) continue;
    const toggle = (event: MouseEvent) => {
      const list = tokens[i];
      if (isRow) {
        const has = list.every((t) => queries.value.includes(t));
        const next = event.shiftKey ? (has ? queries.value.filter((t) => !list.includes(t)) : [...queries.value, ...list].sort((a, b) => a - b))
          : has && queries.value.length === list.length ? [] : list;
        pin(next, keys.value);
      } else {
        const has = list.every((t) => keys.value.includes(t));
        pin(queries.value, event.shiftKey ? (has ? keys.value.filter((t) => !list.includes(t)) : [...keys.value, ...list].sort((a, b) => a - b))
          : has && keys.value.length === list.length ? [] : list);
      }
    };
    items.push(
      <span key={i} class={`label ${axis}${i === hovered ? ' hover' : ''}${pinned.has(i) ? ' pinned' : ''}`} dir="auto" title={names[i]}
        style={isRow ? { top: `${at}px` } : { left: `${at}px` }} onClick={toggle}>{clipped(shown(names[i]), isRow ? 14 : 13)}</span>);
  }
  const size = `${Math.max(10.5, Math.min(13, cell * 0.66))}px`;  // slanted words must not touch
  return <div class={`labels ${axis}s`} aria-hidden="true" style={isRow ? { height: `${f.height}px`, width: `${rooms.value.left - 6}px`, fontSize: size } : { left: `${rooms.value.left}px`, width: `${f.width}px`, fontSize: size }}>{items}</div>;
}

// What a screen reader hears: the cell under the arrows or the mouse, with both words, weight, rank and head.
export const spoken = computed(() => {
  const map = shownMap.value, info = partInfo.value, at = hoverCell.value ?? (queries.value.length && keys.value.length ? { query: queries.value[0], key: keys.value[0] } : null);
  if (!map || !info || !at || guessing.value) return '';
  const w = map[at.query * info.columns + at.key];
  const from = shown(queryReading.value.tokens[at.query]?.text ?? ''), to = shown(keyReading.value.tokens[at.key]?.text ?? '');
  const where = `layer ${shownPlace.value.layer} head ${shownPlace.value.head}`;
  if (Number.isNaN(w)) return `from ${from} to ${to}: not visible, ${where}`;
  let rank = 1;
  for (let j = 0; j < info.columns; ++j) if (map[at.query * info.columns + j] > w) ++rank;
  return `from ${from} to ${to}, weight ${w.toPrecision(4)}, rank ${rank} of ${seen(map, at.query, info.columns)}, ${where}`;
});

export function HeatMap() {
  const box = useRef<HTMLDivElement>(null);
  const caught = useSignal(false);
  useEffect(() => {
    const element = box.current!;
    const measure = () => {
      const width = element.clientWidth, height = Math.max(240, Math.min(innerHeight * 0.62, 720));
      if (Math.abs(width - space.value.width) > 1 || Math.abs(height - space.value.height) > 1) space.value = { width, height };
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  const name = useComputed(() => spoken.value || 'heat map of attention weights: arrows move from cell to cell, Enter pins');
  const d = drawn.value;
  const rows = partInfo.value?.rows ?? 0, columns = partInfo.value?.columns ?? 0;
  const step = (event: KeyboardEvent) => {
    const info = partInfo.value;
    if (!info || !d) return;
    const at = hoverCell.value ?? { query: queries.value[0] ?? 0, key: keys.value[0] ?? 0 };
    const moves: Record<string, [number, number]> = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -columns], End: [0, columns],
    };
    const delta = moves[event.key];
    if (delta) {
      event.preventDefault();
      const clamp = (x: number, most: number) => Math.max(0, Math.min(most - 1, x));
      hoverCell.value = { query: clamp(at.query + delta[0], rows), key: clamp(at.key + delta[1], columns) };
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      pinCell(d, at, event.shiftKey);
    }
  };
  return (
    <div class={`heatmap${caught.value ? ' focused' : ''}`} ref={box} role="grid" tabIndex={0} aria-label="attention weights, rows are queries, columns are keys"
      aria-rowcount={rows} aria-colcount={columns} aria-activedescendant="map-cell" onKeyDown={step} data-test="grid"
      onFocus={() => { caught.value = true; }} onBlur={() => { caught.value = false; hoverCell.value = null; }}>
      <div class="unseen" role="row"><span id="map-cell" role="gridcell" aria-label={name}>{name}</span></div>
      {d ? (
        <>
          <div class="axis-to" aria-hidden="true">{part.value === 'cross' ? 'keys: the text (to) →' : 'keys (to) →'}</div>
          <div class="map-frame" style={{ paddingLeft: `${rooms.value.left}px`, paddingRight: `${rooms.value.right}px` }}>
            <Labels axis="column" />
            <Labels axis="row" />
            <Cells />
          </div>
          <Margin />
        </>
      ) : <p class="empty">{run.value ? 'Loading this head’s weights…' : 'Waiting for the model…'}</p>}
    </div>
  );
}

// Below the columns: what the pinned (or hovered) queries give to each key.
function Margin() {
  const d = drawn.value, row = activeRow.value, f = frame.value, cell = cellSize.value, v = view.value;
  const canvas = useRef<HTMLCanvasElement>(null);
  const show = Boolean(d && row && activeQueries.value.length > 0) && !guessing.value;
  useLayoutEffect(() => {
    if (!d || !row || !canvas.current || !show) return;
    const height = 44, context = sized(canvas.current, f.width, height), colors = table(theme.value);
    context.clearRect(0, 0, f.width, height);
    const sums = new Float64Array(d.columns);
    row.forEach((w, j) => { if (!Number.isNaN(w)) sums[d.columnOf[j]] += w; });
    for (let j = 0; j < d.columns; ++j) {
      const h = Math.max(sums[j] > 0 ? 1 : 0, sums[j] * height);
      context.fillStyle = css(colors, Math.max(70, entry(sums[j], scale.value)));
      context.fillRect(j * cell - v.x + (cell > 6 ? 1 : 0), 0, Math.max(1, cell - (cell > 6 ? 2 : 0)), h);
    }
  }, [d, row, f, cell, v, theme.value, scale.value, show]);
  return <div class="margin" style={{ marginLeft: `${rooms.value.left + 2}px`, width: `${f.width}px` }}>{show && <canvas ref={canvas} aria-hidden="true" />}</div>;
}
