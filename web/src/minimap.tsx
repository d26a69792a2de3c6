// For a long text: the whole map of the head, small, with a frame around the visible part.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { atlasPicture } from './atlas_data';
import { plural } from './format';
import { isWhole, moveSight, sight, stepSight } from './long';
import { atlas } from './numbers';
import { palette, partInfo, scale, shownPlace, theme } from './state';
import { inCell } from './tiles';
import { fit } from './view';

const side = 128; // pixels
export function Minimap() {
  const canvas = useRef<HTMLCanvasElement>(null),
    a = atlas.value,
    p = partInfo.value,
    w = sight.value,
    at = shownPlace.value,
    size = inCell(w.level);
  useLayoutEffect(() => {
    const c = canvas.current?.getContext('2d');
    if (!c || !a || !p) return;
    canvas.current!.width = canvas.current!.height = side;
    c.imageSmoothingEnabled = false;
    // One head of the atlas.
    const cells = a.rows * a.columns,
      first = (at.layer * p.heads + at.head) * cells,
      one = { ...a, values: a.values.subarray(first, first + cells) };
    const picture = atlasPicture(one, { ...p, layers: 1, heads: 1 }, scale.value, theme.value, palette.value);
    c.drawImage(picture, 0, 0, side, side);
    c.strokeStyle = getComputedStyle(canvas.current!).getPropertyValue('--ring');
    c.lineWidth = 2;
    const x = side / p.columns,
      y = side / p.rows;
    c.strokeRect(
      w.column * size * x + 1,
      w.row * size * y + 1,
      Math.max(3, w.columns * size * x - 2),
      Math.max(3, w.rows * size * y - 2),
    );
  }, [a, p, w, at, scale.value, theme.value, palette.value]);
  if (!p) return null;
  const go = (event: PointerEvent) => {
    if (event.buttons !== 1) return;
    const box = canvas.current!.getBoundingClientRect(),
      place = (share: number, tokens: number, count: number) => (share * tokens) / size - count / 2;
    moveSight(
      place((event.clientY - box.top) / box.height, p.rows, w.rows),
      place((event.clientX - box.left) / box.width, p.columns, w.columns),
    );
  };
  const name = (first: number, count: number, most: number) =>
    `${first * size}–${Math.min(most, (first + count) * size) - 1}`;
  return (
    <div class="minimap" data-test="minimap" data-level={w.level}>
      <canvas
        ref={canvas}
        aria-hidden="true"
        onPointerDown={(event) => {
          canvas.current!.setPointerCapture(event.pointerId);
          if (isWhole.value) stepSight(2);
          go(event);
        }}
        onPointerMove={go}
      />
      <div>
        <p class="quiet" role="status">
          Queries {name(w.row, w.rows, p.rows)}, keys {name(w.column, w.columns, p.columns)} of{' '}
          {plural(p.columns, 'token')}.{' '}
          {size > 1 ? `Each cell is the largest of ${size} × ${size} weights.` : 'Every weight has a cell.'}
        </p>
        <div class="buttons">
          <button type="button" aria-label="Zoom in" data-test="closer" onClick={() => stepSight(1)}>
            +
          </button>
          <button type="button" aria-label="Zoom out" disabled={isWhole.value} onClick={() => stepSight(-1)}>
            −
          </button>
          <button type="button" disabled={isWhole.value} onClick={fit}>
            All
          </button>
        </div>
        <p class="hint">Drag the frame, or press / and type a word to go to it.</p>
      </div>
    </div>
  );
}
