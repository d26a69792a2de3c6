// The counterpart of a word in the other text of a translator: it and il. Uses cross-attention, mean over all heads.
import { endsOf, linkWeight } from './links';
import type { Numbers } from './numbers';
import type { PartInfo, PartName, Reading, RunInfo } from './types';

// The mean attention of the written words, [written, read].
function meanMap(p: PartInfo, all: Float32Array): Float32Array {
  const size = p.rows * p.columns,
    mean = new Float32Array(size),
    heads = p.layers * p.heads;
  for (let head = 0; head < heads; ++head)
    for (let i = 0; i < size; ++i) mean[i] += (all[head * size + i] || 0) / heads;
  return mean;
}
function best(reading: Reading, score: (tokens: number[]) => number): number[] | null {
  let found: number[] | null = null,
    most = 0;
  for (const end of endsOf(reading)) {
    const x = score(end.tokens);
    if (x > most) {
      most = x;
      found = end.tokens;
    }
  }
  return found;
}

// `cross`: the numbers of cross-attention. The decoder reads a token one position after it writes it.
export function counterpart(
  info: RunInfo,
  from: PartName,
  to: PartName,
  queries: number[],
  cross: Numbers | null,
): number[] | null {
  const p = info.parts.find((part) => part.part === 'cross');
  if (!p || !info.written || queries.length === 0 || from === to) return null;
  const inside = (list: number[], rows: number) => list.filter((i) => i >= 0 && i < rows);
  const written =
    from === 'decoder'
      ? inside(
          queries.map((i) => i - 1),
          p.rows,
        )
      : queries;
  const asPart = (list: number[] | null) =>
    list && to === 'decoder'
      ? inside(
          list.map((i) => i + 1),
          p.rows,
        )
      : list;
  if (from !== 'encoder' && to !== 'encoder') return asPart(written);
  if (!cross?.weights || written.length === 0) return null;
  const mean = meanMap(p, cross.weights);
  if (to === 'encoder') return best(info.source, (keys) => linkWeight(mean, written, keys, p.columns));
  return asPart(best(info.written, (rows) => linkWeight(mean, rows, queries, p.columns)));
}
