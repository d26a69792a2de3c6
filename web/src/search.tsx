// The search field of the atlas: heads by a link, by number or by label, and words.
import { effect, signal } from '@preact/signals';
import { host } from './host';
import { nameOf, wordAround } from './finding';
import { clipped, plural, shown, weight } from './format';
import { loadingLabels, matching, searchText } from './head_names';
import { parseQuery } from './query';
import { Trouble } from './source';
import {
  keyReading,
  linkMap,
  offline,
  part,
  partInfo,
  pin,
  place,
  queries,
  queryReading,
  run,
  streaming,
  theSource,
} from './state';
import type { Reading } from './types';

interface Found {
  from: [number, number] | null;
  to: [number, number] | null;
  heads: { layer: number; head: number; weight: number; chance: number; key: number | null }[];
}
const found = signal<{ link: string; answer: Found } | null>(null);
const problem = signal('');
const list = (range: [number, number]) => Array.from({ length: range[1] - range[0] }, (_, i) => range[0] + i);

// A link is searched while it is typed, once both ends are given and typing pauses.
const rest = 250;
export function followSearch(): void {
  let timer = 0,
    aborter: AbortController | null = null;
  effect(() => {
    const q = parseQuery(searchText.value),
      info = run.value,
      name = part.value;
    clearTimeout(timer);
    aborter?.abort();
    problem.value = '';
    if (q.kind !== 'link' || !info || streaming.value) {
      found.value = null;
      return;
    }
    const [from, to] = q.link.split('->');
    if (!from || !to) return;
    if (offline.value) {
      problem.value = 'A saved page cannot search for links; pin two words and choose Link.';
      return;
    }
    const mine = (aborter = new AbortController());
    timer = window.setTimeout(() => {
      theSource()
        .get(info, `links?part=${name}&link=${encodeURIComponent(q.link)}`, mine.signal)
        .then(
          (answer) => {
            if (!mine.signal.aborted) found.value = { link: q.link, answer: answer as Found };
          },
          (error) => {
            if (mine.signal.aborted) return;
            found.value = null;
            problem.value = error instanceof Trouble ? error.message.split('\n')[0] : String(error);
          },
        );
    }, rest);
  });
}

function choose(answer: Found, one: Found['heads'][0]): void {
  place.value = { layer: one.layer, head: one.head };
  const keys = answer.to ? list(answer.to) : one.key !== null ? wordAround(keyReading.value, one.key) : [];
  pin(answer.from ? list(answer.from) : [], keys);
  if (answer.from && answer.to) linkMap.value = true;
}

// The next occurrence of a word after the pinned one.
function jump(reading: Reading, word: string): number[] | null {
  const clean = (text: string) => shown(text).toLowerCase(),
    all = reading.words.filter((w) => clean(w.text).startsWith(word.toLowerCase()));
  if (all.length === 0) return null;
  const after = all.find((w) => w.begin > (queries.value[0] ?? -1)) ?? all[0];
  return wordAround(reading, after.begin);
}
function entered(): void {
  const q = parseQuery(searchText.value),
    p = partInfo.value;
  problem.value = '';
  if (!p) return;
  if (q.kind === 'link' && found.value?.answer.heads[0]) choose(found.value.answer, found.value.answer.heads[0]);
  else if (q.kind === 'head') {
    if (q.layer < p.layers && q.head < p.heads) place.value = { layer: q.layer, head: q.head };
    else problem.value = `There are layers 0 to ${p.layers - 1} with heads 0 to ${p.heads - 1}.`;
  } else if (q.kind === 'heads') {
    const first = matching.value?.indexOf(true) ?? -1;
    if (first >= 0) place.value = { layer: Math.floor(first / p.heads), head: first % p.heads };
  } else if (q.kind === 'word') {
    const at = jump(queryReading.value, q.word);
    if (at) {
      pin(at, []);
      host.root.querySelector(`.strip [data-token="${at[0]}"]`)?.scrollIntoView({ block: 'nearest' });
    } else problem.value = `“${clipped(q.word, 30)}” is not in the text.`;
  }
}

function Results() {
  const at = found.value;
  if (!at) return null;
  const { answer } = at,
    from = answer.from ? nameOf(queryReading.value, list(answer.from)) : 'any word';
  return (
    <ol class="found" data-test="found" aria-label="Heads, largest weight first">
      {answer.heads.slice(0, 8).map((one) => (
        <li key={`${one.layer}.${one.head}`}>
          <button type="button" onClick={() => choose(answer, one)}>
            <b>
              {one.layer}.{one.head}
            </b>
            <span>
              <bdi>{clipped(from, 12)}</bdi> →{' '}
              <bdi>
                {clipped(
                  answer.to
                    ? nameOf(keyReading.value, list(answer.to))
                    : one.key !== null
                      ? nameOf(keyReading.value, wordAround(keyReading.value, one.key))
                      : '?',
                  12,
                )}
              </bdi>
            </span>
            <span data-value={one.weight}>{weight(one.weight)}</span>
            <small>{one.chance > 0 ? `×${(one.weight / one.chance).toFixed(1)}` : ''}</small>
          </button>
        </li>
      ))}
    </ol>
  );
}

export function Search() {
  const count = matching.value?.filter(Boolean).length;
  return (
    <div class="search" role="search">
      <input
        id="search"
        type="search"
        aria-label="Search heads"
        placeholder="it→animal, 4.0, label:previous"
        title="Key /. A link ranks heads; entropy<1, first>0.5, effect>0.1, layer:3 and label:NAME filter them; Enter goes there"
        autocomplete="off"
        spellcheck={false}
        value={searchText.value}
        onInput={(event) => (searchText.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            event.preventDefault();
            entered();
          } else if (event.key === 'Escape' && searchText.value) {
            event.stopPropagation();
            searchText.value = '';
          }
        }}
      />
      {problem.value && (
        <p class="hint" role="status" data-test="search-problem">
          {problem.value}
        </p>
      )}
      {count !== undefined && (
        <p class="hint" role="status" data-test="matching">
          {loadingLabels.value ? 'Scoring the heads…' : `${plural(count, 'head')} of ${matching.value!.length}`}
        </p>
      )}
      <Results />
    </div>
  );
}
