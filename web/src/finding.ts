// What to look at first, and what the link that is looked at now weighs.
import { computed, signal } from '@preact/signals';
import { shown } from './format';
import { endsOf, howJoined, isFar, leastLift, linkChance, linkScore, linkWeight, seen, type End } from './links';
import { pooled } from './long';
import { activeRow, mapOf, rowIn, rowsOf, weights } from './numbers';
import {
  activeQueries,
  hoverCell,
  keyReading,
  keys,
  part,
  partInfo,
  queries,
  queryReading,
  restingCell,
  run,
  words,
  type Cell,
  type Place,
} from './state';
import type { Reading } from './types';

const clean = (text: string) => shown(text).toLowerCase();

// The tokens of the word that a token belongs to.
export function wordAround(reading: Reading, token: number): number[] {
  const word = reading.words.find((w) => w.begin <= token && token < w.end);
  const list: number[] = [];
  for (let i = word?.begin ?? token; i < (word?.end ?? token + 1); ++i) list.push(i);
  return list;
}
// The n-th place of a word, from 0; where it has fewer, the last one.
function findWord(reading: Reading, text: string, n = 0): number[] | null {
  const all = reading.words.filter((w) => clean(w.text) === text),
    word = all[Math.min(n, all.length - 1)];
  return word ? wordAround(reading, word.begin) : null;
}
// The word that was pinned, in another text; of several that are alike, the one in the same turn.
export function sameWord(before: Reading, list: number[], now: Reading): number[] | null {
  if (list.length === 0) return null;
  const at = before.words.findIndex((w) => w.begin <= list[0] && list[0] < w.end),
    text = clean(before.words[at]?.text ?? before.tokens[list[0]]?.text ?? '');
  return findWord(now, text, before.words.slice(0, Math.max(0, at)).filter((w) => clean(w.text) === text).length);
}

export interface Look {
  queries: number[];
  keys: number[]; // none: no link is worth showing
  place: Place;
}
interface Best extends Look {
  score: number;
  lift: number;
}

const list = (range: [number, number]) => Array.from({ length: range[1] - range[0] }, (_, i) => range[0] + i);

// The link to open with: the program’s own choice for the part; else, of the given query or of all words, in one head or
// in all, the one that adds most to the divergence from uniform attention. One below the bar is not pinned.
export function firstLook(given: number[], only: Place | null = null): Look | null {
  const p = partInfo.value;
  if (!p || p.rows === 0) return null;
  const own = given.length === 0 && !only ? run.value?.looks?.find((l) => l.part === part.value) : undefined;
  if (own && own.far && own.lift >= leastLift)
    return { queries: list(own.query), keys: list(own.key), place: { layer: own.layer, head: own.head } };
  const rows = queryReading.value,
    between = part.value === 'cross',
    all = endsOf(rows),
    to = endsOf(keyReading.value);
  const wordOf = (token: number) => rows.words.findIndex((w) => w.begin <= token && token < w.end);
  const from: End[] =
    given.length > 0
      ? [{ tokens: given, word: wordOf(given[0]) }]
      : weights.value && all.length > 0
        ? all
        : [usualQuery(rows, all)];
  let best: Best | null = null;
  for (const query of from)
    for (let layer = 0; layer < p.layers; ++layer)
      for (let head = 0; head < p.heads; ++head) {
        if (only && (only.layer !== layer || only.head !== head)) continue;
        const found = bestKey(query, to, { layer, head }, between);
        if (found && found.score > (best?.score ?? -Infinity)) best = found;
      }
  if (!best) return { queries: firstQuery(rows, given), keys: [], place: only ?? { layer: 0, head: 0 } };
  if (best.lift >= leastLift) return best;
  // Nothing stands out: a word that is there to be looked at, and no claim about it.
  return { queries: firstQuery(rows, given), keys: [], place: only ?? best.place };
}
// Whose row is needed before a head can be chosen, where not all weights are here.
export const firstQuery = (reading: Reading, given: number[]): number[] =>
  given.length > 0 ? given : usualQuery(reading, endsOf(reading)).tokens;

