// A beside B: another text, another model, or the model without the change. One cursor for both, and their difference.
import { computed, effect, signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { align, difference, distance, placed, type Pair } from './align';
import { checkpointsOf, sameHeads } from './checkpoints';
import { colorsOf, entryOf, type Paint } from './color_scale';
import { dialog, Dialog } from './dialogs';
import { clipped, digits, shown, weight } from './format';
import { changed } from './knockout';
import { numbersInfo, readNumbers, weights, type Numbers } from './numbers';
import { hatched } from './paint';
import {
  compared,
  model,
  models,
  offline,
  palette,
  part,
  partInfo,
  place,
  report,
  run,
  scale,
  theme,
  theSource,
  type Place,
} from './state';
import type { PartInfo, PartName, Reading, RunInfo } from './types';
import { joined, type Joined } from './words';

interface Other {
  info: RunInfo;
  numbers: Numbers;
  name: string;
}
const other = signal<Other | null>(null);
const otherHead = signal<Place | null>(null); // none: the same place
const loading = signal(false);
const cursor = signal<{ row: number; column: number } | null>(null);
const blink = signal<'A' | 'B' | null>(null); // which of the two is shown, if they share one place; none: side by side
const turn = 700; // milliseconds

// In the address: open, c (without the change), m:MODEL or t:TEXT.
export function openCompare(): void {
  compared.value = changed.value ? 'c' : 'open';
}
const withoutChange = 'without the change';
export function followCompare(): void {
  let before: string | null = null;
  effect(() => {
    const what = compared.value,
      info = run.value;
    if (!info || offline.value || what === before) return;
    before = what;
    otherHead.value = cursor.value = null;
    if (what === null || what === 'open') other.value = null; // otherwise the old one is shown until the next one has arrived
    if (what !== null) dialog.value = 'compare';
    else if (dialog.peek() === 'compare') dialog.value = null;
    if (what === 'c') void take(info, withoutChange);
    else if (what?.startsWith('m:')) void withModel(what.slice(2));
    else if (what?.startsWith('t:')) void withText(what.slice(2));
  });
  effect(() => {
    if (dialog.value !== 'compare' && before !== null && compared.peek() === before) compared.value = null;
  });
}
async function take(info: RunInfo | Promise<RunInfo>, name: string): Promise<void> {
  loading.value = true;
  try {
    const found = await info,
      at = found.parts.find((p) => p.part === part.value);
    if (!at) throw new Error(`${found.model.name} has no ${part.value} attention`);
    const numbers = await readNumbers(found, part.value);
    if (!numbers.weights)
      throw new Error('The text is too long to compare here: shorten it, or use headlight compare in the terminal.');
    otherHead.value = null;
    other.value = { info: found, numbers, name };
  } catch (error) {
    report(error);
  }
  loading.value = false;
}
const withModel = (name: string) => take(theSource().run({ model: name, text: run.value!.text }), name);
const withText = (text: string) => take(theSource().run({ model: model.value, text }), `“${clipped(text, 40)}”`);

function sidesOf(info: RunInfo, name: PartName): [Reading, Reading] {
  if (info.written === null || name === 'encoder') return [info.source, info.source];
  return name === 'cross' ? [info.written, info.source] : [info.decoder_input!, info.decoder_input!];
}
function mapOf(info: PartInfo, all: Float32Array, at: Place): Float32Array {
  const size = info.rows * info.columns,
    first = (at.layer * info.heads + at.head) * size;
  return all.subarray(first, first + size);
}

interface Sides {
  rows: Pair[];
  columns: Pair[];
  byWords: boolean;
  of: (side: 0 | 1, at: Place) => Float32Array;
  rowName: (i: number) => string;
  columnName: (j: number) => string;
  heads: [PartInfo, PartInfo];
}
// Tokens if both texts have the same ones, else words.
const sides = computed<Sides | null>(() => {
  const b = other.value,
    infoA = numbersInfo.value,
    p = partInfo.value,
    all = weights.value,
    name = part.value;
  const q = b?.info.parts.find((x) => x.part === name);
  if (!b || !infoA || !p || !q || !all) return null;
  const readingsA = sidesOf(infoA, name),
    readingsB = sidesOf(b.info, name);
  const ids = (r: Reading) => r.tokens.map((t) => t.id).join();
  const same =
    sameHeads(infoA.model.name, b.info.model.name) && [0, 1].every((i) => ids(readingsA[i]) === ids(readingsB[i]));
  const names = (list: string[]) => list.map((t) => (same ? t : shown(t).toLowerCase()));
  const joinedOf = (side: 0 | 1, at: Place): Joined =>
    side === 0
      ? joined(mapOf(p, all, at), readingsA[0], readingsA[1], !same)
      : joined(mapOf(q, b.numbers.weights!, at), readingsB[0], readingsB[1], !same);
  const first = joinedOf(0, { layer: 0, head: 0 }),
    second = joinedOf(1, { layer: 0, head: 0 });
  const together = (x: string[], y: string[]): Pair[] => (same ? x.map((_, i) => [i, i]) : align(names(x), names(y)));
  const rows = together(first.rowNames, second.rowNames),
    columns = together(first.columnNames, second.columnNames);
  const nameIn = (pair: Pair, x: string[], y: string[]) => shown(pair[0] >= 0 ? x[pair[0]] : y[pair[1]]);
  return {
    rows,
    columns,
    byWords: !same,
    of: (side, at) => placed(joinedOf(side, at), rows, columns, side),
    rowName: (i) => nameIn(rows[i], first.rowNames, second.rowNames),
    columnName: (j) => nameIn(columns[j], first.columnNames, second.columnNames),
    heads: [p, q],
  };
});

const headB = computed<Place>(() => otherHead.value ?? place.value);
const maps = computed(() => {
  const s = sides.value;
  if (!s || headB.value.layer >= s.heads[1].layers || headB.value.head >= s.heads[1].heads) return null;
  const a = s.of(0, place.value),
    b = s.of(1, headB.value);
  return { a, b, d: difference(a, b), apart: distance(a, b, s.rows, s.columns.length) };
});
// For one model the heads that differ most; for two, the head of B most similar to the chosen one of A.
const ranking = computed<{ at: Place; apart: number }[]>(() => {
  const s = sides.value;
  if (!s) return [];
  const [p, q] = s.heads,
    own = sameHeads(other.value!.info.model.name, numbersInfo.value!.model.name),
    chosen = own ? null : s.of(0, place.value),
    list: { at: Place; apart: number }[] = [];
  for (let layer = 0; layer < q.layers; ++layer)
    for (let head = 0; head < q.heads; ++head) {
      const at = { layer, head };
      if (own && (layer >= p.layers || head >= p.heads)) continue;
      list.push({ at, apart: distance(chosen ?? s.of(0, at), s.of(1, at), s.rows, s.columns.length) });
    }
  return list.sort((x, y) => (own ? y.apart - x.apart : x.apart - y.apart)).slice(0, 8);
});

function Map({ values, title, signed, test }: { values: Float32Array; title: string; signed?: boolean; test: string }) {
  const canvas = useRef<HTMLCanvasElement>(null),
    s = sides.value!,
    rows = s.rows.length,
    columns = s.columns.length,
    at = cursor.value;
  const limit = signed ? Math.max(1e-9, ...values.map((x) => (Number.isNaN(x) ? 0 : Math.abs(x)))) : 1,
    p: Paint = { signed: Boolean(signed), limit, scale: scale.value, theme: theme.value, palette: palette.value };
  const cell = Math.max(1, Math.min(18, Math.floor(250 / Math.max(rows, columns))));
  useLayoutEffect(() => {
    const c = canvas.current!.getContext('2d')!,
      colors = colorsOf(p);
    canvas.current!.width = columns * cell;
    canvas.current!.height = rows * cell;
    c.fillStyle = hatched(c, theme.value);
    c.fillRect(0, 0, columns * cell, rows * cell);
    values.forEach((x, i) => {
      if (Number.isNaN(x)) return;
      const e = 3 * entryOf(p, x);
      c.fillStyle = `rgb(${colors[e]},${colors[e + 1]},${colors[e + 2]})`;
      c.fillRect((i % columns) * cell, Math.floor(i / columns) * cell, cell, cell);
    });
    if (!at) return;
    c.strokeStyle = getComputedStyle(canvas.current!).getPropertyValue('--ring');
    c.lineWidth = 2;
    c.strokeRect(at.column * cell + 1, at.row * cell + 1, cell - 2, cell - 2);
  }, [values, at, scale.value, theme.value, palette.value]);
  return (
    <figure>
      <figcaption>
        {title}
        {signed && <small> ±{digits(limit, 2)}</small>}
      </figcaption>
      {cell >= 10 && (
        <div class="compare-names" aria-hidden="true" style={{ lineHeight: `${cell}px` }}>
          {s.rows.map((_, i) => (
            <span key={i} class={at?.row === i ? 'here' : ''}>
              {clipped(s.rowName(i), 10)}
            </span>
          ))}
        </div>
      )}
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${title}, ${rows} by ${columns}`}
        data-test={test}
        onPointerMove={(event) => {
          const box = canvas.current!.getBoundingClientRect();
          const row = Math.floor(((event.clientY - box.top) / box.height) * rows),
            column = Math.floor(((event.clientX - box.left) / box.width) * columns);
          if (row >= 0 && column >= 0 && row < rows && column < columns) cursor.value = { row, column };
        }}
        onPointerLeave={() => (cursor.value = null)}
      />
    </figure>
  );
}

// Blink: both in turn in one place. With reduced motion the reader switches.
function Blink() {
  const on = blink.value !== null,
    flip = () => (blink.value = blink.value === 'A' ? 'B' : 'A');
  useEffect(() => {
    if (!on || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    const timer = setInterval(flip, turn);
    return () => clearInterval(timer);
  }, [on]);
  return (
    <p class="buttons">
      <button
        type="button"
        aria-pressed={on}
        data-test="blink"
        title="A and B in turn, in one place"
        onClick={() => (blink.value = on ? null : 'A')}
      >
        Blink
      </button>
      {on && (
        <button type="button" data-test="blink-flip" onClick={flip}>
          {blink.value} → {blink.value === 'A' ? 'B' : 'A'}
        </button>
      )}
    </p>
  );
}

function Largest() {
  const s = sides.value!,
    { a, b, d } = maps.value!,
    columns = s.columns.length;
  const list = Array.from(d, (x, i) => ({ x, i }))
    .filter((e) => !Number.isNaN(e.x) && Math.abs(e.x) > 1e-6)
    .sort((u, v) => Math.abs(v.x) - Math.abs(u.x))
    .slice(0, 8);
  if (list.length === 0)
    return (
      <p class="hint" data-test="no-difference">
        No difference: all weights that both have are equal.
      </p>
    );
  return (
    <table class="sums" data-test="differences">
      <thead>
        <tr>
          <th scope="col">link</th>
          <th scope="col">A</th>
          <th scope="col">B</th>
          <th scope="col">B − A</th>
        </tr>
      </thead>
      <tbody>
        {list.map(({ x, i }) => (
          <tr
            key={i}
            onPointerEnter={() => (cursor.value = { row: Math.floor(i / columns), column: i % columns })}
            onPointerLeave={() => (cursor.value = null)}
          >
            <th scope="row">
              <bdi>{clipped(s.rowName(Math.floor(i / columns)), 16)}</bdi> →{' '}
              <bdi>{clipped(s.columnName(i % columns), 16)}</bdi>
            </th>
            <td>{weight(a[i])}</td>
            <td>{weight(b[i])}</td>
            <td data-value={x}>
              {x > 0 ? '+' : '−'}
              {weight(Math.abs(x))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// The steps of a training run: how a head learned its pattern.
function Steps() {
  const list = checkpointsOf(
    models.value.map((m) => m.name),
    model.value,
  );
  if (list.length < 2) return null;
  const named = compared.value?.startsWith('m:') ? compared.value.slice(2) : '',
    at = list.findIndex((c) => c.name === named),
    own = list.find((c) => c.name === model.value)!;
  return (
    <label class="check">
      checkpoint{' '}
      <input
        type="range"
        min="0"
        max={list.length - 1}
        step="1"
        value={Math.max(0, at)}
        data-test="compare-step"
        aria-valuetext={at < 0 ? 'none yet' : `step ${list[at].step}`}
        onInput={(event) => (compared.value = `m:${list[Number(event.currentTarget.value)].name}`)}
      />{' '}
      <b data-test="compare-steps">
        step {own.step} against {at < 0 ? '…' : list[at].step}
      </b>
    </label>
  );
}

function Heads() {
  const own = sameHeads(other.value!.info.model.name, numbersInfo.value!.model.name);
  return (
    <p class="changes" data-test="compare-heads">
      <span>
        {own ? 'Heads that differ most:' : `Heads of B most like ${place.value.layer}.${place.value.head} of A:`}
      </span>
      {ranking.value.map(({ at, apart }) => (
        <button
          type="button"
          class="tag"
          key={`${at.layer}.${at.head}`}
          aria-pressed={at.layer === headB.value.layer && at.head === headB.value.head}
          title="Half the sum of absolute differences of a row, mean over the rows: 0 means equal, 1 nothing in common"
          onClick={() => {
            if (own) place.value = at;
            else otherHead.value = at;
          }}
        >
          {at.layer}.{at.head} <small>{apart.toFixed(2)}</small>
        </button>
      ))}
    </p>
  );
}

export function Compare() {
  const field = useRef<HTMLInputElement>(null),
    s = sides.value,
    m = maps.value,
    at = cursor.value,
    i = at && s ? at.row * s.columns.length + at.column : -1;
  const apart = (x: Float32Array) => (Number.isNaN(x[i]) ? 'nothing' : weight(x[i])),
    given = compared.value?.startsWith('t:') ? compared.value.slice(2) : null;
  useLayoutEffect(() => {
    if (given !== null) field.current!.value = given;
  }, [given]);
  return (
    <Dialog title="Compare" wide>
      <form
        class="compare-with"
        onSubmit={(event) => {
          event.preventDefault();
          const text = field.current!.value;
          if (text.trim()) compared.value = `t:${text}`;
        }}
      >
        <span>A is the current view. Compare with B:</span>
        {changed.value && (
          <button type="button" onClick={() => (compared.value = 'c')}>
            without the change
          </button>
        )}
        {models.value.length > 1 && (
          <select
            aria-label="Another model"
            data-test="compare-model"
            value=""
            onChange={(event) => (compared.value = `m:${event.currentTarget.value}`)}
          >
            <option value="">another model …</option>
            {models.value
              .filter((x) => x.name !== model.value)
              .map((x) => (
                <option key={x.name} value={x.name}>
                  {x.name}
                </option>
              ))}
          </select>
        )}
        <Steps />
        <input
          ref={field}
          type="text"
          aria-label="Another text"
          data-test="compare-text"
          placeholder="another text, then Enter"
          defaultValue={run.value?.text}
        />
        <button type="submit">Compare</button>
      </form>
      {loading.value && <p class="hint">Computing…</p>}
      {!weights.value && (
        <p class="hint">The text is too long to compare here: shorten it, or use headlight compare in the terminal.</p>
      )}
      {s && other.value && (
        <>
          <Heads />
          {m ? (
            <>
              <Blink />
              <div class="compare-maps">
                {blink.value !== 'B' && (
                  <Map
                    key={blink.value ? 'both' : 'a'}
                    values={m.a}
                    title={`A: head ${place.value.layer}.${place.value.head}`}
                    test="map-a"
                  />
                )}
                {blink.value !== 'A' && (
                  <Map
                    key={blink.value ? 'both' : 'b'}
                    values={m.b}
                    title={`B: ${other.value.name}, head ${headB.value.layer}.${headB.value.head}`}
                    test="map-b"
                  />
                )}
                <Map key="d" values={m.d} title="B − A" signed test="map-difference" />
              </div>
              <p data-test="compare-readout">
                {at && s.rows[at.row] && s.columns[at.column] ? (
                  <>
                    <bdi>{clipped(s.rowName(at.row))}</bdi> → <bdi>{clipped(s.columnName(at.column))}</bdi>: A{' '}
                    <b>{apart(m.a)}</b>, B <b>{apart(m.b)}</b>
                  </>
                ) : (
                  <span class="quiet">
                    {s.byWords ? 'Aligned by words' : 'The same tokens'}; distance {m.apart.toFixed(3)} (0 means equal,
                    1 nothing in common). {s.byWords && <span class="badge derived">derived</span>}
                  </span>
                )}
              </p>
              <Largest />
            </>
          ) : (
            <p class="hint">
              B has no head {headB.value.layer}.{headB.value.head}; choose one above.
            </p>
          )}
        </>
      )}
    </Dialog>
  );
}
