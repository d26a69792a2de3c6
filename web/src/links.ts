// Links between words: their weights, the weights of uniform attention, and which link to show first.
// Nothing here knows the page; `finding.ts` does.
import type { Reading } from './types';

// Mean over the queries of what they give to all of the keys together.
export function linkWeight(map: Float32Array, queries: number[], keys: number[], columns: number): number {
  let sum = 0;
  for (const i of queries) for (const j of keys) sum += map[i * columns + j] || 0;
  return queries.length > 0 ? sum / queries.length : 0;
}

// How many keys the query sees.
export function seen(map: Float32Array, query: number, columns: number): number {
  let count = 0;
  for (let j = 0; j < columns; ++j) if (!Number.isNaN(map[query * columns + j])) ++count;
  return count;
}

// The same mean where each query spreads evenly over what it sees; 0: none of the keys is visible.
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

// From which lift over uniform attention on a link counts as one; labels of heads have the same bar.
export const leastLift = 2;

// What a link adds to the divergence from uniform attention; below chance the larger weight counts more. The rule of the
// program's first_look().
export const linkScore = (weight: number, chance: number): number =>
  weight > chance ? weight * Math.log(weight / chance) : weight - chance;

const isMark = (text: string) => !/[\p{L}\p{N}]/u.test(text);
export interface End {
  tokens: number[];
  word: number; // its number among the words
}
// The words of a text that mean something: neither marks nor what the tokenizer put there.
export const endsOf = (reading: Reading): End[] =>
  reading.words.flatMap((w, word) =>
    reading.tokens[w.begin].added || isMark(w.text)
      ? []
      : [{ tokens: Array.from({ length: w.end - w.begin }, (_, i) => w.begin + i), word }],
  );
// Words that are neither the same, nor neighbours, nor the text's first token. Between two texts all count.
export const isFar = (query: End, key: End, between: boolean): boolean =>
  between || (Math.abs(query.word - key.word) > 1 && key.tokens[0] !== 0);

// How a number of several tokens comes about; nothing where it is one weight of the model.
export function howJoined(queries: number, keys: number): string {
  const mean = queries > 1 ? `mean over ${queries} tokens` : '',
    sum = keys > 1 ? `sum over ${keys} tokens` : '';
  return mean && sum ? `${mean} of the ${sum}` : mean || sum;
}
