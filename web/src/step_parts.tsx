// Parts of the steps: strips of numbers, sums of products, the softmax's table.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Steps, Term } from './arithmetic';
import { css, signedEntry, table } from './color';
import { clipped, digits, shown } from './format';
import { depth, keyReading, theme } from './state';

// Numbers as a strip of cells: blue below zero, orange above.
export function Vector({ values, name, top }: { values: number[]; name: string; top?: number }) {
  const canvas = useRef<HTMLCanvasElement>(null),
    most = top ?? Math.max(1e-9, ...values.map(Math.abs));
  useLayoutEffect(() => {
    const c = canvas.current!;
    c.width = values.length;
    c.height = 1;
    const context = c.getContext('2d')!,
      colors = table(theme.value, 'signed');
    values.forEach((x, i) => {
      context.fillStyle = css(colors, signedEntry(x / most));
      context.fillRect(i, 0, 1, 1);
    });
  });
  return (
    <details class="vector" open={depth.value === 'researcher'}>
      <summary>
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${name}: ${values.length} numbers from ${digits(Math.min(...values))} to ${digits(Math.max(...values))}`}
        />
      </summary>
      <p class="numbers">
        {values.map((x, i) => (
          <span key={i} title={`${name}[${i}] = ${x}`}>
            {digits(x)}
          </span>
        ))}
      </p>
    </details>
  );
}

export function Step({ number, title, children }: { number: number; title: string; children: ComponentChildren }) {
  return (
    <li id={`step-${number}`} class="step" tabIndex={-1}>
      <h3>
        <span class="step-number">{number}</span>
        {title}
      </h3>
      {children}
    </li>
  );
}

export function Tick({ well, children }: { well: boolean; children: ComponentChildren }) {
  return (
    <p class={well ? 'tick' : 'cross-mark'}>
      <span aria-hidden="true">{well ? '✓' : '✗'}</span> {children}
    </p>
  );
}

// A sum of products, the largest ones first, with their running sum.
interface SumProps {
  terms: Term[];
  names: [string, string];
  total: string;
  test?: string;
  extra?: { name: string; value: number } | null; // the term added at the end: a bias
}
export function SumTable({ terms, names, total, test, extra }: SumProps) {
  const sorted = [...terms].sort((x, y) => Math.abs(y.product) - Math.abs(x.product));
  const most = 6,
    rest = sorted.slice(most).reduce((sum, p) => sum + p.product, 0),
    all = terms.reduce((sum, p) => sum + p.product, 0) + (extra?.value ?? 0);
  let running = 0;
  return (
    <table class="sums">
      <thead>
        <tr>
          <th scope="col">dim</th>
          <th scope="col">{names[0]}</th>
          <th scope="col">{names[1]}</th>
          <th scope="col">
            {names[0]} × {names[1]}
          </th>
          <th scope="col">so far</th>
        </tr>
      </thead>
      <tbody>
        {sorted.slice(0, most).map((p, i) => {
          running += p.product;
          return (
            <tr key={i}>
              <td>{p.at}</td>
              <td title={String(p.a)}>{digits(p.a)}</td>
              <td title={String(p.b)}>{digits(p.b)}</td>
              <td title={String(p.product)}>{digits(p.product)}</td>
              <td>{digits(running)}</td>
            </tr>
          );
        })}
        {sorted.length > most && (
          <tr class="quiet">
            <td colSpan={3}>the other {sorted.length - most}, smaller ones</td>
            <td>{digits(rest)}</td>
            <td>{digits(running + rest)}</td>
          </tr>
        )}
        {extra && (
          <tr class="quiet">
            <td colSpan={3}>{extra.name}</td>
            <td>{digits(extra.value)}</td>
            <td>{digits(all)}</td>
          </tr>
        )}
      </tbody>
      <tfoot>
        <tr>
          <td colSpan={4}>{total}</td>
          <td data-test={test} title={String(all)}>
            {digits(all)}
          </td>
        </tr>
      </tfoot>
    </table>
  );
}

export function SoftmaxTable({ s, chosen }: { s: Steps; chosen: number }) {
  const sorted = [...s.row].sort((a, b) => b.weight - a.weight);
  let list = sorted.slice(0, 8);
  const mine = sorted.find((e) => e.key === chosen);
  if (mine && !list.includes(mine)) list = [...list.slice(0, 7), mine];
  const rest = sorted.filter((e) => !list.includes(e));
  return (
    <table class="sums">
      <thead>
        <tr>
          <th scope="col">key</th>
          <th scope="col">score</th>
          <th scope="col">− max</th>
          <th scope="col">exp</th>
          <th scope="col">weight</th>
        </tr>
      </thead>
      <tbody>
        {list.map((e, i) => (
          <tr key={i} class={e.key === chosen ? 'chosen' : ''}>
            <th scope="row" dir="auto">
              {clipped(shown(keyReading.value.tokens[e.key].text), 12)}
            </th>
            <td title={String(e.score)}>{digits(e.score)}</td>
            <td>{digits(e.shifted)}</td>
            <td>{digits(e.exp)}</td>
            <td title={`float64 ${e.weight}\nkernel, float32 ${e.kernel}`}>{digits(e.weight)}</td>
          </tr>
        ))}
        {rest.length > 0 && (
          <tr class="quiet">
            <td colSpan={3}>the other {rest.length}</td>
            <td>{digits(rest.reduce((x, e) => x + e.exp, 0))}</td>
            <td>{digits(rest.reduce((x, e) => x + e.weight, 0))}</td>
          </tr>
        )}
        {s.sinkExp > 0 && (
          <tr class="quiet">
            <td colSpan={3}>the sink, which has no value</td>
            <td>{digits(s.sinkExp)}</td>
            <td>{digits(s.sinkExp / s.sum)}</td>
          </tr>
        )}
      </tbody>
      <tfoot>
        <tr>
          <td colSpan={3}>sum</td>
          <td>{digits(s.sum)}</td>
          <td data-test="row-sum">{((s.sum - s.sinkExp) / s.sum).toFixed(4)}</td>
        </tr>
      </tfoot>
    </table>
  );
}
