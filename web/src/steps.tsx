// Why this weight: every number from the two vectors to what the head returns.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { computed } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { headOf } from './numbers';
import { guessing, hoverCell, keyReading, keys, place, queries, queryReading, run, shownPlace, theme } from './state';
import { stepsOf, unturned, type Steps } from './arithmetic';
import { css, signedEntry, table } from './color';
import { clipped, digits, shown, weight } from './format';
import { copy, explainCommand } from './dialogs';
import type { Head } from './types';

const link = computed(() => {
  if (hoverCell.value) return hoverCell.value;
  return queries.value.length > 0 && keys.value.length > 0 ? { query: queries.value[0], key: keys.value[0] } : null;
});
const current = computed<{ head: Head; steps: Steps; query: number; key: number } | null>(() => {
  const at = link.value;
  if (!at || !run.value) return null;
  const head = headOf(shownPlace.value);
  if (!head || at.query >= head.info.rows || at.key >= head.info.columns) return null;
  return { head, steps: stepsOf(head, at.query, at.key), query: at.query, key: at.key };
});

// Numbers as a strip of cells: blue below zero, orange above.
function Vector({ values, name, top }: { values: number[]; name: string; top?: number }) {
  const canvas = useRef<HTMLCanvasElement>(null),
    most = top ?? Math.max(1e-9, ...values.map(Math.abs));
  useLayoutEffect(() => {
    const c = canvas.current!;
    c.width = values.length;
    c.height = 1;
    const context = c.getContext('2d')!,
      colors = table(theme.value, true);
    values.forEach((x, i) => {
      context.fillStyle = css(colors, signedEntry(x / most));
      context.fillRect(i, 0, 1, 1);
    });
  });
  return (
    <details class="vector">
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

function Step({ number, title, children }: { number: number; title: string; children: ComponentChildren }) {
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

function Tick({ well, children }: { well: boolean; children: ComponentChildren }) {
  return (
    <p class={well ? 'tick' : 'cross-mark'}>
      <span aria-hidden="true">{well ? '✓' : '✗'}</span> {children}
    </p>
  );
}

function ProductTable({ s }: { s: Steps }) {
  const sorted = [...s.products].sort((a, b) => Math.abs(b.product) - Math.abs(a.product));
  const most = 6,
    rest = sorted.slice(most).reduce((sum, p) => sum + p.product, 0);
  let running = 0;
  return (
    <table class="sums">
      <thead>
        <tr>
          <th scope="col">dim</th>
          <th scope="col">q</th>
          <th scope="col">k</th>
          <th scope="col">q × k</th>
          <th scope="col">so far</th>
        </tr>
      </thead>
      <tbody>
        {sorted.slice(0, most).map((p, i) => {
          running += p.product;
          return (
            <tr key={i}>
              <td>{p.at}</td>
              <td title={String(p.q)}>{digits(p.q)}</td>
              <td title={String(p.k)}>{digits(p.k)}</td>
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
      </tbody>
      <tfoot>
        <tr>
          <td colSpan={4}>q · k</td>
          <td data-test="dot" title={String(s.dot)}>
            {digits(s.dot)}
          </td>
        </tr>
      </tfoot>
    </table>
  );
}

function SoftmaxTable({ s, chosen }: { s: Steps; chosen: number }) {
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

function numpyText(s: Steps, head: Head): string {
  const list = (x: ArrayLike<number>) => '[' + Array.from(x).join(', ') + ']';
  const { dim, rows, columns } = head.info,
    at = link.value!;
  const kept = s.row.map((e) => e.key),
    k = kept.map((j) => list(head.k.subarray(j * dim, (j + 1) * dim)));
  const extra = s.row.map((e) => {
    let dot = 0;
    for (let d = 0; d < dim; ++d) dot += head.q[at.query * dim + d] * head.k[e.key * dim + d];
    return e.score - dot * head.info.scale;
  });
  return (
    `# layer ${head.info.layer}, head ${head.info.head}, query ${at.query} of ${rows}, keys ${kept.join(' ')} of ${columns}\nimport numpy as np\nq = np.array(${list(s.q)})\nk = np.array([${k.join(',\n              ')}])\n` +
    `score = k @ q * ${head.info.scale}${extra.some((x) => Math.abs(x) > 1e-12) ? ` + np.array(${list(extra)})  # cap, slope and bias` : ''}\nweight = np.exp(score - score.max())\nweight /= weight.sum()${s.sinkExp > 0 ? ` + np.exp(${head.info.sink} - score.max())` : ''}\nprint(weight[${kept.indexOf(at.key)}])  # ${s.weight}\n`
  );
}
const csvText = (s: Steps) =>
  'key,token,score,exp,weight\n' +
  s.row
    .map((e) => [e.key, JSON.stringify(keyReading.value.tokens[e.key].text), e.score, e.exp, e.weight].join(','))
    .join('\n') +
  '\n';

export function Why() {
  const found = current.value;
  const q = link.value ? shown(queryReading.value.tokens[link.value.query]?.text ?? '') : '',
    k = link.value ? shown(keyReading.value.tokens[link.value.key]?.text ?? '') : '';
  return (
    <section class="card why" aria-labelledby="why-title">
      <header key={`${q} ${k} ${shownPlace.value.layer} ${shownPlace.value.head}`}>
        <h2 id="why-title">Why</h2>
        {link.value && (
          <span class="link-name">
            <bdi>{clipped(q)}</bdi> → <bdi>{clipped(k)}</bdi>
          </span>
        )}
        <span class="quiet">
          head {shownPlace.value.layer}.{shownPlace.value.head}
        </span>
      </header>
      {guessing.value ? (
        <p class="hint">Hidden while you guess.</p>
      ) : !link.value ? (
        <p class="hint">Click a cell of the map: here is how its weight comes about, number by number.</p>
      ) : !found ? (
        <p class="hint">
          Loading the vectors of head {place.value.layer}.{place.value.head}…
        </p>
      ) : (
        <StepList {...found} />
      )}
    </section>
  );
}

function StepList({ head, steps: s, query, key }: { head: Head; steps: Steps; query: number; key: number }) {
  const { info } = head,
    name = (reading: typeof queryReading, i: number) => clipped(shown(reading.value.tokens[i]?.text ?? ''), 14);
  const from = name(queryReading, query),
    to = name(keyReading, key);
  let n = 0;
  const top = Math.max(...s.contributions.map((c) => c.size), 1e-9);
  return (
    <ol class="steps" data-test="steps">
      <Step number={++n} title="The query asks">
        <p>
          q of <b dir="auto">{from}</b>: {info.dim} numbers{info.head_norm ? ', normed' : ''}
        </p>
        <Vector values={s.q} name="q" />
      </Step>
      <Step number={++n} title="The key answers">
        <p>
          k of <b dir="auto">{to}</b>
          {info.group > 1 ? `, of key head ${info.kv_head}, which ${info.group} query heads share` : ''}
        </p>
        <Vector values={s.k} name="k" />
      </Step>
      {info.rope && (
        <Step number={++n} title="Positions turn both (RoPE)">
          <p data-test="rope">
            Pair 0 of q by {query + info.offset} × {digits(info.rope.angles[0])} ={' '}
            {digits((query + info.offset) * info.rope.angles[0])} rad, of k by {key} × {digits(info.rope.angles[0])} ={' '}
            {digits(key * info.rope.angles[0])} rad; the last pair by{' '}
            {digits((query + info.offset) * info.rope.angles.at(-1)!)} and {digits(key * info.rope.angles.at(-1)!)}.
            What counts is the distance, {query + info.offset - key}.
          </p>
          <p class="quiet">
            Before turning <span class="badge">derived</span>
          </p>
          <Vector values={unturned(s.q, query + info.offset, info.rope)} name="q before" />
          <Vector values={unturned(s.k, key, info.rope)} name="k before" />
        </Step>
      )}
      <Step number={++n} title="How well they match: q · k">
        <Vector values={s.products.map((p) => p.product)} name="q × k" />
        <ProductTable s={s} />
      </Step>
      <Step number={++n} title="Scale">
        <p class="formula">
          <span data-test="scale">
            {digits(s.dot)} × {digits(info.scale)} = <b title={String(s.scaled)}>{digits(s.scaled)}</b>
          </span>
        </p>
        <p class="quiet">
          {Math.abs(info.scale - 1 / Math.sqrt(info.dim)) < 1e-9
            ? `1/√${info.dim}: sums of many products would be too large for the softmax.`
            : 'The model’s own scale.'}
        </p>
        {info.softcap > 0 && (
          <p class="formula">
            {digits(info.softcap)} · tanh({digits(s.scaled)} / {digits(info.softcap)}) = <b>{digits(s.capped)}</b>
          </p>
        )}
        {info.slope !== null && (
          <p class="formula">
            {digits(s.capped)} − {digits(info.slope)} × distance {Math.abs(query + info.offset - key)} ={' '}
            <b>{digits(s.capped + s.slope)}</b>
          </p>
        )}
        {info.has_bias && (
          <p class="formula">
            {digits(s.capped + s.slope)} + bias {digits(s.bias)} = <b>{digits(s.score)}</b>
          </p>
        )}
      </Step>
      <Step number={++n} title="Mask">
        <p data-test="mask">
          {from} sees {s.seen} of {info.columns} tokens
          {s.visible ? '' : `, and ${to} is not one of them: its score is −∞ and its weight does not exist`}.
        </p>
      </Step>
      <Step number={++n} title="Softmax: scores become shares">
        <SoftmaxTable s={s} chosen={key} />
        <Tick well={s.difference <= 1e-5}>
          {s.visible ? (
            <>
              computed here in float64: {digits(s.weight, 7)}; by the model’s kernel:{' '}
              <span data-test="kernel">{digits(s.kernel, 7)}</span>
            </>
          ) : (
            'computed here in float64 and by the model’s kernel'
          )}
          , largest difference {digits(s.difference, 2)}
        </Tick>
      </Step>
      <Step number={++n} title="Weighted sum of values">
        <table class="sums">
          <thead>
            <tr>
              <th scope="col">key</th>
              <th scope="col">weight</th>
              <th scope="col">‖weight · v‖</th>
              <th scope="col">
                <span class="unseen">bar</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {s.contributions.slice(0, 5).map((c, i) => (
              <tr key={i}>
                <th scope="row" dir="auto">
                  {clipped(shown(keyReading.value.tokens[c.key].text), 12)}
                </th>
                <td>{digits(c.weight)}</td>
                <td>{digits(c.size)}</td>
                <td class="bar">
                  <span style={{ width: `${(100 * c.size) / top}%` }} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <p>z = Σ weight · v: {info.value_dim} numbers</p>
        <Vector values={s.z} name="z" />
        <Tick well={s.zDifference <= 1e-4 * Math.max(1, ...s.z.map(Math.abs))}>
          equals what the kernel returned, within {digits(s.zDifference, 2)}
        </Tick>
      </Step>
      <Step number={++n} title="Join">
        <p>
          z goes beside those of the other heads, and the output matrix W<sub>O</sub> mixes them into the stream.
        </p>
        <p class="copies">
          <button type="button" onClick={() => copy(numpyText(s, head), 'NumPy code copied')}>
            Copy as NumPy
          </button>
          <button type="button" onClick={() => copy(csvText(s), 'Row copied as CSV')}>
            Copy row as CSV
          </button>
          {s.visible && run.value!.more.length === 0 && (
            <button
              type="button"
              title={explainCommand(query, key)}
              onClick={() => copy(explainCommand(query, key), 'Command copied')}
            >
              Copy command for the terminal
            </button>
          )}
        </p>
      </Step>
    </ol>
  );
}
export { weight };
