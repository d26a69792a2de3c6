// Links as lines from queries to keys: for each query the strongest, until they hold most of its weight.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { computed, signal, useSignal } from '@preact/signals';
import {
  activeQueries,
  block,
  derived,
  guessing,
  hoverCell,
  hoverQuery,
  keyReading,
  beside,
  pin,
  queries,
  queryReading,
  shownKeys,
  theme,
  words,
} from './state';
import { drawn, mutedColumns } from './view';
import { escaped } from './figure';
import { clipped, shown, small } from './format';
import { mapOf } from './numbers';
import { rove } from './rove';
import { headColours, headDashes } from './several';
import { cropped, joined, type Joined } from './words';

const rowHeight = 23,
  mostTokens = 160,
  mostLines = 2000;
export const mass = signal(0.9);

export interface Link {
  row: number;
  column: number;
  weight: number;
}
// All links shown when nothing is pinned; at most 2,000.
export const links = computed<Link[]>(() => (drawn.value ? linksOf(drawn.value) : []));
// Of the heads shown in addition to the chosen one.
const others = computed<Link[][]>(() =>
  derived.value !== 'none'
    ? []
    : beside.value.map((at) => {
        const map = mapOf(at);
        return map ? linksOf(cropped(joined(map, queryReading.value, keyReading.value, words.value), block.value)) : [];
      }),
);
function linksOf(d: Joined): Link[] {
  const out: Link[] = [];
  for (let i = 0; i < d.rows; ++i) {
    const row: Link[] = [];
    for (let j = 0; j < d.columns; ++j) {
      if (mutedColumns.value[j]) continue;
      const w = d.values[i * d.columns + j];
      if (w > 0) row.push({ row: i, column: j, weight: w });
    }
    row.sort((a, b) => b.weight - a.weight);
    const all = row.reduce((sum, link) => sum + link.weight, 0);
    let sum = 0;
    for (const link of row) {
      if (sum >= mass.value * all) break;
      sum += link.weight;
      out.push(link);
    }
  }
  const most = Math.floor(mostLines / (1 + beside.value.length));
  return out.length <= most ? out : out.sort((a, b) => b.weight - a.weight).slice(0, most);
}

