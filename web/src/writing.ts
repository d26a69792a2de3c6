// A continuation is one request whose answer arrives token by token, each with its attention in all heads: the displayed run
// grows by a row, and nothing else is requested until it stops.
import { batch, signal } from '@preact/signals';
import { grown } from './grown';
import { useNumbers, weights } from './numbers';
import { keys, part, queries, run } from './state';
import type { RunInfo, WrittenToken } from './types';

export const written = signal<{ text: string; p: number }[]>([]); // by the current stream, or the last one

// The run with the token added; `token.row` is [layers, heads, tokens].
export function longer(info: RunInfo, token: WrittenToken): RunInfo {
  const count = token.source.tokens.length;
  return {
    ...info,
    id: token.id,
    more: token.more,
    source: token.source,
    parts: info.parts.map((p) => ({ ...p, rows: count, columns: count })),
    predictions: count,
    looks: [],
  };
}

// False: too many numbers to keep, or not those of the previous run.
export function append(token: WrittenToken): boolean {
  const info = run.value,
    all = weights.value,
    p = info?.parts.find((one) => one.part === part.value),
    heads = p ? p.layers * p.heads : 0;
  if (!info || !all || !p || token.source.tokens.length !== p.rows + 1 || token.row.length !== heads * (p.rows + 1))
    return false;
  const values = grown(all, heads, p.rows, token.row),
    next = longer(info, token),
    last = token.source.tokens.length - 1;
  batch(() => {
    run.value = next;
    useNumbers({ weights: values, atlas: { rows: last + 1, columns: last + 1, exact: true, values } }, next);
    queries.value = [last];
    keys.value = [];
    written.value = [...written.value, { text: token.source.tokens[last].text, p: token.p }];
  });
  return true;
}
