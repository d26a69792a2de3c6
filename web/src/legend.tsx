// The colour scale with its numbers, and a mark at the value under the cursor.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { mode, scale } from './state';
import { css, transferred } from './color';
import { digits, weight } from './format';
import { colorsOf, paint } from './modes';

const ticks = {
  sqrt: [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1],
  log: [1e-4, 1e-3, 0.01, 0.1, 1],
  linear: [0, 0.25, 0.5, 0.75, 1],
};

export function Legend({ value }: { value: number }) {
  const canvas = useRef<HTMLCanvasElement>(null),
    p = paint.value;
  // Where a number stands on the ramp, 0 to 1.
  const at = (x: number) => (p.signed ? 0.5 + x / p.limit / 2 : transferred(x / p.limit, scale.value));
  const marks = p.signed ? [-1, -0.5, 0, 0.5, 1] : ticks[scale.value];
  useLayoutEffect(() => {
    const c = canvas.current!,
      context = c.getContext('2d')!,
      colors = colorsOf(p);
    c.width = 256;
    c.height = 1;
    for (let i = 0; i < 256; ++i) {
      context.fillStyle = css(colors, i);
      context.fillRect(i, 0, 1, 1);
    }
  }, [p.theme, p.signed]);
  return (
    <div class="legend" role="img" aria-label={`colour scale ${p.signed ? '' : scale.value}, from ${p.signed ? digits(-p.limit, 3) : 0} to ${digits(p.limit, 3)}`}>
      <div class="ramp">
        <canvas ref={canvas} />
        {!Number.isNaN(value) && (
          <span class="mark-value" style={{ transform: `translateX(${100 * at(value)}%)` }} />
        )}
      </div>
      <div class="ticks">
        {marks.map((x) => (
          <span key={x} style={{ left: `${100 * at(x * p.limit)}%` }}>
            {x === 0 ? '0' : mode.value !== 'weights' ? digits(x * p.limit, 2) : x >= 0.01 ? String(x) : weight(x)}
          </span>
        ))}
      </div>
      <div class="hatch-key">
        <span class="hatch-box" aria-hidden="true" /> not visible
      </div>
    </div>
  );
}
