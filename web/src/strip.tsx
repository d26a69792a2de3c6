// The text as chips: click pins a query, colours are what it gives to each key.
import { useMemo } from 'preact/hooks';
import { openMenu } from './menu';
import { activeRow } from './numbers';
import {
  hoverCell,
  hoverQuery,
  activeQueries,
  guessing,
  keyReading,
  keys,
  part,
  pin,
  queries,
  queryReading,
  run,
  scale,
  theme,
  words,
} from './state';
import { css, entry, ink, table } from './color';
import { clipped, shown, small } from './format';
import { byTouch, LongPress } from './touch';
import type { Reading } from './types';

interface ChipsProps {
  reading: Reading;
  asQueries: boolean;
  asKeys: boolean;
  label: string;
  from?: number; // tokens of one of two texts
  end?: number;
}

function Chips({ reading, asQueries, asKeys, label, from = 0, end = reading.tokens.length }: ChipsProps) {
  const tokenOf = (element: Element | null) => Number(element?.closest<HTMLElement>('[data-token]')?.dataset.token);
  const press = useMemo(
    () =>
      new LongPress((x, y) => {
        const at = tokenOf(document.elementFromPoint(x, y));
        if (!Number.isNaN(at)) openMenu(asQueries ? { x, y, query: at } : { x, y });
      }),
    [asQueries],
  );
  const row = asKeys && !guessing.value ? activeRow.value : null,
    colors = table(theme.value);
  const all: number[][] =
    words.value && reading.words.length > 0
      ? reading.words.map((w) => Array.from({ length: w.end - w.begin }, (_, i) => w.begin + i))
      : reading.tokens.map((_, i) => [i]);
  const groups = all.filter((list) => list[0] >= from && list[0] < end);
  const written = run.value && reading === run.value.source ? run.value.more.length : 0;
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
    if (asQueries && !(asKeys && (event.ctrlKey || event.altKey || event.metaKey))) {
      const has = list.every((i) => queries.value.includes(i));
      if (event.shiftKey) {
        const next = has
          ? queries.value.filter((i) => !list.includes(i))
          : [...queries.value, ...list].sort((a, b) => a - b);
        pin(next, keys.value);
      } else pin(has && queries.value.length === list.length ? [] : list, []);
    } else {
      const has = list.every((i) => keys.value.includes(i));
      pin(
        queries.value,
        event.shiftKey
          ? has
            ? keys.value.filter((i) => !list.includes(i))
            : [...keys.value, ...list].sort((a, b) => a - b)
          : has && keys.value.length === list.length
            ? []
            : list,
      );
    }
  };
  return (
    <div
      class={`chips${asKeys ? '' : ' plain'}`}
      role="group"
      aria-label={label}
      dir="auto"
      onPointerDown={(event) => press.down(event)}
      onPointerMove={(event) => press.move(event)}
      onPointerUp={() => press.cancel()}
      onPointerCancel={() => press.cancel()}
      onContextMenu={(event) => press.menu(event)}
    >
      {groups.map((list) => {
        const tokens = list.map((i) => reading.tokens[i]);
        const first = tokens[0];
        const w = row ? list.reduce((sum, i) => (Number.isNaN(row[i]) ? sum : sum + row[i]), 0) : NaN;
        const seen = row ? list.some((i) => !Number.isNaN(row[i])) : false;
        const e = seen ? entry(w, scale.value) : -1;
        const isQuery = asQueries && list.some((i) => activeQueries.value.includes(i));
        const isKey = asKeys && list.some((i) => keys.value.includes(i) || hoverCell.value?.key === i);
        const pinned = asQueries
          ? list.every((i) => queries.value.includes(i))
          : list.every((i) => keys.value.includes(i));
        const text = words.value ? tokens.map((t) => t.text).join('') : first.text;
        const word = words.value ? (reading.words.find((x) => x.begin === list[0])?.text ?? text) : text;
        const name = shown(word);
        const isNew = written > 0 && list[0] >= reading.tokens.length - written;
        return (
          <button
            type="button"
            key={list[0]}
            data-token={list[0]}
            aria-pressed={pinned}
            dir="auto"
            class={`chip${isQuery ? ' query' : ''}${isKey ? ' key' : ''}${first.added ? ' added' : ''}${row && !seen ? ' masked' : ''}${isNew ? ' new' : ''}`}
            style={e >= 0 ? { background: css(colors, e), color: ink(colors, e) } : {}}
            title={`${JSON.stringify(word)}, token ${list.join('–')}, id ${tokens.map((t) => t.id).join(' ')}${first.added ? ', put there by the tokenizer' : ''}${seen ? `, weight ${w}` : row ? ', not visible' : ''}`}
            onClick={(event) => click(list, event)}
            onPointerEnter={(event) => {
              if (asQueries && event.pointerType !== 'touch') hoverQuery.value = list[0];
            }}
            onPointerLeave={(event) => {
              if (event.pointerType !== 'touch') hoverQuery.value = null;
            }}
          >
            <span>{clipped(name, 24)}</span>
            {asKeys && <small aria-hidden="true">{seen ? small(w) : ' '}</small>}
          </button>
        );
      })}
    </div>
  );
}

export function Strip() {
  const info = run.value;
  if (!info)
    return (
      <section class="strip card" aria-label="Tokens">
        <p class="empty">Waiting for the model…</p>
      </section>
    );
  const toggle = (
    <label class="check">
      <input
        type="checkbox"
        checked={words.value}
        onChange={(event) => {
          words.value = event.currentTarget.checked;
        }}
      />{' '}
      whole words
    </label>
  );
  if (part.value === 'cross') {
    return (
      <section class="strip card" aria-label="Tokens">
        <div class="strip-row">
          <span class="strip-name">writes</span>
          <Chips reading={queryReading.value} asQueries asKeys={false} label="written tokens, the queries" />
        </div>
        <div class="strip-row">
          <span class="strip-name">looks at</span>
          <Chips reading={keyReading.value} asQueries={false} asKeys label="tokens of the text, the keys" />
          {toggle}
        </div>
      </section>
    );
  }
  const border = queryReading.value.second;
  if (border > 0)
    return (
      <section class="strip card" aria-label="Tokens">
        <div class="strip-row">
          <span class="strip-name">text A</span>
          <Chips reading={queryReading.value} asQueries asKeys end={border} label="tokens of the first text" />
          {toggle}
        </div>
        <div class="strip-row">
          <span class="strip-name">text B</span>
          <Chips reading={queryReading.value} asQueries asKeys from={border} label="tokens of the second text" />
        </div>
      </section>
    );
  return (
    <section class="strip card" aria-label="Tokens">
      <div class="strip-row">
        <span class="strip-name">{part.value === 'encoder' ? 'reads' : info.written ? 'writes' : 'reads'}</span>
        <Chips reading={queryReading.value} asQueries asKeys label="tokens: click pins a query, with Ctrl a key" />
        {toggle}
      </div>
    </section>
  );
}
