// One head: its map or lines, the scale, and the number under the cursor.
import { Dialog } from './dialogs';
import { headline, link, nameOf, pairOf } from './finding';
import { clipped, digits, shown, weight } from './format';
import { HeatMap } from './heatmap';
import { Legend } from './legend';
import { Lines } from './lines';
import { isLong, pooled } from './long';
import { canChange, isOut, toggleHead } from './knockout';
import { Minimap } from './minimap';
import { activeRow, isDerived, numbersInfo, rowsOf } from './numbers';
import { setPart } from './runs';
import {
  guessing,
  keyReading,
  lines,
  mode,
  muted,
  mutedKeys,
  mutedNames,
  part,
  partInfo,
  place,
  queries,
  queryReading,
  run,
  shownPlace,
  type Cell,
} from './state';
import { modeMap } from './modes';
import { nameOfHeads, Several } from './several';
import { Tools } from './tools';
import { type PartName } from './types';
import { cellSize, drawn, isRenormalised, mutedColumns } from './view';

// For renormalized rows: the cell's number, and the sum of the row without muted columns.
function wholeRow(cell: Cell): { value: number; sum: number } | null {
  const d = drawn.value,
    i = d?.rowOf[cell.query] ?? -1,
    j = d?.columnOf[cell.key] ?? -1;
  if (!d || i < 0 || j < 0) return null;
  let sum = 0;
  mutedColumns.value.forEach((grey, c) => (sum += grey ? 0 : d.values[i * d.columns + c] || 0));
  return { value: mutedColumns.value[j] ? NaN : d.values[i * d.columns + j], sum };
}

