// Words along the map: every one where they fit, else every so many. A click pins one, dragging pins several.
import { useRef } from 'preact/hooks';
import { clipped, shown } from './format';
import { hoverCell, keys, pin, present, queries, shownKeys } from './state';
import { cellSize, columnLetters, drawn, frame, mutedColumns, rooms, shift } from './view';

interface LabelProps {
  axis: 'row' | 'column';
}
export function Labels({ axis }: LabelProps) {
  const from = useRef(-1);
  const d = drawn.value,
    cell = cellSize.value,
    v = shift.value,
    f = frame.value,
    grey = mutedColumns.value;
  if (!d) return null;
  const isRow = axis === 'row',
    count = isRow ? d.rows : d.columns,
    offset = isRow ? v.y : v.x,
    length = isRow ? f.height : f.width;
  const step = Math.max(1, Math.ceil((present.value ? 26 : isRow ? 14 : 15) / cell));
  const hovered = hoverCell.value ? (isRow ? d.rowOf[hoverCell.value.query] : d.columnOf[hoverCell.value.key]) : -1;
  const pinned = new Set(
    (isRow ? queries.value : shownKeys.value).map((i) => (isRow ? d.rowOf[i] : d.columnOf[i])).filter((i) => i >= 0),
  );
  const names = isRow ? d.rowNames : d.columnNames,
    tokens = isRow ? d.rowTokens : d.columnTokens;
  // The hovered word first, then pinned ones as far as they do not cover each other, then others between them.
  const standing = hovered >= 0 ? [hovered] : [],
    isFree = (i: number) => standing.every((other) => Math.abs(i - other) >= step);
  for (const i of pinned) if (isFree(i)) standing.push(i);
  const items = [];
  for (let i = 0; i < count; ++i) {
    const at = (i + 0.5) * cell - offset;
    if (at < 0 || at > length) continue;
    if (!standing.includes(i) && (i % step !== 0 || !isFree(i))) continue;
    const toggle = (event: MouseEvent) => {
      const list = tokens[i];
      if (isRow) {
        const has = list.every((t) => queries.value.includes(t));
        const next = event.shiftKey
          ? has
            ? queries.value.filter((t) => !list.includes(t))
            : [...queries.value, ...list].sort((a, b) => a - b)
          : has && queries.value.length === list.length
            ? []
            : list;
        pin(next, keys.value);
      } else {
        const has = list.every((t) => keys.value.includes(t));
        pin(
          queries.value,
          event.shiftKey
            ? has
              ? keys.value.filter((t) => !list.includes(t))
              : [...keys.value, ...list].sort((a, b) => a - b)
            : has && keys.value.length === list.length
              ? []
              : list,
        );
      }
    };
    items.push(
      <span
        key={i}
        class={`label ${axis}${i === hovered ? ' hover' : ''}${pinned.has(i) ? ' pinned' : ''}${!isRow && grey[i] ? ' muted' : ''}`}
        dir="auto"
        title={names[i]}
        style={isRow ? { top: `${at}px` } : { left: `${at}px` }}
        onClick={toggle}
        onPointerDown={() => {
          from.current = i;
        }}
        onPointerEnter={(event) => {
          if (event.buttons !== 1 || from.current < 0) return;
          // Dragged along the words: all of them.
          const range = tokens.slice(Math.min(i, from.current), Math.max(i, from.current) + 1).flat();
          if (isRow) pin(range, keys.value);
          else pin(queries.value, range);
        }}
      >
        {clipped(shown(names[i]), isRow ? 14 : columnLetters)}
      </span>,
    );
  }
  const size = `${Math.max(10.5, Math.min(13, cell * 0.66))}px`; // slanted words must not touch
  return (
    <div
      class={`labels ${axis}s`}
      aria-hidden="true"
      style={
        isRow
          ? { height: `${f.height}px`, width: `${rooms.value.left - 6}px`, fontSize: size }
          : { left: `${rooms.value.left}px`, width: `${f.width}px`, fontSize: size }
      }
    >
      {items}
    </div>
  );
}
