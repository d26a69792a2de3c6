// The colour scale with its numbers, a mark at the value under the cursor, and the colour controls.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { css, transferred } from './color';
import { colorsOf, paint } from './color_scale';
import { digits, weight } from './format';
import { autoRange, lines, mode, muted, palette, scale } from './state';
import { Choice, Segment, TableButton } from './tools';
import type { Palette, Scale } from './types';

export const scales: Scale[] = ['sqrt', 'log', 'linear'];
export const scaleNames = { sqrt: '√', log: 'log', linear: 'linear' };
export const palettes: Palette[] = ['cividis', 'viridis', 'magma', 'grey'];

const ticks = {
  sqrt: [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1],
  log: [1e-4, 1e-3, 0.01, 0.1, 1],
  linear: [0, 0.25, 0.5, 0.75, 1],
};

export function Legend({ value }: { value: number }) {
  const canvas = useRef<HTMLCanvasElement>(null),
    p = paint.value,
    fixed = mode.value === 'weights' && !autoRange.value;
  // The position of a number on the ramp, 0 to 1.
  const at = (x: number) => (p.signed ? 0.5 + x / p.limit / 2 : transferred(x / p.limit, scale.value));
  const marks = p.signed ? [-1, -0.5, 0, 0.5, 1] : ticks[scale.value];
  const name = (x: number) => {
    if (x === 0) return '0';
    if (x === 1 && !fixed) return `max ${digits(p.limit, 3)}`;
    return fixed ? (x >= 0.01 ? String(x) : weight(x)) : digits(x * p.limit, 2);
  };
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
  }, [p.theme, p.signed, p.palette]);
  return (
    <>
      <div
        class="legend"
        role="img"
        data-test="legend"
        aria-label={`colour scale ${p.signed ? 'blue to orange' : `${p.palette}, ${scale.value}`}, from ${p.signed ? digits(-p.limit, 3) : 0} to ${digits(p.limit, 3)}${fixed ? '' : ', the largest shown'}`}
      >
        <div class="ramp">
          <canvas ref={canvas} data-test="ramp" />
          {!Number.isNaN(value) && <span class="mark-value" style={{ transform: `translateX(${100 * at(value)}%)` }} />}
        </div>
        <div class={`ticks${fixed ? '' : ' auto'}`}>
          {marks.map((x) => (
            <span key={x} style={{ left: `${100 * at(x * p.limit)}%` }}>
              {name(x)}
            </span>
          ))}
        </div>
        <div class="hatch-key">
          <span class="hatch-box" aria-hidden="true" /> not visible
        </div>
        {muted.value !== 'none' && (
          <div class="hatch-key">
            <span class="faint-box" aria-hidden="true" style={{ background: css(colorsOf(p), 120) }} /> muted
          </div>
        )}
      </div>
      <Colours />
    </>
  );
}

// Palette, scale and range.
function Colours() {
  return (
    <div class="colours for-engineer" role="group" aria-label="Colours">
      <Choice
        label="colours"
        test="palette"
        title="Grey is for print. Scores are always blue and orange"
        value={palette.value}
        choices={palettes.map((p) => [p, p])}
        choose={(p) => (palette.value = p)}
      />
      {(mode.value !== 'scores' || lines.value) && (
        <div class="segments scales" role="group" aria-label="Colour scale">
          {scales.map((s) => (
            <Segment key={s} pressed={scale.value === s} choose={() => (scale.value = s)} test={`scale-${s}`}>
              {scaleNames[s]}
            </Segment>
          ))}
        </div>
      )}
      {mode.value === 'weights' && (
        <div class="segments" role="group" aria-label="Colour range">
          <Segment
            pressed={!autoRange.value}
            choose={() => (autoRange.value = false)}
            title="From 0 to 1, so that heads can be compared"
            test="range-fixed"
          >
            0–1
          </Segment>
          <Segment
            pressed={autoRange.value}
            choose={() => (autoRange.value = true)}
            title="Up to the largest weight of this map that is not muted. The atlas keeps 0 to 1"
            test="range-auto"
          >
            0–max
          </Segment>
        </div>
      )}
      <TableButton />
    </div>
  );
}
