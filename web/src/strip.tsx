// The text as chips, one row for each text that is read or written.
import { inOrder } from './bidi';
import { Chips } from './chips';
import { wordAround } from './finding';
import { shown } from './format';
import { rove } from './rove';
import { setPart } from './runs';
import { keyReading, part, queryReading, run, words } from './state';
import { directionOf } from './tokens';
import type { PartName, Reading } from './types';

// Of a translator, the text that is not looked at now: a word of it goes there.
function OtherText({ reading, name, to }: { reading: Reading; name: string; to: PartName }) {
  return (
    <div class="strip-row other" data-test="other-text">
      <span class="strip-name">{name}</span>
      <div class="other-words" dir={directionOf(reading.text)} onKeyDown={(event) => rove(event)}>
        {inOrder(
          reading,
          reading.words.map((w) => w.text),
          reading.words.map((w, i) =>
            reading.tokens[w.begin].added ? null : (
              <button
                type="button"
                key={w.begin}
                tabIndex={i === 0 ? 0 : -1}
                title={
                  to === 'cross' ? 'Where does this word look when it is written?' : 'What does this word look at?'
                }
                onClick={() => void setPart(to, null, wordAround(reading, w.begin))}
              >
                {shown(w.text)}
              </button>
            ),
          ),
        )}
      </div>
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
      {info.written && part.value === 'decoder' && <OtherText reading={info.source} name="reads" to="encoder" />}
      <div class="strip-row">
        <span class="strip-name">{part.value === 'encoder' ? 'reads' : info.written ? 'writes' : 'reads'}</span>
        <Chips reading={queryReading.value} asQueries asKeys label="tokens: click pins a query, with Ctrl a key" />
        {toggle}
      </div>
      {info.written && part.value === 'encoder' && <OtherText reading={info.written} name="writes" to="cross" />}
    </section>
  );
}
