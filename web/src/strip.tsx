// The text as chips: click pins a query, colours are what it gives to each key.
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
import type { Reading } from './types';

interface ChipsProps {
  reading: Reading;
  asQueries: boolean;
  asKeys: boolean;
  label: string;
}

function Chips({ reading, asQueries, asKeys, label }: ChipsProps) {
  const row = asKeys && !guessing.value ? activeRow.value : null,
    colors = table(theme.value);
  const groups: number[][] =
    words.value && reading.words.length > 0
      ? reading.words.map((w) => Array.from({ length: w.end - w.begin }, (_, i) => w.begin + i))
      : reading.tokens.map((_, i) => [i]);
  const written = run.value && reading === run.value.source ? run.value.more.length : 0;
  const click = (list: number[], event: MouseEvent) => {
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
    <div class="chips" role="group" aria-label={label} dir="auto">
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
            onPointerEnter={() => {
              if (asQueries) hoverQuery.value = list[0];
            }}
            onPointerLeave={() => {
              hoverQuery.value = null;
            }}
          >
            <span>{clipped(name, 24)}</span>
            <small aria-hidden="true">{seen ? small(w) : ' '}</small>
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
