// A guided tour: first a small example, then the live model. Every question is asked before it is answered.
import { signal, computed } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { batch } from '@preact/signals';
import { rowOf, shownMap } from './numbers';
import { guessing, keyReading, partInfo, place, queries, queryReading, theme, keys } from './state';
import { css, entry, ink, table } from './color';
import { digits, shown, weight } from './format';
import { nameOf } from './finding';
import { toyVectors, toyWords } from './tour_data';

export const touring = signal(false);
const page = signal(0);
const vectors = signal(toyVectors.map((v) => v.slice()));
const toyQuery = signal(1),
  causal = signal(false),
  guess = signal<number | null>(null),
  revealed = signal(false);

const toyScores = computed(() =>
  vectors.value.map((k) => k.reduce((sum, x, d) => sum + x * vectors.value[toyQuery.value][d], 0)),
);
const toyWeights = computed(() => {
  const s = toyScores.value.map((x, j) => (causal.value && j > toyQuery.value ? -Infinity : x)),
    most = Math.max(...s);
  const e = s.map((x) => Math.exp(x - most)),
    sum = e.reduce((a, b) => a + b, 0);
  return e.map((x) => x / sum);
});
const toyContext = computed(() =>
  [0, 1, 2].map((d) => toyWeights.value.reduce((sum, w, j) => sum + w * vectors.value[j][d], 0)),
);

function Words({ values, hidden, pick }: { values?: number[]; hidden?: boolean; pick?: boolean }) {
  const colors = table(theme.value, 'cividis'),
    most = values ? Math.max(...values.filter(Number.isFinite)) : 1;
  return (
    <div class="toy-words" role="group" aria-label="words of the example">
      {toyWords.map((word, j) => {
        const e = values && !hidden ? entry(Math.max(0, values[j]) / Math.max(1, most), 'sqrt') : -1;
        return (
          <button
            type="button"
            key={word}
            class={`chip${j === toyQuery.value && !pick ? ' query' : ''}${guess.value === j && pick ? ' key' : ''}`}
            disabled={pick && j === toyQuery.value}
            style={e >= 0 ? { background: css(colors, e), color: ink(colors, e) } : {}}
            aria-pressed={pick ? guess.value === j : j === toyQuery.value}
            onClick={() => {
              if (pick) guess.value = j;
              else {
                toyQuery.value = j;
              }
            }}
          >
            <span>{word}</span>
            <small>
              {values && !hidden ? (causal.value && j > toyQuery.value ? 'masked' : digits(values[j], 3)) : ' '}
            </small>
          </button>
        );
      })}
    </div>
  );
}