function bestKey(query: End, to: End[], at: Place, between: boolean): Best | null {
  const p = partInfo.value!,
    row = rowIn(at, query.tokens);
  if (!row) return null;
  // Where one row is all there is, that row is the map.
  const map = weights.value ? mapOf(at)! : row,
    from = weights.value ? query.tokens : [0],
    seenBy = from.map((i) => seen(map, i, p.columns));
  let best: Best | null = null;
  for (const key of to) {
    if (!isFar(query, key, between)) continue;
    const weight = key.tokens.reduce((sum, j) => sum + (row[j] || 0), 0),
      chance = linkChance(map, from, key.tokens, p.columns, seenBy);
    if (chance === 0) continue;
    const score = linkScore(weight, chance);
    if (score > (best?.score ?? -Infinity))
      best = { queries: query.tokens, keys: key.tokens, place: at, score, lift: weight / chance };
  }
  return best;
}
// “it” where there is one, else the last word.
function usualQuery(reading: Reading, ends: End[]): End {
  const it = findWord(reading, 'it');
  if (it) return { tokens: it, word: reading.words.findIndex((w) => w.begin === it[0]) };
  return ends.at(-1) ?? { tokens: [Math.max(0, reading.tokens.length - 1)], word: reading.words.length - 1 };
}

// A link as it is shown: words of several tokens have one number, and say how it comes about.
export interface Link {
  from: number[];
  to: number[];
  weight: number;
  chance: number;
  visible: [number, number]; // keys that a query sees, at least and at most
  how: string; // '' for one weight of the model
  chosen: boolean; // else it is where the query looks most
}
function linkOf(from: number[], to: number[], chosen = true): Link | null {
  const p = partInfo.value,
    rows = from.length > 0 && to.length > 0 ? rowsOf(from, false) : null;
  if (!rows || !p) return null;
  const visible = rows.at.map((i) => seen(rows.map, i, p.columns));
  return {
    from,
    to,
    weight: linkWeight(rows.map, rows.at, to, p.columns),
    chance: linkChance(rows.map, rows.at, to, p.columns),
    visible: [Math.min(...visible), Math.max(...visible)],
    how: howJoined(from.length, to.length),
    chosen,
  };
}
// Under the pointer is a token, a word where words are shown, or what a cell of a long text stands for.
function tokensAt(reading: Reading, token: number): number[] {
  if (pooled.value > 1)
    return Array.from({ length: pooled.value }, (_, i) => token + i).filter((i) => i < reading.tokens.length);
  return words.value ? wordAround(reading, token) : [token];
}
const linkAt = (cell: Cell) => linkOf(tokensAt(queryReading.value, cell.query), tokensAt(keyReading.value, cell.key));
const pinnedLink = () => linkOf(queries.value, keys.value);
export const link = computed(() => (hoverCell.value ? linkAt(hoverCell.value) : pinnedLink()));
export const restingLink = computed(() => (restingCell.value ? linkAt(restingCell.value) : pinnedLink()));

// What the sentence at the top is about: the link, or what the queries look at most.
export const headline = computed<Link | null>(() => {
  if (link.value) return link.value;
  const row = activeRow.value,
    list = activeQueries.value;
  if (!row || list.length === 0) return null;
  let top = 0;
  row.forEach((w, j) => {
    if (w > (row[top] || 0)) top = j;
  });
  return linkOf(list, [top], false);
});

// Of a link of several tokens, the pair that Why explains: the chosen one, else that with the largest weight.
export const chosenPair = signal<Cell | null>(null);
export function pairsOf(l: Link): (Cell & { weight: number })[] {
  const { map, at } = rowsOf(l.from, false)!,
    columns = partInfo.value!.columns;
  return l.from.flatMap((query, n) => l.to.map((key) => ({ query, key, weight: map[at[n] * columns + key] })));
}
export function pairOf(l: Link | null): Cell | null {
  if (!l) return null;
  const chosen = chosenPair.value;
  if (chosen && l.from.includes(chosen.query) && l.to.includes(chosen.key)) return chosen;
  return pairsOf(l).reduce((best, pair) => ((pair.weight || 0) > (best.weight || 0) ? pair : best));
}

export function nameOf(reading: Reading, list: number[]): string {
  if (list.length === 0) return '';
  const word = reading.words.find((w) => w.begin === list[0] && w.end === list[0] + list.length);
  if (word) return shown(word.text);
  return (
    list
      .slice(0, 4)
      .map((i) => shown(reading.tokens[i]?.text ?? ''))
      .join(' ') + (list.length > 4 ? ' …' : '')
  );
}