export const partNames: Record<PartName, string> = { encoder: 'Encoder', decoder: 'Decoder', cross: 'Cross' };
export function Pattern() {
  const info = run.value,
    at = shownPlace.value,
    p = partInfo.value;
  const l = link.value,
    cell = pairOf(l);
  const w = !l ? NaN : l.chance === 0 ? NaN : l.weight; // of one pair or of several, as the sentence at the top says it
  let rowSum = NaN,
    unmuted = 0;
  const row = cell ? rowsOf([cell.query], false) : null,
    weightTo = (j: number) => row!.map[row!.at[0] * p!.columns + j] || 0;
  if (row && p) {
    rowSum = 0;
    for (let j = 0; j < p.columns; ++j) {
      const x = weightTo(j);
      rowSum += x;
      if (!mutedKeys.value.has(j)) unmuted += x;
    }
  }
  const whole = isRenormalised.value && cell ? wholeRow(cell) : null;
  const m = mode.value === 'weights' ? null : modeMap.value,
    other = m && p && cell ? m[cell.query * p.columns + cell.key] : NaN;
  const derived = isDerived.value
    ? nameOfHeads()
    : mode.value !== 'weights' && !lines.value
      ? 'by this page, from q, k and v'
      : isRenormalised.value
        ? `rows sum to 1 without ${mutedNames[muted.value]}`
        : drawn.value?.derived
          ? pooled.value > 1
            ? `each cell is the largest of ${pooled.value} × ${pooled.value} weights; closer, they are exact`
            : 'tokens joined into words'
          : (headline.value?.how ?? '');
  // Of two texts, what the query gives to each.
  const border = keyReading.value.second;
  let toSecond = 0;
  if (row && p && border > 0) for (let j = border; j < p.columns; ++j) toSecond += weightTo(j);
  return (
    <section class="card pattern" aria-labelledby="pattern-title">
      <header>
        <h2 id="pattern-title">{isDerived.value ? nameOfHeads() : `Layer ${at.layer} · head ${at.head}`}</h2>
        {info && info.parts.length > 1 && (
          <div class="segments" role="group" aria-label="Which attention">
            {info.parts.map((item) => (
              <button
                type="button"
                key={item.part}
                aria-pressed={part.value === item.part}
                data-test={`part-${item.part}`}
                onClick={() => {
                  void setPart(item.part);
                }}
              >
                {partNames[item.part]}
              </button>
            ))}
          </div>
        )}
        {canChange() && (
          <button
            type="button"
            class="power"
            data-test="knock-out"
            aria-pressed={isOut(place.value)}
            title="Remove this head and see how the predictions change (x)"
            onClick={() => toggleHead()}
          >
            {isOut(place.value) ? 'Removed' : 'Remove'}
          </button>
        )}
        {numbersInfo.value?.change && (
          <span class="badge derived" data-test="changed" title="Weights of the changed model; b shows the original">
            with the change
          </span>
        )}
        <span
          class={`badge ${isRenormalised.value ? '' : 'for-engineer '}${derived ? 'derived' : 'exact'}`}
          data-test="origin"
          title={derived ? `Computed from the model’s numbers: ${derived}` : 'The model’s own numbers'}
        >
          {derived ? 'derived' : 'exact'}
        </span>
      </header>
      <Tools />
      {lines.value ? (
        <Lines />
      ) : (
        <>
          <HeatMap />
          {isLong.value && <Minimap />}
          <Legend value={guessing.value ? NaN : whole ? whole.value : mode.value === 'weights' ? w : other} />
        </>
      )}
      <Several />
      <p class="readout" data-test="readout" key={cell ? `${cell.query} ${cell.key}` : ''}>
        {cell && row && !guessing.value ? (
          <>
            <bdi>{clipped(nameOf(queryReading.value, l!.from))}</bdi> →{' '}
            <bdi>{clipped(nameOf(keyReading.value, l!.to))}</bdi>{' '}
            {Number.isNaN(w) ? (
              <b>not visible</b>
            ) : (
              <b data-test="value" data-value={w}>
                {weight(w)}
              </b>
            )}{' '}
            {l!.how && (
              <span class="badge derived" data-test="how" title="Why explains one pair of tokens at a time">
                {l!.how}
              </span>
            )}{' '}
            {!l!.how && !Number.isNaN(other) && (
              <span data-test="other" data-value={other}>
                {mode.value === 'scores' ? 'score' : '‖a·v‖'} {digits(other)}{' '}
              </span>
            )}
            {whole && !Number.isNaN(whole.value) && (
              <span data-test="whole" data-value={whole.value}>
                renormalised {weight(whole.value)}{' '}
              </span>
            )}
            {border > 0 && (
              <span class="quiet" data-test="to-second">
                to A {weight(rowSum - toSecond)}, to B {weight(toSecond)}{' '}
              </span>
            )}
            <span class="quiet for-engineer" dir="ltr">
              row sum <span data-test="margin">{rowSum.toFixed(4)}</span>
              {mutedKeys.value.size > 0 && (
                <>
                  {`, without ${mutedNames[muted.value]} `}
                  <span data-test="unmuted">{(whole ? whole.sum : unmuted).toFixed(4)}</span>
                </>
              )}
              {Number.isNaN(w) || l!.how ? '' : `, float32 ${w.toPrecision(9)}`}
            </span>
          </>
        ) : (
          <span class="quiet">
            {cellSize.value > 0 && p ? `${p.rows} × ${p.columns} weights, each row sums to 1` : ' '}
          </span>
        )}
      </p>
    </section>
  );
}

export function RowTable() {
  const row = activeRow.value,
    list = row
      ? Array.from(row, (w, j) => ({ w, j }))
          .filter((e) => !Number.isNaN(e.w))
          .sort((a, b) => b.w - a.w)
      : [];
  const rest = list.slice(20);
  return (
    <Dialog
      title={`What “${nameOf(queryReading.value, queries.value)}” looks at in head ${place.value.layer}.${place.value.head}${queries.value.length > 1 ? `, mean over ${queries.value.length} tokens` : ''}`}
    >
      {list.length === 0 ? (
        <p>Pin a word first.</p>
      ) : (
        <table class="sums" data-test="row-table">
          <thead>
            <tr>
              <th scope="col">rank</th>
              <th scope="col" style={{ textAlign: 'start' }}>
                key
              </th>
              <th scope="col">place</th>
              <th scope="col">weight</th>
            </tr>
          </thead>
          <tbody>
            {list.slice(0, 20).map((e, i) => (
              <tr key={e.j}>
                <td>{i + 1}</td>
                <th scope="row" dir="auto">
                  {shown(keyReading.value.tokens[e.j].text)}
                </th>
                <td>{e.j}</td>
                <td>{digits(e.w)}</td>
              </tr>
            ))}
            {rest.length > 0 && (
              <tr class="quiet">
                <td colSpan={3}>the other {rest.length}</td>
                <td>{digits(rest.reduce((s, e) => s + e.w, 0))}</td>
              </tr>
            )}
          </tbody>
        </table>
      )}
    </Dialog>
  );
}
