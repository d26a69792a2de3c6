// Why this weight: every number from the two vectors to the output of the head.
import { computed } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { stepsOf, unturned, type Steps } from './arithmetic';
import { explainCommand } from './commands';
import { copy } from './dialogs';
import { chosenPair, pairOf, pairsOf, restingLink } from './finding';
import { clipped, digits, shown, weight } from './format';
import { showStep } from './keyboard';
import { headOf, isDerived, matricesOf } from './numbers';
import { busy, guessing, hoverPlace, keyReading, place, queryReading, restingCell, run, shownPlace } from './state';
import { rove } from './rove';
import { wantedStep } from './tabs';
import { cppText, csvText, numpyText } from './snippets';
import { SoftmaxTable, Step, SumTable, Tick, Vector } from './step_parts';
import { FromX, Output } from './step_matrices';
import type { Head } from './types';

const link = computed(() => pairOf(restingLink.value));
const current = computed<{ head: Head; steps: Steps; query: number; key: number } | null>(() => {
  const at = link.value;
  if (!at || !run.value) return null;
  const head = headOf(shownPlace.value, at.query);
  if (!head || at.query >= head.info.rows || at.key >= head.info.columns) return null;
  return { head, steps: stepsOf(head, at.query, at.key), query: at.query, key: at.key };
});

export function Why() {
  const found = current.value;
  const q = link.value ? shown(queryReading.value.tokens[link.value.query]?.text ?? '') : '',
    k = link.value ? shown(keyReading.value.tokens[link.value.key]?.text ?? '') : '';
  return (
    <section class="card why" aria-labelledby="why-title">
      <header key={`${q} ${k} ${shownPlace.value.layer} ${shownPlace.value.head}`}>
        <h2 id="why-title">Why</h2>
        {link.value && !guessing.value && (
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
      ) : isDerived.value ? (
        <p class="hint">Why explains the weights of one head; choose “one head” above the map.</p>
      ) : !link.value ? (
        <p class="hint">Click a cell of the map to see how its weight is computed, number by number.</p>
      ) : !found ? (
        <p class="hint">
          Loading the vectors of head {place.value.layer}.{place.value.head}…
        </p>
      ) : (
        <>
          <Pairs />
          <StepList {...found} />
        </>
      )}
    </section>
  );
}

// For words of several tokens: which two tokens are explained.
function Pairs() {
  const l = restingLink.value,
    at = link.value;
  if (!l || !at || l.how === '' || restingCell.value) return null;
  const name = (reading: typeof queryReading, i: number) => clipped(shown(reading.value.tokens[i]?.text ?? ''), 14),
    id = (cell: { query: number; key: number }) => `${cell.query} ${cell.key}`;
  return (
    <p class="pairs">
      <label>
        One pair of tokens{' '}
        <select
          data-test="pair"
          value={id(at)}
          onChange={(event) => {
            const [query, key] = event.currentTarget.value.split(' ').map(Number);
            chosenPair.value = { query, key };
          }}
        >
          {pairsOf(l)
            .slice(0, 64)
            .map((pair) => (
              <option key={id(pair)} value={id(pair)}>
                {name(queryReading, pair.query)} → {name(keyReading, pair.key)}, {weight(pair.weight)}
              </option>
            ))}
        </select>
      </label>{' '}
      <span class="quiet">
        of {weight(l.weight)}, the {l.how}
      </span>
    </p>
  );
}

// Overview of the steps; each name goes to its step, as does its number on the keyboard.
function StepNames({ names }: { names: string[] }) {
  return (
    <div class="step-names" role="group" aria-label="Steps" onKeyDown={(event) => rove(event)}>
      {names.map((name, i) => (
        <button
          type="button"
          key={name}
          tabIndex={i === 0 ? 0 : -1}
          title={`Key ${i + 1}`}
          onClick={() => showStep(i + 1)}
        >
          {name === 'W_O' ? (
            <>
              W<sub>O</sub>
            </>
          ) : (
            name
          )}
        </button>
      ))}
    </div>
  );
}

// Names in addresses, and displayed names.
const stepNames = [
  ['q', 'q'],
  ['k', 'k'],
  ['turn', 'turn'],
  ['qk', 'q·k'],
  ['scale', 'scale'],
  ['mask', 'mask'],
  ['softmax', 'softmax'],
  ['sum', 'Σ a·v'],
  ['out', 'W_O'],
];
function StepList({ head, steps: s, query, key }: { head: Head; steps: Steps; query: number; key: number }) {
  const { info } = head,
    name = (reading: typeof queryReading, i: number) => clipped(shown(reading.value.tokens[i]?.text ?? ''), 14);
  const from = name(queryReading, query),
    to = name(keyReading, key);
  let n = 0;
  const top = Math.max(...s.contributions.map((c) => c.size), 1e-9);
  // The matrices of the pinned head; hidden while another head is hovered.
  const matrices = hoverPlace.value ? null : matricesOf(place.value, query);
  const width = matrices && matrices !== 'none' ? matrices.info.width : 0;
  const before = (x: number[], position: number) =>
    info.head_norm ? null : info.rope ? unturned(x, position, info.rope) : x;
  const list = stepNames.filter(([step]) => step !== 'turn' || info.rope),
    names = list.map(([, shownAs]) => shownAs);
  const settled = !busy.value; // otherwise these may be steps of the previous run
  useEffect(() => {
    if (!settled) return;
    const at = list.findIndex(([step]) => step === wantedStep.value);
    wantedStep.value = '';
    if (at >= 0) showStep(at + 1);
  });
  return (
    <>
      <StepNames names={names} />
      <ol class="steps" data-test="steps">
        <Step number={++n} title="The query asks">
          <p>
            q of <b dir="auto">{from}</b>: {info.dim} numbers{info.head_norm ? ', normed' : ''}
          </p>
          <Vector values={s.q} name="q" />
          <FromX
            matrices={matrices}
            matrix="q"
            x={(m) => m.x.subarray(query * width, (query + 1) * width)}
            expected={before(s.q, query + info.offset)}
            token={from}
          />
        </Step>
        <Step number={++n} title="The key answers">
          <p>
            k of <b dir="auto">{to}</b>
            {info.group > 1 ? `, of key head ${info.kv_head}, which ${info.group} query heads share` : ''}
          </p>
          <Vector values={s.k} name="k" />
          <FromX
            matrices={matrices}
            matrix="k"
            x={(m) => m.memory.subarray(key * width, (key + 1) * width)}
            expected={before(s.k, key)}
            token={to}
          />
        </Step>
        {info.rope && (
          <Step number={++n} title="Positions rotate both (RoPE)">
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
          <SumTable terms={s.products} names={['q', 'k']} total="q · k" test="dot" />
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
        <Step number={++n} title="Into the residual stream">
          {hoverPlace.value ? (
            <p class="hint">Pin this head to see what it adds.</p>
          ) : (
            <Output matrices={matrices} head={head} z={s.z} query={query} />
          )}
          <p class="copies for-engineer">
            <button type="button" onClick={() => copy(numpyText(s, head, query, key), 'NumPy code copied')}>
              Copy as NumPy
            </button>
            <button type="button" onClick={() => copy(cppText(s, head, query, key), 'C++ code copied')}>
              Copy as C++
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
    </>
  );
}
