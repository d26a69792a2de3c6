// The map's cells: weights below, pins and cross-hair above, and what the mouse does.
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { paint } from './color_scale';
import { isLong, isWhole } from './long';
import { openMenu } from './menu';
import { picture, hatched, sized } from './paint';
import { PointerValue } from './pointer_value';
import { guessing, hoverCell, hoverQuery, keys, pin, queries, shownKeys, theme, type Cell } from './state';
import { byTouch, LongPress } from './touch';
import { drawn, mutedColumns, view, fitted, cellSize, frame, moveTo, origin, shift, zoom } from './view';
import { type Joined } from './words';

export function Cells() {
  const base = useRef<HTMLCanvasElement>(null),
    over = useRef<HTMLCanvasElement>(null);
  const cached = useRef<{ key: unknown[]; picture: HTMLCanvasElement } | null>(null);
  const d = drawn.value,
    f = frame.value,
    v = shift.value,
    cell = cellSize.value,
    t = theme.value,
    p = paint.value,
    grey = mutedColumns.value;
  const hide = guessing.value;

  useLayoutEffect(() => {
    if (!d || !base.current) return;
    const context = sized(base.current, f.width, f.height);
    const key = [d, p, grey, cell < 1 ? f.width : 0];
    if (!cached.current || cached.current.key.some((x, i) => x !== key[i]))
      cached.current = {
        key,
        picture: picture(d, cell < 1 ? f.width : Infinity, cell < 1 ? f.height : Infinity, p, grey),
      };
    const from = cached.current.picture,
      ratio = cell < 1 ? 1 : cell;
    context.clearRect(0, 0, f.width, f.height);
    context.fillStyle = hatched(context, t);
    context.fillRect(0, 0, f.width, f.height);
    if (hide) return;
    context.drawImage(from, v.x / ratio, v.y / ratio, f.width / ratio, f.height / ratio, 0, 0, f.width, f.height);
    const style = getComputedStyle(base.current);
    context.fillStyle = style.getPropertyValue('--card');
    if (cell >= 9) {
      for (let i = Math.ceil(v.x / cell); i * cell - v.x < f.width; ++i)
        context.fillRect(i * cell - v.x - 0.5, 0, 1, f.height);
      for (let i = Math.ceil(v.y / cell); i * cell - v.y < f.height; ++i)
        context.fillRect(0, i * cell - v.y - 0.5, f.width, 1);
    }
    // The first token of the second text.
    context.fillStyle = style.getPropertyValue('--ink');
    if (d.columnBorder > 0) context.fillRect(Math.round(d.columnBorder * cell - v.x) - 1, 0, 2, f.height);
    if (d.rowBorder > 0) context.fillRect(0, Math.round(d.rowBorder * cell - v.y) - 1, f.width, 2);
  }, [d, f, v, cell, t, p, grey, hide]);

  const at = hoverCell.value,
    pinnedQ = queries.value,
    pinnedK = shownKeys.value;
  useLayoutEffect(() => {
    if (!d || !over.current) return;
    const context = sized(over.current, f.width, f.height);
    context.clearRect(0, 0, f.width, f.height);
    const style = getComputedStyle(over.current),
      accent = style.getPropertyValue('--accent'),
      ring = style.getPropertyValue('--ring');
    // Neighbours share a frame, drawn outside their cells, so that pinned cells stay as legible as the rest.
    const rows = stretches(pinnedQ.map((i) => d.rowOf[i])),
      columns = stretches(pinnedK.map((j) => d.columnOf[j]));
    context.strokeStyle = accent;
    context.lineWidth = 2;
    for (const [top, bottom] of rows)
      context.strokeRect(-4, top * cell - v.y - 1, f.width + 8, (bottom - top) * cell + 2);
    for (const [top, bottom] of rows)
      for (const [left, right] of columns) {
        const box = [left * cell - v.x, top * cell - v.y, (right - left) * cell, (bottom - top) * cell] as const;
        context.strokeStyle = ring;
        context.lineWidth = 2.5;
        context.strokeRect(box[0] - 1, box[1] - 1, box[2] + 2, box[3] + 2);
        if (cell < 9) continue;
        context.strokeStyle = style.getPropertyValue('--card');
        context.lineWidth = 1.5;
        context.strokeRect(box[0] + 1, box[1] + 1, box[2] - 2, box[3] - 2);
      }
    if (!at) return;
    const i = d.rowOf[at.query],
      j = d.columnOf[at.key];
    if (i < 0 || j < 0) return;
    // Lines next to the row and the column, so that no cell's colour changes.
    context.fillStyle = style.getPropertyValue('--ring');
    for (const y of [i * cell - v.y - 1, (i + 1) * cell - v.y]) context.fillRect(0, y, f.width, 1);
    for (const x of [j * cell - v.x - 1, (j + 1) * cell - v.x]) context.fillRect(x, 0, 1, f.height);
    context.strokeStyle = ring;
    context.lineWidth = 2;
    context.strokeRect(j * cell - v.x - 1, i * cell - v.y - 1, cell + 2, cell + 2);
  }, [d, f, v, cell, at, pinnedQ, pinnedK, t]);

  const drag = useRef<{ x: number; y: number; moved: boolean; view: typeof v } | null>(null),
    fingers = useRef(new Map<number, PointerEvent>()),
    spread = useRef(0);
  const where = useRef<(x: number, y: number) => Cell | null>(() => null),
    pointer = useRef<{ x: number; y: number } | null>(null), // of the mouse, if it is over the map
    under = useRef(() => {});
  // The map has moved under a resting mouse.
  useLayoutEffect(() => under.current(), [v, cell]);
  const press = useMemo(
    () =>
      new LongPress((x, y) => {
        const cell = where.current(x, y);
        if (cell) openMenu({ x, y, cell });
      }),
    [],
  );
  if (!d) return null;
  where.current = (x, y) => {
    const box = over.current!.getBoundingClientRect();
    // The frame is rounded to pixels, and a cell of a long text is smaller than a pixel: the edge belongs to the last cell.
    const j = Math.min(d.columns - 1, Math.floor((x - box.left + v.x) / cell)),
      i = Math.min(d.rows - 1, Math.floor((y - box.top + v.y) / cell));
    return i >= 0 && j >= 0 && i < d.rows && j < d.columns
      ? { query: d.rowTokens[i][0], key: d.columnTokens[j][0] }
      : null;
  };
  const cellAt = (event: MouseEvent) => where.current(event.clientX, event.clientY);
  under.current = () => {
    const p = pointer.current,
      next = p && where.current(p.x, p.y);
    if (p && !same(next, hoverCell.value)) hoverCell.value = next;
  };
  const same = (a: Cell | null, b: Cell | null) => a?.query === b?.query && a?.key === b?.key;
  const pinch = (): boolean => {
    const [a, b] = [...fingers.current.values()];
    if (!a || !b) return false;
    const distance = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY),
      box = over.current!.getBoundingClientRect();
    if (spread.current > 0)
      zoom(distance / spread.current, (a.clientX + b.clientX) / 2 - box.left, (a.clientY + b.clientY) / 2 - box.top);
    spread.current = distance;
    if (drag.current) drag.current.moved = true;
    press.cancel();
    return true;
  };
  const move = (event: PointerEvent) => {
    press.move(event);
    if (fingers.current.has(event.pointerId)) fingers.current.set(event.pointerId, event);
    if (pinch()) return;
    const from = drag.current;
    if (from && event.buttons === 1 && (from.moved || Math.hypot(event.clientX - from.x, event.clientY - from.y) > 4)) {
      from.moved = true;
      pointer.current = { x: event.clientX, y: event.clientY };
      moveTo(from.view.x + from.x - event.clientX, from.view.y + from.y - event.clientY, view.value.cell);
      return;
    }
    if (event.pointerType === 'touch') return;
    pointer.current = { x: event.clientX, y: event.clientY };
    const next = cellAt(event);
    if (!same(next, hoverCell.value)) hoverCell.value = next;
  };
  const down = (event: PointerEvent) => {
    press.down(event);
    if (event.pointerType === 'touch') {
      fingers.current.set(event.pointerId, event);
      spread.current = 0;
    }
    if (event.isPrimary) drag.current = { x: event.clientX, y: event.clientY, moved: false, view: origin() };
  };
  const up = (event: PointerEvent) => {
    press.cancel();
    fingers.current.delete(event.pointerId);
  };
  const click = (event: MouseEvent) => {
    if (drag.current?.moved || press.fired) return;
    const next = cellAt(event);
    if (!next) return;
    if (byTouch() && !same(next, hoverCell.value)) {
      hoverQuery.value = null;
      hoverCell.value = next;
      return;
    }
    if (byTouch()) hoverCell.value = null;
    pinCell(d, next, event.shiftKey);
  };
  return (
    <div class="cells" style={{ width: `${f.width}px`, height: `${f.height}px` }}>
      <canvas ref={base} data-test="map" aria-hidden="true" />
      <canvas
        ref={over}
        class="over"
        aria-hidden="true"
        onPointerMove={move}
        onClick={click}
        onPointerLeave={(event) => {
          up(event);
          pointer.current = null;
          if (event.pointerType !== 'touch') hoverCell.value = null;
        }}
        onPointerDown={down}
        onPointerUp={up}
        onPointerCancel={up}
        onContextMenu={(event) => press.menu(event)}
        style={{ touchAction: view.value.cell > 0 || (isLong.value && !isWhole.value) ? 'none' : 'pan-x pan-y' }}
        onWheel={(event) => {
          if (event.ctrlKey || event.metaKey) {
            event.preventDefault();
            const box = over.current!.getBoundingClientRect();
            zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
          } else if (view.value.cell > fitted.value * 1.001 || (isLong.value && !isWhole.value)) {
            event.preventDefault();
            const from = origin();
            moveTo(
              from.x + (event.shiftKey ? event.deltaY : event.deltaX),
              from.y + (event.shiftKey ? 0 : event.deltaY),
              view.value.cell,
            );
          }
        }}
      />
      <PointerValue />
    </div>
  );
}

// Groups adjacent cells to ranges: [first, end).
export function stretches(list: number[]): [number, number][] {
  const out: [number, number][] = [];
  for (const i of [...new Set(list)].filter((x) => x >= 0).sort((a, b) => a - b)) {
    const last = out.at(-1);
    if (last && last[1] === i) last[1] = i + 1;
    else out.push([i, i + 1]);
  }
  return out;
}

export function pinCell(d: Joined, at: Cell, more: boolean): void {
  const q = d.rowTokens[d.rowOf[at.query]],
    k = d.columnTokens[d.columnOf[at.key]];
  const same = (a: number[], b: number[]) => a.length === b.length && a.every((x, i) => x === b[i]);
  if (more)
    pin(
      [...new Set([...queries.value, ...q])].sort((a, b) => a - b),
      [...new Set([...keys.value, ...k])].sort((a, b) => a - b),
    );
  else if (same(queries.value, q) && same(keys.value, k)) pin(q, []);
  else pin(q, k);
}
