// The next-token predictions, and generation.
import { useEffect } from 'preact/hooks';
import { KnockOut } from './knockout_panel';
import { prediction } from './predictions';
import { goOnWith, play, redraw, stopPlaying, takeBack, writeOne } from './runs';
import { busy, guessing, offline, plan, playing, queryReading, run, sampling, streaming } from './state';
import { written } from './writing';
import { clipped, digits, shown } from './format';

// The text written by a stream, its end.
function Written() {
  return (
    <table class="guesses" data-test="written">
      <tbody>
        {written.value.slice(-8).map((token, i) => (
          <tr key={i}>
            <th scope="row">
              <bdi>{clipped(shown(token.text), 16)}</bdi>
            </th>
            <td class="bar">
              <span style={{ width: `${100 * token.p}%` }} />
            </td>
            <td>{digits(token.p, 3)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Sampling() {
  const s = sampling.value;
  const set = (change: Partial<typeof s>) => {
    sampling.value = { ...s, ...change };
  };
  const number = (value: string, most: number) => Math.max(0, Math.min(most, Number(value) || 0));
  return (
    <div class="sampling">
      <label>
        temperature{' '}
        <input
          type="number"
          min="0"
          max="10"
          step="0.1"
          value={s.temperature}
          onChange={(e) => set({ temperature: number(e.currentTarget.value, 10) })}
        />
      </label>
      <label>
        top-k{' '}
        <input
          type="number"
          min="0"
          max="1000"
          step="1"
          value={s.top_k}
          title="0: all tokens"
          onChange={(e) => set({ top_k: Math.round(number(e.currentTarget.value, 1000)) })}
        />
      </label>
      <label>
        seed{' '}
        <input
          type="number"
          min="0"
          step="1"
          value={s.seed}
          onChange={(e) => set({ seed: Math.round(number(e.currentTarget.value, 1e9)) })}
        />
      </label>
    </div>
  );
}

export function Next() {
  const info = run.value,
    found = prediction.value;
  useEffect(() => stopPlaying, []);
  if (!info) return null;
  const kind = info.model.kind,
    writes = kind === 'decoder',
    translates = kind === 'encoder_decoder';
  const token = found ? queryReading.value.tokens[found.position] : undefined;
  const top = found ? Math.max(...found.tops.map((g) => g.p), 1e-9) : 1;
  return (
    <section class="card next" aria-labelledby="next-title">
      <header key={found?.position}>
        <h2 id="next-title">
          {translates ? 'Next word of the translation' : writes ? 'Next token' : 'Most likely here'}
        </h2>
        {found && token && (writes || translates) && !streaming.value && (
          <span class="quiet">
            {writes ? (
              <>
                after <bdi>{clipped(shown(token.text))}</bdi>
              </>
            ) : (
              `place ${found.position}`
            )}
          </span>
        )}
      </header>
      {streaming.value ? (
        <Written />
      ) : !found ? (
        <p class="hint">
          {info.predictions === 0 ? 'This model has no prediction head, so there is nothing to predict.' : 'Loading…'}
        </p>
      ) : guessing.value ? (
        <p class="hint">Hidden while you guess.</p>
      ) : plan.value ? (
        <KnockOut />
      ) : (
        <table class="guesses" data-test="next">
          <tbody>
            {found.tops.slice(0, 8).map((g, i) => (
              <tr
                key={i}
                class={found.actual?.id === g.id ? 'chosen' : ''}
                title={`id ${g.id}, logit ${g.logit}, p ${g.p}`}
              >
                <th scope="row">
                  {writes && !offline.value ? (
                    <button
                      type="button"
                      class="plain-word"
                      title="Continue with this token; the tokens after this place are removed"
                      onClick={() => goOnWith(found.position, g.id)}
                    >
                      <bdi>{clipped(shown(g.text), 16)}</bdi>
                    </button>
                  ) : (
                    <bdi>{clipped(shown(g.text), 16)}</bdi>
                  )}
                </th>
                <td class="bar">
                  <span style={{ width: `${(100 * g.p) / top}%` }} />
                </td>
                <td>{digits(g.p, 3)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {found?.actual && !guessing.value && !streaming.value && (
        <p class="quiet">
          {writes ? 'The text continues with' : translates ? 'Written:' : 'The text has'}{' '}
          <b dir="auto">{clipped(shown(found.actual.text))}</b>: {digits(found.actual.p, 3)}, rank {found.rank}.
        </p>
      )}
      {writes && (
        <div class="writing">
          <div class="buttons">
            <button
              type="button"
              class="primary"
              disabled={busy.value || offline.value}
              onClick={() => {
                void writeOne();
              }}
              title="Key g"
            >
              Write one token
            </button>
            <button
              type="button"
              disabled={offline.value}
              onClick={() => {
                void play();
              }}
            >
              {playing.value ? 'Pause' : 'Play'}
            </button>
            <button type="button" disabled={busy.value || info.more.length === 0 || offline.value} onClick={takeBack}>
              Take back
            </button>
          </div>
          {!offline.value && <Sampling />}
          {offline.value && <p class="hint">A saved page cannot generate text; headlight serve can.</p>}
        </div>
      )}
      {translates && !offline.value && (
        <div class="writing">
          <div class="buttons">
            <button type="button" disabled={busy.value} onClick={redraw}>
              Translate again
            </button>
          </div>
          <Sampling />
          <p class="hint">Temperature 0 gives the most likely translation.</p>
        </div>
      )}
    </section>
  );
}
