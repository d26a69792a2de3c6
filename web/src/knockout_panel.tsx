// Next to the predictions: the change, its effect, and its limits as evidence.
import { ablateCommand } from './commands';
import { copy } from './dialogs';
import { nameOf } from './finding';
import { clipped, digits, plural, shown } from './format';
import { canUndo, changed, changing, setChange, setPlan, showsBase, undo } from './knockout';
import { isCut } from './plan';
import { keyReading, offline, part, plan, queryReading, run } from './state';
import type { ChangeName, Effect, Plan } from './types';

const names: [ChangeName, string][] = [
  ['zero', 'zeroed'],
  ['mean', 'replaced by their mean'],
  ['scale', 'scaled'],
];
const cutNames: [ChangeName, string][] = [
  ['cut-mask', 'masked: the other weights are renormalised'],
  ['cut-weight', 'weight 0: the other weights stay'],
];
const signed = (x: number, count = 2) => (x > 0 ? '+' : '') + digits(x, count);

function What({ p }: { p: Plan }) {
  if (isCut(p.change)) {
    const [q, qe, k, ke] = p.links[0],
      list = (from: number, end: number) => Array.from({ length: end - from }, (_, i) => from + i);
    const here = p.part === part.value;
    return (
      <p class="changes">
        <span>
          Link{' '}
          {here ? (
            <b>
              <bdi>{clipped(nameOf(queryReading.value, list(q, qe)))}</bdi> →{' '}
              <bdi>{clipped(nameOf(keyReading.value, list(k, ke)))}</bdi>
            </b>
          ) : (
            <b>
              {q} → {k}
            </b>
          )}{' '}
          of {p.part} head {p.heads[0].layer}.{p.heads[0].head}:
        </span>
        <select
          aria-label="How the link is cut"
          value={p.change}
          onChange={(event) => setChange(event.currentTarget.value as ChangeName)}
        >
          {cutNames.map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </p>
    );
  }
  return (
    <p class="changes">
      <span>{run.value!.parts.length > 1 ? `${p.part} ` : ''}heads</span>
      {p.heads.slice(0, 12).map((h) => (
        <button
          type="button"
          class="tag"
          key={`${h.layer}.${h.head}`}
          title="Restore it"
          aria-label={`Restore head ${h.layer}.${h.head}`}
          onClick={() => {
            const rest = p.heads.filter((o) => o !== h);
            setPlan(rest.length > 0 ? { ...p, heads: rest } : null);
          }}
        >
          {h.layer}.{h.head} ✕
        </button>
      ))}
      {p.heads.length > 12 && <span>and {p.heads.length - 12} more</span>}
      <select
        aria-label="How the heads are changed"
        data-test="change"
        disabled={offline.value}
        value={p.change}
        onChange={(event) => setChange(event.currentTarget.value as ChangeName)}
      >
        {names.map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      {p.change === 'scale' && (
        <label>
          ×{' '}
          <input
            type="number"
            min="0"
            max="2"
            step="0.1"
            data-test="factor"
            value={p.factor}
            onChange={(event) => setChange('scale', Math.max(0, Math.min(100, Number(event.currentTarget.value) || 0)))}
          />
        </label>
      )}
    </p>
  );
}

function Table({ e }: { e: Effect }) {
  const most = Math.max(...e.tokens.map((t) => Math.max(t.before, t.after)), 1e-9);
  return (
    <table class="guesses effects" data-test="effects">
      <thead>
        <tr>
          <th scope="col">token</th>
          <th scope="col">
            <span class="unseen">bars</span>
          </th>
          <th scope="col">base</th>
          <th scope="col">changed</th>
          <th scope="col">Δ</th>
        </tr>
      </thead>
      <tbody>
        {e.tokens.map((t) => (
          <tr
            key={t.id}
            data-id={t.id}
            title={`logit ${digits(t.logit_before)} → ${digits(t.logit_after)} (${signed(t.logit_after - t.logit_before, 3)}), rank ${t.rank_before} → ${t.rank_after}`}
          >
            <th scope="row">
              <bdi>{clipped(shown(t.text), 14)}</bdi>
              {t.rank_before !== t.rank_after && (
                <small>
                  {' '}
                  #{t.rank_before}→{t.rank_after}
                </small>
              )}
            </th>
            <td class="bar two">
              <span class={showsBase.value ? '' : 'faint'} style={{ width: `${(100 * t.before) / most}%` }} />
              <span class={showsBase.value ? 'faint' : ''} style={{ width: `${(100 * t.after) / most}%` }} />
            </td>
            <td data-value={t.before}>{digits(t.before, 2)}</td>
            <td data-value={t.after}>{digits(t.after, 2)}</td>
            <td data-value={t.after - t.before}>{signed(t.after - t.before)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// The divergence of the prediction at each position, as bars.
function Positions({ e }: { e: Effect }) {
  const most = Math.max(...e.kl, 1e-12),
    width = Math.min(6, 300 / e.kl.length);
  return (
    <svg
      class="positions"
      role="img"
      data-test="positions"
      aria-label={`KL divergence at each of ${e.kl.length} positions, largest ${digits(most, 2)} nats`}
      viewBox={`0 0 ${e.kl.length * width} 24`}
      preserveAspectRatio="none"
    >
      {e.kl.slice(0, 1024).map((x, i) => (
        <rect
          key={i}
          class={i === e.position ? 'here' : ''}
          x={i * width}
          width={Math.max(0.5, width * 0.8)}
          y={24 - (23 * x) / most - 1}
          height={(23 * x) / most + 1}
        />
      ))}
    </svg>
  );
}

export function KnockOut() {
  const p = plan.value,
    c = changed.value;
  if (!p) return null;
  const e = c?.effect;
  return (
    <div class="knockout" data-test="knockout" aria-busy={changing.value}>
      <What p={p} />
      <div class="buttons">
        <button
          type="button"
          aria-pressed={showsBase.value}
          disabled={!c || offline.value}
          title="Key b: the original model, or the changed one"
          data-test="flip"
          onClick={() => (showsBase.value = !showsBase.value)}
        >
          {showsBase.value ? 'Showing base' : 'Showing changed'}
        </button>
        <button type="button" disabled={!canUndo.value} data-test="undo" onClick={undo}>
          Undo
        </button>
        <button type="button" data-test="put-back" onClick={() => setPlan(null)}>
          Restore all
        </button>
      </div>
      {!e ? (
        <p class="hint">Computing…</p>
      ) : (
        <>
          {offline.value && (
            <p class="quiet" data-test="beforehand">
              Computed when this page was saved, for the token after{' '}
              <b dir="auto">{clipped(shown(queryReading.value.tokens[e.position]?.text ?? ''), 14)}</b>. The maps are
              those of the original.
            </p>
          )}
          <Table e={e} />
          <p class="quiet" data-test="divergence">
            KL <b data-value={e.kl[e.position]}>{digits(e.kl[e.position], 3)}</b> nats here, {digits(e.mean_kl, 3)} on
            average over {plural(e.kl.length, 'position')}
            {e.loss && `; loss ${digits(e.loss[0], 3)} → ${digits(e.loss[1], 3)}`}.
          </p>
          <Positions e={e} />
        </>
      )}
      <p class="caveat">
        {p.change === 'mean'
          ? `Means over ${e?.mean_sentences || 20} plain sentences stay close to the usual input of later layers. `
          : 'Zeroing or cutting moves the model outside its training distribution. '}
        Other heads may compensate. A large weight does not make a head important.{' '}
        <button
          type="button"
          class="plain-link"
          onClick={() => void copy(ablateCommand(), 'Command copied')}
          title={ablateCommand()}
        >
          Copy command
        </button>
      </p>
    </div>
  );
}
