// The colour scale with its numbers, and a mark at the value under the cursor.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { scale, theme } from './state';
import { css, table, transferred } from './color';
import { weight } from './format';

const ticks = {
  sqrt: [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1],
  log: [1e-4, 1e-3, 0.01, 0.1, 1],
  linear: [0, 0.25, 0.5, 0.75, 1],
};

export function Legend({ value }: { value: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const c = canvas.current!,
      context = c.getContext('2d')!,
      colors = table(theme.value);
    c.width = 256;
    c.height = 1;
    for (let i = 0; i < 256; ++i) {
      context.fillStyle = css(colors, i);
      context.fillRect(i, 0, 1, 1);
    }
  }, [theme.value]);
  return (
    <div class="legend" role="img" aria-label={`colour scale ${scale.value}, from 0 to 1`}>
      <div class="ramp">
        <canvas ref={canvas} />
        {!Number.isNaN(value) && (
          <span class="mark-value" style={{ transform: `translateX(${100 * transferred(value, scale.value)}%)` }} />
        )}
      </div>
      <div class="ticks">
        {ticks[scale.value].map((x) => (
          <span key={x} style={{ left: `${100 * transferred(x, scale.value)}%` }}>
            {x === 0 ? '0' : x >= 0.01 ? String(x) : weight(x)}
          </span>
        ))}
      </div>
      <div class="hatch-key">
        <span class="hatch-box" aria-hidden="true" /> not visible
      </div>
    </div>
  );
}