// The lines as displayed, with real text.
export function linesSvg(): string {
  const d = drawn.value!,
    light = theme.value === 'light',
    ink = light ? '#1c1f26' : '#ebedf1',
    rows = new Set(activeQueries.value.map((i) => d.rowOf[i])),
    height = Math.max(d.rows, d.columns) * rowHeight + 20,
    at = (i: number) => (i + 0.5) * rowHeight + 10;
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="560" height="${height}" viewBox="0 0 560 ${height}" font-family="sans-serif" font-size="13" fill="none"><rect width="100%" height="100%" fill="${light ? '#fff' : '#101217'}"/>`,
  ];
  [links.value, ...others.value].forEach((list, head) => {
    for (const l of list)
      if (rows.size === 0 || rows.has(l.row))
        out.push(
          `<path d="M170 ${at(l.row)}C280 ${at(l.row)} 280 ${at(l.column)} 390 ${at(l.column)}" stroke="${headColours[head] || '#b45309'}" stroke-width="${(0.8 + 5 * l.weight).toFixed(2)}" stroke-opacity="${Math.sqrt(l.weight).toFixed(3)}" stroke-dasharray="${headDashes[head].join(' ')}"/>`,
        );
  });
  const words = (names: string[], x: number, anchor: string) =>
    names.forEach((name, i) =>
      out.push(
        `<text x="${x}" y="${at(i) + 4}" fill="${ink}" text-anchor="${anchor}">${escaped(clipped(shown(name), 18))}</text>`,
      ),
    );
  words(d.rowNames, 164, 'end');
  words(d.columnNames, 396, 'start');
  return out.join('\n') + '</svg>';
}

export function Lines() {
  const canvas = useRef<HTMLCanvasElement>(null),
    box = useRef<HTMLDivElement>(null),
    width = useSignal(240);
  const d = drawn.value,
    active = activeQueries.value;
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      if (canvas.current) width.value = canvas.current.parentElement!.clientWidth;
    });
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, [Boolean(d)]);
  useLayoutEffect(() => {
    const c = canvas.current;
    if (!c || !d) return;
    const ratio = window.devicePixelRatio || 1,
      height = Math.max(d.rows, d.columns) * rowHeight;
    c.width = width.value * ratio;
    c.height = height * ratio;
    c.style.width = `${width.value}px`;
    c.style.height = `${height}px`;
    const context = c.getContext('2d')!,
      style = getComputedStyle(c);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width.value, height);
    if (guessing.value) return;
    const rows = new Set(active.map((i) => d.rowOf[i]).filter((i) => i >= 0)),
      lone = rows.size > 0;
    [links.value, ...others.value].forEach((list, head) => {
      context.strokeStyle =
        headColours[head] || style.getPropertyValue(lone || beside.value.length ? '--accent' : '--bar');
      context.setLineDash(headDashes[head]);
      for (const link of [...list].reverse()) {
        if (lone && !rows.has(link.row)) continue;
        const y0 = (link.row + 0.5) * rowHeight + 2 * head, // lines of heads that agree are drawn side by side
          y1 = (link.column + 0.5) * rowHeight + 2 * head,
          w = width.value;
        context.globalAlpha = Math.max(0.06, Math.min(1, Math.sqrt(link.weight)));
        context.lineWidth = 0.8 + 5 * link.weight;
        context.beginPath();
        context.moveTo(2, y0);
        context.bezierCurveTo(w / 2, y0, w / 2, y1, w - 2, y1);
        context.stroke();
      }
    });
    context.globalAlpha = 1;
  }, [d, links.value, others.value, active, width.value, theme.value, guessing.value]);
  if (!d) return <p class="empty">Loading this head’s weights…</p>;
  if (d.rows > mostTokens || d.columns > mostTokens)
    return <p class="empty">Lines are readable for up to {mostTokens} tokens. The map shows all of them.</p>;
  const row =
    active.length > 0 && !guessing.value
      ? new Map(links.value.filter((l) => active.some((i) => d.rowOf[i] === l.row)).map((l) => [l.column, l.weight]))
      : null;
  return (
    <>
      <label class="mass">
        lines that hold{' '}
        <input
          type="range"
          min="0.3"
          max="0.99"
          step="0.01"
          value={mass.value}
          onInput={(event) => {
            mass.value = Number(event.currentTarget.value);
          }}
        />{' '}
        {Math.round(100 * mass.value)} % of each word’s weight
      </label>
      <div
        class="lines"
        ref={box}
        data-test="lines"
        data-links={links.value.length}
        data-heads={1 + others.value.length}
      >
        <ol class="from" aria-label="queries (from)" onKeyDown={(event) => rove(event)}>
          {d.rowNames.map((name, i) => (
            <li key={i}>
              <button
                type="button"
                dir="auto"
                tabIndex={i === Math.max(0, d.rowOf[queries.value[0]] ?? 0) ? 0 : -1}
                class={active.some((q) => d.rowOf[q] === i) ? 'query' : ''}
                aria-pressed={queries.value.some((q) => d.rowOf[q] === i)}
                onClick={() =>
                  pin(
                    queries.value.length === d.rowTokens[i].length && queries.value[0] === d.rowTokens[i][0]
                      ? []
                      : d.rowTokens[i],
                    [],
                  )
                }
                onPointerEnter={(event) => {
                  if (event.pointerType !== 'touch') hoverQuery.value = d.rowTokens[i][0];
                }}
                onPointerLeave={(event) => {
                  if (event.pointerType !== 'touch') hoverQuery.value = null;
                }}
              >
                {clipped(shown(name), 16)}
              </button>
            </li>
          ))}
        </ol>
        <div class="between">
          <canvas ref={canvas} aria-hidden="true" />
        </div>
        <ol class="to" aria-label="keys (to)" onKeyDown={(event) => rove(event)}>
          {d.columnNames.map((name, j) => (
            <li key={j}>
              <button
                type="button"
                dir="auto"
                tabIndex={j === Math.max(0, d.columnOf[shownKeys.value[0]] ?? 0) ? 0 : -1}
                class={
                  shownKeys.value.some((k) => d.columnOf[k] === j) ||
                  (hoverCell.value && d.columnOf[hoverCell.value.key] === j)
                    ? 'key'
                    : ''
                }
                aria-pressed={shownKeys.value.some((k) => d.columnOf[k] === j)}
                onClick={() => pin(queries.value, d.columnTokens[j])}
              >
                {clipped(shown(name), 16)} <small dir="ltr">{row?.has(j) ? small(row.get(j)!) : ''}</small>
              </button>
            </li>
          ))}
        </ol>
      </div>
    </>
  );
}
