// The number under the pointer, beside its cell.
import { link } from './finding';
import { digits, weight } from './format';
import { modeMap } from './modes';
import { guessing, hoverCell, lines, mode, partInfo } from './state';
import { isLong, pooled } from './long';
import { cellSize, drawn, frame, shift } from './view';

export function PointerValue() {
  const at = hoverCell.value,
    d = drawn.value,
    p = partInfo.value,
    l = link.value;
  if (!at || !d || !p || (!l && !isLong.value) || guessing.value || lines.value) return null;
  const i = d.rowOf[at.query],
    j = d.columnOf[at.key];
  if (i < 0 || j < 0) return null;
  const cell = cellSize.value,
    f = frame.value,
    x = (j + 1) * cell - shift.value.x,
    y = (i + 1) * cell - shift.value.y,
    other = mode.value === 'weights' ? NaN : (modeMap.value?.[at.query * p.columns + at.key] ?? NaN);
  // For a long text the picture has the number: exact, or the largest of those pooled into the cell.
  const own = d.values[i * d.columns + j],
    size = pooled.value;
  const text = isLong.value
    ? Number.isNaN(own)
      ? 'not visible'
      : (size > 1 ? `largest of ${size} × ${size}: ` : '') + digits(own, 3)
    : l!.chance === 0
      ? 'not visible'
      : Number.isNaN(other)
        ? weight(l!.weight)
        : digits(other);
  // On the side with space.
  const style = {
    ...(x > f.width - 96 ? { right: `${f.width - (x - cell) + 6}px` } : { left: `${x + 6}px` }),
    ...(y > f.height - 30 ? { bottom: `${f.height - (y - cell) + 6}px` } : { top: `${y + 6}px` }),
  };
  return (
    <span class="pointer-value" dir="ltr" aria-hidden="true" data-test="pointer-value" key={`${i} ${j}`} style={style}>
      {text}
    </span>
  );
}
