// One head: its map or lines, the scale, and the number under the cursor.
import { Dialog, dialog } from './dialogs';
import { nameOf } from './finding';
import { clipped, digits, shown, weight } from './format';
import { HeatMap } from './heatmap';
import { Legend } from './legend';
import { Lines } from './lines';
import { activeRow, shownMap } from './numbers';
import { setPart } from './runs';
import {
  guessing,
  hoverCell,
  keyReading,
  keys,
  lines,
  muted,
  part,
  partInfo,
  place,
  queries,
  queryReading,
  run,
  scale,
  shownPlace,
} from './state';
import { type PartName, type Scale } from './types';
import { cellSize, drawn, fit, view } from './view';

export const scales: Scale[] = ['sqrt', 'log', 'linear'];
export const scaleNames = { sqrt: '√', log: 'log', linear: 'linear' };

export const partNames: Record<PartName, string> = { encoder: 'Encoder', decoder: 'Decoder', cross: 'Cross' };
export function Pattern() {
  const info = run.value,
    at = shownPlace.value,
    p = partInfo.value;
  const map = shownMap.value,
    cell =
      hoverCell.value ??
      (queries.value.length > 0 && keys.value.length > 0 ? { query: queries.value[0], key: keys.value[0] } : null);
  const w = map && p && cell ? map[cell.query * p.columns + cell.key] : NaN;
  let rowSum = NaN;
  if (map && p && cell) {
    rowSum = 0;
    for (let j = 0; j < p.columns; ++j) rowSum += map[cell.query * p.columns + j] || 0;
  }
  return (
    <section class="card pattern" aria-labelledby="pattern-title">
      <header>
        <h2 id="pattern-title">
          Layer {at.layer} · head {at.head}
        </h2>
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
        <span
          class={`badge ${drawn.value?.derived ? 'derived' : 'exact'}`}
          title={
            drawn.value?.derived
              ? 'Computed from the model’s numbers: tokens joined into words'
              : 'The model’s own numbers'
          }
        >
          {drawn.value?.derived ? 'derived' : 'exact'}
        </span>
      </header>
      <div class="tools">
        <div class="segments" role="group" aria-label="As map or lines">
          <button
            type="button"
            aria-pressed={!lines.value}
            onClick={() => {
              lines.value = false;
            }}
          >
            Map
          </button>
          <button
            type="button"
            aria-pressed={lines.value}
            data-test="as-lines"
            onClick={() => {
              lines.value = true;
            }}
          >
            Lines
          </button>
        </div>
        <div class="segments" role="group" aria-label="Colour scale">
          {scales.map((s) => (
            <button
              type="button"
              key={s}
              aria-pressed={scale.value === s}
              onClick={() => {
                scale.value = s;
              }}
            >
              {scaleNames[s]}
            </button>
          ))}
        </div>
        <label class="check">
          <input
            type="checkbox"
            checked={muted.value}
            onChange={(event) => {
              muted.value = event.currentTarget.checked;
            }}
          />{' '}
          mute first token
        </label>
        {view.value.cell > 0 && (
          <button type="button" onClick={fit}>
            Fit
          </button>
        )}
        <button
          type="button"
          disabled={!run.value}
          onClick={() => {
            dialog.value = 'table';
          }}
        >
          As table
        </button>
      </div>
      {lines.value ? (
        <Lines />
      ) : (
        <>
          <HeatMap />
          <Legend value={w} />
        </>
      )}
      <p class="readout" data-test="readout" key={cell ? `${cell.query} ${cell.key}` : ''}>
        {cell && map && !guessing.value ? (
          <>
            <bdi>{clipped(shown(queryReading.value.tokens[cell.query]?.text ?? ''))}</bdi> →{' '}
            <bdi>{clipped(shown(keyReading.value.tokens[cell.key]?.text ?? ''))}</bdi>{' '}
            {Number.isNaN(w) ? (
              <b>not visible</b>
            ) : (
              <b data-test="value" data-value={w}>
                {weight(w)}
              </b>
            )}{' '}
            <span class="quiet">
              row sum <span data-test="margin">{rowSum.toFixed(4)}</span>
              {Number.isNaN(w) ? '' : `, float32 ${w.toPrecision(9)}`}
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
      title={`What “${nameOf(queryReading.value, queries.value)}” looks at in head ${place.value.layer}.${place.value.head}`}
    >
      {list.length === 0 ? (
        <p>Pin a word first.</p>
      ) : (
        <table class="sums" data-test="row-table">
          <thead>
            <tr>
              <th scope="col">rank</th>
              <th scope="col">key</th>
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
