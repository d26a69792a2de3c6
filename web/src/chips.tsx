// Tokens as chips: click pins a query, colours are what it gives to each key.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { host } from './host';
import { collapsed, type Stretch } from './collapse';
import { css, ink } from './color';
import { colorsOf, entryOf, weightPaint } from './color_scale';
import { clipped, shown, small } from './format';
import { openMenu } from './menu';
import { rove } from './rove';
import { inOrder } from './bidi';
import { directionOf } from './tokens';
import { restingRow } from './numbers';
import {
  guessing,
  hoverCell,
  hoverQuery,
  keys,
  pin,
  queries,
  restingCell,
  restingQueries,
  run,
  shownKeys,
  words,
} from './state';
import { byTouch, LongPress } from './touch';
import type { Reading } from './types';

const mostNumbers = 300, // of longer texts the chips are words and colours alone,
  runLength = 48, // and only those near what is seen follow the mouse
  mostChips = 1200,
  aroundPins = 120; // of still longer ones, so many on each side of what is pinned

interface ChipsProps {
  reading: Reading;
  asQueries: boolean;
  asKeys: boolean;
  label: string;
  from?: number; // tokens of one of two texts
  end?: number;
}

const toggled = (before: number[], list: number[], more: boolean): number[] => {
  const has = list.every((i) => before.includes(i));
  if (more) return has ? before.filter((i) => !list.includes(i)) : [...before, ...list].sort((a, b) => a - b);
  return has && before.length === list.length ? [] : list;
};

export function Chips({ reading, asQueries, asKeys, label, from = 0, end = reading.tokens.length }: ChipsProps) {
  const box = useRef<HTMLDivElement>(null);
  const press = useMemo(
    () =>
      new LongPress((x, y) => {
        const chip = host.root.elementFromPoint(x, y)?.closest<HTMLElement>('[data-token]');
        if (chip) openMenu(asQueries ? { x, y, query: Number(chip.dataset.token) } : { x, y });
      }),
    [asQueries],
  );
  const all: number[][] =
    words.value && reading.words.length > 0
      ? reading.words.map((w) => Array.from({ length: w.end - w.begin }, (_, i) => w.begin + i))
      : reading.tokens.map((_, i) => [i]);
  const groups = all.filter((list) => list[0] >= from && list[0] < end),
    tight = groups.length > mostNumbers;
  // Of thousands, those near what is pinned, and gaps that open with a click.
  const opened = useSignal<number | null>(null),
    centers = [opened.value ?? -1, queries.value[0] ?? -1, keys.value[0] ?? -1].map((i) =>
      groups.findIndex((list) => list.includes(i)),
    ),
    stretches = groups.length > mostChips ? collapsed(groups.length, centers, aroundPins) : [];
  const runs: (number[][] | Stretch)[] = [];
  const add = (from: number, end: number) => {
    for (let i = from; i < end; i += tight ? runLength : groups.length)
      runs.push(groups.slice(i, Math.min(end, tight ? i + runLength : groups.length)));
  };
  if (stretches.length === 0) add(0, groups.length);
  for (const s of stretches)
    if (s.hidden) runs.push(s);
    else add(s.from, s.end);

  const near = useSignal<ReadonlySet<number>>(new Set([0, 1, 2, 3, 4, 5]));
  useEffect(() => {
    if (!tight) return;
    const found = new Set<number>();
    const observer = new IntersectionObserver(
      (entries) => {
        for (const e of entries) {
          const at = Number((e.target as HTMLElement).dataset.run);
          if (e.isIntersecting) found.add(at);
          else found.delete(at);
        }
        near.value = new Set(found);
      },
      { root: box.current, rootMargin: '60px 0px' },
    );
    for (const chip of box.current!.querySelectorAll('[data-run]')) observer.observe(chip);
    return () => observer.disconnect();
  }, [tight, reading, words.value, opened.value, queries.value[0]]);

  // One Tab stop: where the focus was last, else what is pinned, else the first.
  const stopped = useSignal<number | null>(null),
    here = (i: number | null | undefined) => groups.find((list) => i !== null && i !== undefined && list.includes(i)),
    stop = (here(stopped.value) ?? here((asQueries ? queries : keys).value[0]) ?? groups[0])?.[0] ?? -1;
  const click = (list: number[], event: MouseEvent) => {
    if (press.fired) return;
    if (asQueries && byTouch()) {
      if (hoverQuery.value !== list[0]) {
        hoverCell.value = null;
        hoverQuery.value = list[0];
        return;
      }
      hoverQuery.value = null;
    }
    if (!asQueries || (asKeys && (event.ctrlKey || event.altKey || event.metaKey)))
      pin(queries.value, toggled(keys.value, list, event.shiftKey));
    else pin(toggled(queries.value, list, event.shiftKey), event.shiftKey ? keys.value : []);
  };
  return (
    <div
      ref={box}
      class={`chips${asKeys && !tight ? '' : ' plain'}`}
      role="group"
      aria-label={label}
      dir={directionOf(reading.text)}
      onKeyDown={(event) => rove(event, '[data-token]')}
      onFocusCapture={(event) => {
        stopped.value = Number((event.target as HTMLElement).dataset.token ?? stop);
      }}
      onPointerDown={(event) => press.down(event)}
      onPointerMove={(event) => press.move(event)}
      onPointerUp={() => press.cancel()}
      onPointerCancel={() => press.cancel()}
      onContextMenu={(event) => press.menu(event)}
    >
      {runs.map((list, at) =>
        'hidden' in list ? (
          <button
            type="button"
            class="gap"
            key={`gap ${list.from}`}
            data-test="gap"
            onClick={() => (opened.value = groups[Math.floor((list.from + list.end) / 2)][0])}
          >
            … {list.end - list.from} tokens …
          </button>
        ) : (
          <Run
            key={list[0][0]}
            {...{ reading, asQueries, asKeys, tight, click, stop }}
            number={at}
            groups={list}
            follows={!tight || near.value.has(at)}
          />
        ),
      )}
    </div>
  );
}

