// Links between words: their weights, the weights of uniform attention, and which link to show first.
// Independent of the page; `finding.ts` uses it.
import type { Reading } from './types';

// Mean over the queries of what they give to all of the keys together.
export function linkWeight(map: Float32Array, queries: number[], keys: number[], columns: number): number {
  let sum = 0;
  for (const i of queries) for (const j of keys) sum += map[i * columns + j] || 0;
  return queries.length > 0 ? sum / queries.length : 0;
}

// The number of keys that the query sees.
export function seen(map: Float32Array, query: number, columns: number): number {
  let count = 0;
  for (let j = 0; j < columns; ++j) if (!Number.isNaN(map[query * columns + j])) ++count;
  return count;
}

// The same mean under uniform attention; 0: none of the keys is visible.
export function linkChance(
  map: Float32Array,
  queries: number[],
  keys: number[],
  columns: number,
  seenBy = queries.map((i) => seen(map, i, columns)),
): number {
  let sum = 0;
  queries.forEach((i, n) => {
    const visible = keys.filter((j) => !Number.isNaN(map[i * columns + j])).length;
    if (visible > 0) sum += visible / seenBy[n];
  });
  return queries.length > 0 ? sum / queries.length : 0;
}

// The least lift of a link; labels of heads use the same threshold.
export const leastLift = 2;

// The contribution of a link to the divergence from uniform attention; below chance level the weight itself counts. The rule of the
// program's first_look().
export const linkScore = (weight: number, chance: number): number =>
  weight > chance ? weight * Math.log(weight / chance) : weight - chance;

const isMark = (text: string) => !/[\p{L}\p{N}]/u.test(text);
export interface End {
  tokens: number[];
  word: number; // its index among the words
}
// The content words of a text: no punctuation and no tokens added by the tokenizer.
export const endsOf = (reading: Reading): End[] =>
  reading.words.flatMap((w, word) =>
    reading.tokens[w.begin].added || isMark(w.text)
      ? []
      : [{ tokens: Array.from({ length: w.end - w.begin }, (_, i) => w.begin + i), word }],
  );
// Words that are neither the same, nor neighbours, nor the text's first token. Between two texts all count.
export const isFar = (query: End, key: End, between: boolean): boolean =>
  between || (Math.abs(query.word - key.word) > 1 && key.tokens[0] !== 0);

// How a number of several tokens is computed; nothing if it is a single weight of the model.
export function howJoined(queries: number, keys: number): string {
  const mean = queries > 1 ? `mean over ${queries} tokens` : '',
    sum = keys > 1 ? `sum over ${keys} tokens` : '';
  return mean && sum ? `${mean} of the ${sum}` : mean || sum;
}