function Cells() {
  return (
    <table class="toy-table">
      <caption class="unseen">vectors of the example, editable</caption>
      <tbody>
        {toyWords.map((word, j) => (
          <tr key={word} class={j === toyQuery.value ? 'chosen' : ''}>
            <th scope="row">{word}</th>
            {vectors.value[j].map((x, d) => (
              <td key={d}>
                <input
                  type="number"
                  step="0.05"
                  value={x}
                  aria-label={`${word}, number ${d}`}
                  onChange={(event) => {
                    const next = vectors.value.map((v) => v.slice());
                    next[j][d] = Math.max(-9, Math.min(9, Number(event.currentTarget.value) || 0));
                    vectors.value = next;
                  }}
                />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// Asks, waits for a guess, then shows.
function Predict({ question, answer, children }: { question: string; answer: number; children: ComponentChildren }) {
  return (
    <div class="predict">
      <p>
        <b>{question}</b>
      </p>
      <Words pick values={revealed.value ? toyScores.value : undefined} hidden={!revealed.value} />
      {!revealed.value ? (
        <button
          type="button"
          class="primary"
          disabled={guess.value === null}
          onClick={() => {
            revealed.value = true;
          }}
        >
          Reveal
        </button>
      ) : (
        <>
          <p role="status">
            {guess.value === answer ? 'Yes: ' : `It is ${toyWords[answer]}: `}
            {children}
          </p>
        </>
      )}
    </div>
  );
}

const pinnedName = () => nameOf(queryReading.value, queries.value);
// The key with the largest weight for the pinned word; for several tokens their mean, as everywhere.
function liveTop(): { name: string; weight: number } | null {
  const p = partInfo.value,
    map = shownMap.value;
  if (!map || !p || queries.value.length === 0) return null;
  const row = rowOf(map, queries.value, p.columns);
  let top = 0;
  row.forEach((w, j) => {
    if (w > (row[top] || 0)) top = j;
  });
  return { name: shown(keyReading.value.tokens[top].text), weight: row[top] };
}

interface Page {
  title: string;
  body: () => ComponentChildren;
  enter?: () => void;
}
const other = (list: number[]) =>
  list.reduce(
    (best, x, j) => (j !== toyQuery.value && (best === toyQuery.value || x > list[best]) ? j : best),
    toyQuery.value === 0 ? 1 : 0,
  );
const pages: Page[] = [
  {
    title: 'Words are vectors',
    body: () => (
      <>
        <p>
          A model turns each word into a vector of numbers. Here, three numbers are enough. Change one: everything that
          follows is computed from them.
        </p>
        <Cells />
      </>
    ),
  },
  {
    title: 'Scores: which words match',
    enter: () => {
      toyQuery.value = 1;
    },
    body: () => (
      <>
        <p>
          Take one word as the <b>query</b>. Its <b>score</b> with another is their dot product: multiply number by
          number, add up.
        </p>
        <Predict
          question={`Which other word scores highest with “${toyWords[toyQuery.value]}”? Look at the numbers first.`}
          answer={other(toyScores.value)}
        >
          {vectors.value[toyQuery.value]
            .map((x, d) => `${x} × ${vectors.value[other(toyScores.value)][d]}`)
            .join(' + ')}{' '}
          = {digits(toyScores.value[other(toyScores.value)])}.
        </Predict>
        <Cells />
      </>
    ),
  },
  {
    title: 'Softmax: scores become weights',
    body: () => (
      <>
        <p>
          Each score x becomes e<sup>x</sup>, and each is divided by their sum. The <b>weights</b> are positive and add
          up to 1: a budget that the query spends. Click another word to let it ask.
        </p>
        <Words values={toyWeights.value} />
        <p class="formula">sum = {toyWeights.value.reduce((a, b) => a + b, 0).toFixed(4)}</p>
      </>
    ),
  },
  {
    title: 'The answer: a weighted sum',
    body: () => (
      <>
        <p>
          The new vector of “{toyWords[toyQuery.value]}” is the sum of all vectors, each times its weight. That is
          attention; the rest is detail.
        </p>
        <Words values={toyWeights.value} />
        <p class="formula">[{toyContext.value.map((x) => digits(x)).join(', ')}]</p>
      </>
    ),
  },
  {
    title: 'Queries, keys and values',
    body: () => (
      <>
        <p>
          Real models do not compare words themselves. Three learned matrices turn each word into a <b>query</b> (what
          it looks for), a <b>key</b> (what it offers) and a <b>value</b> (what it hands over). Steps 1 and 2 of{' '}
          <i>Why</i> show them for the pinned link of this model; open a strip to read the numbers.
        </p>
      </>
    ),
  },
  {
    title: 'Scale',
    body: () => (
      <>
        <p>
          A sum of many products can be large, and the softmax would then give all weight to one key. So scores are
          divided by the square root of the vectors’ length: step <i>Scale</i> of <i>Why</i>.
        </p>
      </>
    ),
  },
  {
    title: 'The causal mask',
    enter: () => {
      causal.value = true;
    },
    body: () => (
      <>
        <p>
          A model that generates text must not look ahead. Later words are <b>masked</b>: they get no weight, and the
          others share all of it. In the map such cells are hatched, which is not the same as zero.
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={causal.value}
            onChange={(e) => {
              causal.value = e.currentTarget.checked;
            }}
          />{' '}
          causal
        </label>
        <Words values={toyWeights.value} />
      </>
    ),
  },
  {
    title: 'Many heads',
    enter: () => {
      causal.value = false;
      guessing.value = false;
    },
    body: () => (
      <>
        <p>
          One pattern is not enough, so a model has many heads, each with its own matrices. The atlas shows them all:
          rows are layers, columns heads. Point at one to see its map. Diagonals attend to neighbours, vertical stripes
          to one word.
        </p>
      </>
    ),
  },
  {
    title: 'Guess, then look',
    enter: () => {
      guessing.value = true;
    },
    body: () => {
      const top = liveTop();
      return (
        <>
          <p>
            All weights are hidden now. Where does <b dir="auto">{pinnedName()}</b> look in head {place.value.layer}.
            {place.value.head}? Decide, then reveal.
          </p>
          {guessing.value ? (
            <button
              type="button"
              class="primary"
              onClick={() => {
                guessing.value = false;
              }}
            >
              Reveal
            </button>
          ) : (
            top && (
              <p role="status">
                Most of it, {weight(top.weight)}, goes to <b dir="auto">{top.name}</b>. Try the link view of the atlas (
                <kbd>v</kbd>) to see whether other heads agree.
              </p>
            )
          )}
        </>
      );
    },
  },
  {
    title: 'A word of caution',
    enter: () => {
      guessing.value = false;
    },
    body: () => (
      <>
        <p>
          A weight says what a head reads, not what the model concludes. A head may look at the first token because it
          has nothing to do. Ask what the weighted values add (step <i>Weighted sum</i>), and what the model predicts
          next.
        </p>
        <p>Now write your own sentence at the top.</p>
      </>
    ),
  },
];

function go(to: number): void {
  batch(() => {
    page.value = Math.max(0, Math.min(pages.length - 1, to));
    guess.value = null;
    revealed.value = false;
    guessing.value = false;
    pages[page.value].enter?.();
  });
}
export function startTour(): void {
  touring.value = true;
  go(0);
  if (keys.value.length === 0 && queries.value.length === 0) queries.value = [0];
}
export function endTour(): void {
  batch(() => {
    touring.value = false;
    guessing.value = false;
  });
}

export function Tour() {
  if (!touring.value) return null;
  const now = pages[page.value];
  return (
    <aside class="tour card" aria-label="Guided tour" data-test="tour">
      <header>
        <h2>{now.title}</h2>
        <span class="quiet">
          {page.value + 1} of {pages.length}
        </span>
        <button type="button" class="icon" aria-label="End the tour" onClick={endTour}>
          ✕
        </button>
      </header>
      <div class="tour-body">{now.body()}</div>
      <footer>
        <button type="button" disabled={page.value === 0} onClick={() => go(page.value - 1)}>
          Back
        </button>
        <button
          type="button"
          class="primary"
          onClick={() => (page.value + 1 < pages.length ? go(page.value + 1) : endTour())}
        >
          {page.value + 1 < pages.length ? 'Next' : 'Done'}
        </button>
      </footer>
    </aside>
  );
}