interface RunProps {
  reading: Reading;
  asQueries: boolean;
  asKeys: boolean;
  tight: boolean;
  number: number;
  groups: number[][];
  follows: boolean;
  stop: number; // the token that Tab goes to
  click: (list: number[], event: MouseEvent) => void;
}
function Run({ reading, asQueries, asKeys, tight, number, groups, follows, stop, click }: RunProps) {
  const row = follows && asKeys && !guessing.value ? restingRow.value : null,
    active = follows ? restingQueries.value : queries.value,
    hoveredKey = follows ? restingCell.value?.key : undefined,
    paint = weightPaint.value,
    colors = colorsOf(paint);
  const written = run.value && reading === run.value.source ? run.value.more.length : 0;
  const nameAt = (list: number[]) =>
    words.value
      ? (reading.words.find((x) => x.begin === list[0])?.text ?? list.map((i) => reading.tokens[i].text).join(''))
      : reading.tokens[list[0]].text;
  return (
    <>
      {inOrder(
        reading,
        groups.map((list) => reading.tokens[list[0]].whole ?? nameAt(list)),
        groups.map((list, n) => {
          const tokens = list.map((i) => reading.tokens[i]);
          const first = tokens[0];
          const w = row ? list.reduce((sum, i) => (Number.isNaN(row[i]) ? sum : sum + row[i]), 0) : NaN;
          const seen = row ? list.some((i) => !Number.isNaN(row[i])) : false;
          const e = seen ? entryOf(paint, w) : -1;
          const isQuery = asQueries && list.some((i) => active.includes(i));
          const isKey = asKeys && list.some((i) => shownKeys.value.includes(i) || hoveredKey === i);
          const pinned = list.every((i) => (asQueries ? queries : keys).value.includes(i));
          const word = nameAt(list);
          const name = clipped(shown(word), 24);
          const isNew = written > 0 && list[0] >= reading.tokens.length - written;
          const ends = !tight && tokens.some((t) => t.text.includes('\n'));
          return [
            <button
              type="button"
              key={list[0]}
              data-token={list[0]}
              tabIndex={list[0] === stop ? 0 : -1}
              data-run={n === 0 ? number : undefined}
              aria-pressed={pinned}
              dir="auto"
              class={`chip${isQuery ? ' query' : ''}${isKey ? ' key' : ''}${first.added ? ' added' : ''}${row && !seen ? ' masked' : ''}${isNew ? ' new' : ''}`}
              style={e >= 0 ? { background: css(colors, e), color: ink(colors, e) } : {}}
              title={`${JSON.stringify(word)}${first.whole && !words.value ? `, bytes of ${JSON.stringify(first.whole)}` : ''}, token ${list.join('–')}, id ${tokens.map((t) => t.id).join(' ')}${first.added ? ', added by the tokenizer' : ''}${seen ? `, weight ${w}` : row ? ', not visible' : ''}`}
              onClick={(event) => click(list, event)}
              onPointerEnter={(event) => {
                if (asQueries && event.pointerType !== 'touch') hoverQuery.value = list[0];
              }}
              onPointerLeave={(event) => {
                if (event.pointerType !== 'touch') hoverQuery.value = null;
              }}
            >
              {tight ? name : <span>{name}</span>}
              {asKeys && !tight && (
                <small aria-hidden="true" dir="ltr">
                  {seen ? small(w) : ' '}
                </small>
              )}
            </button>,
            ends && <span class="line-end" key={`end ${list[0]}`} aria-hidden="true" />,
          ];
        }),
      )}
    </>
  );
}
