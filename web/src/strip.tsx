// The text as chips, one row for each text that is read or written.
import { Chips } from './chips';
import { keyReading, part, queryReading, run, words } from './state';

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
