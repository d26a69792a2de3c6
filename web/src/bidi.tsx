// Words side by side, in a text that runs right to left: what runs left to right in it does so here.
import type { ComponentChildren } from 'preact';
import { directionOf, leftToRight } from './tokens';
import type { Reading } from './types';

// `pieces`: the text of each element of `list`.
export function inOrder(reading: Reading, pieces: string[], list: ComponentChildren[]): ComponentChildren[] {
  if (directionOf(reading.text) === 'ltr') return list;
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const [from, end] of leftToRight(pieces)) {
    out.push(
      ...list.slice(at, from),
      end > from + 1 ? (
        <span class="left-to-right" dir="ltr" key={`run ${from}`}>
          {list.slice(from, end)}
        </span>
      ) : (
        list[from]
      ),
    );
    at = end;
  }
  return [...out, ...list.slice(at)];
}
