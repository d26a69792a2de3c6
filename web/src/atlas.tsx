// All heads at once, as small maps on one canvas; or the pinned link in every head.
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { atlasPicture, links, shownStatistics, undecided } from './atlas_data';
import { drawAtlas, headAt, layoutOf } from './atlas_drawing';
import { sequence, shownOrder, sorts } from './atlas_order';
import { caption, headLabels, loadingLabels, matching } from './head_names';
import { Corpus } from './corpus';
import { canChange, isOut } from './knockout';
import { LabelChips } from './label_chips';
import { openMenu } from './menu';
import { atlas } from './numbers';
import { Search } from './search';
import { largest, startSweep, stopSweep, sweep, sweeping } from './sweep';
import {
  depth,
  effectMap,
  guessing,
  hoverPlace,
  keyReading,
  keys,
  labelled,
  linkMap,
  offline,
  order,
  beside,
  overlay,
  palette,
  partInfo,
  place,
  plan,
  queries,
  queryReading,
  scale,
  shownKeys,
  shownPlace,
  solo,
  theme,
  type Place,
} from './state';
import { nameOf } from './finding';
import { clipped, digits, plural, shown, weight } from './format';
import { takenAlong, toggleOverlay } from './several';
import { Choice } from './tools';
import { byTouch, LongPress } from './touch';
import type { Order } from './types';

// The progress of a sweep, and the prediction it measures.
function SweepLine() {
  const s = sweep.value,
    total = s?.kl.length ?? 1;
  if (!s) return <p class="hint">Sweeping…</p>;
  const after = queryReading.value.tokens[s.position];
  return (
    <p class="sweep-line" data-test="sweep-line" role="status">
      {s.done < total && <progress max={total} value={s.done} aria-label="Heads measured" />}
      <span>
        {s.done < total ? `${s.done} of ${total} heads. ` : ''}KL in nats of the prediction
        {after ? (
          <>
            {' '}
            at <b dir="auto">{clipped(shown(after.text), 14)}</b>
          </>
        ) : null}{' '}
        when a head is zeroed; largest {digits(largest.value, 2)}. Likeliest there:{' '}
        <b dir="auto">{clipped(shown(s.token.text), 14)}</b> {digits(s.p, 2)}.
      </span>
    </p>
  );
}

export function Atlas() {
  const canvas = useRef<HTMLCanvasElement>(null),
    box = useRef<HTMLDivElement>(null);
  const width = useSignal(300);
  const cached = useRef<{ key: unknown[]; picture: HTMLCanvasElement } | null>(null);
  const p = partInfo.value,
    a = atlas.value,
    t = theme.value,
    s = scale.value,
    c = palette.value;
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      width.value = box.current!.clientWidth;
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const swept = sweep.value,
    asEffects = effectMap.value && swept !== null && !guessing.value,
    captions = labelled.value && headLabels.value !== null && !guessing.value,
    dimmed = guessing.value ? null : matching.value;
  const asLinks = !asEffects && linkMap.value && links.value !== null && !guessing.value,
    sorting = shownOrder.value,
    heads = sequence.value;
  const layout = layoutOf(p, width.value, sorting, captions);
  const at = place.value,
    hovered = hoverPlace.value,
    hidden = guessing.value,
    bars = depth.value === 'learner' || hidden ? null : undecided.value;

  useLayoutEffect(() => {
    if (!p || !a || !canvas.current) return;
    const key = [a, p, s, t, c];
    if (!asLinks && !asEffects && (!cached.current || cached.current.key.some((x, i) => x !== key[i])))
      cached.current = { key, picture: atlasPicture(a, p, s, t, c) };
    drawAtlas(canvas.current, layout, {
      atlas: a,
      part: p,
      scale: s,
      theme: t,
      palette: c,
      order: sorting,
      sequence: heads,
      effects: asEffects ? { kl: swept.kl, most: largest.value } : null,
      caption: captions ? caption : null,
      dimmed,
      out: isOut,
      picture: hidden || asLinks || asEffects ? null : cached.current!.picture,
      asLinks,
      bars,
      alone: solo.value ? at : null,
      chosen: at,
      overlaid: beside.value,
      hovered,
    });
  }, [
    p,
    a,
    t,
    s,
    c,
    at,
    hovered,
    asLinks,
    links.value,
    heads,
    layout.width,
    layout.height,
    solo.value,
    hidden,
    bars,
    swept,
    asEffects,
    captions,
    dimmed,
    plan.value,
    beside.value,
  ]);

  const headUnder = (x: number, y: number): Place | null => {
    const b = canvas.current!.getBoundingClientRect();
    return p && headAt(p, layout, sorting, heads.heads, x - b.left, y - b.top);
  };
  const placeAt = (event: MouseEvent) => headUnder(event.clientX, event.clientY);
  const finder = useRef(headUnder);
  finder.current = headUnder;
  const press = useMemo(
    () =>
      new LongPress((x, y) => {
        const head = finder.current(x, y);
        if (head) openMenu({ x, y, head });
      }),
    [],
  );
  const keysPressed = (event: KeyboardEvent) => {
    if (!p) return;
    const moves: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-1, 0],
      PageDown: [1, 0],
      Home: [0, -p.heads],
      End: [0, p.heads],
    };
    const delta = moves[event.key];
    if (!delta) {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        solo.value = !solo.value;
      }
      return;
    }
    event.preventDefault();
    const clamp = (x: number, most: number) => Math.max(0, Math.min(most - 1, x));
    const from = place.value,
      now = heads.at(from);
    hoverPlace.value = null;
    place.value =
      heads.heads[
        clamp(Math.floor(now / p.heads) + delta[0], p.layers) * p.heads + clamp((now % p.heads) + delta[1], p.heads)
      ];
    if (event.shiftKey) overlay.value = takenAlong(from, place.value);
  };
  const where = shownPlace.value,
    numbersOf = shownStatistics.value;
  const linkName =
    queries.value.length && shownKeys.value.length
      ? `${nameOf(queryReading.value, queries.value)} → ${nameOf(keyReading.value, keys.value)}`
      : '';
  return (
    <section class="card heads" aria-labelledby="heads-title">
      <header>
        <h2 id="heads-title">Heads</h2>
        {p && (
          <span class="quiet">
            {plural(p.layers, 'layer')} × {plural(p.heads, 'head')}
            {p.kv_heads < p.heads ? `, ${p.kv_heads} for keys and values` : ''}
          </span>
        )}
        {a && !a.exact && (
          <span class="badge" title="Thumbnails are rounded to 8 bits and pooled; all other numbers are exact.">
            8-bit
          </span>
        )}
      </header>
      <div class="tools">
        <div class="segments" role="group" aria-label="Contents of the atlas">
          <button
            type="button"
            aria-pressed={!asLinks && !asEffects}
            onClick={() => {
              linkMap.value = effectMap.value = false;
            }}
          >
            Patterns
          </button>
          <button
            type="button"
            aria-pressed={asLinks}
            disabled={!links.value || guessing.value}
            onClick={() => {
              linkMap.value = true;
              effectMap.value = false;
            }}
            title="The weight of the pinned link in every head"
          >
            {linkName ? `Link ${linkName}` : 'Link: pin two words'}
          </button>
          {swept && (
            <button
              type="button"
              aria-pressed={asEffects}
              onClick={() => (effectMap.value = true)}
              title="Effect of zeroing each head on the prediction, KL divergence in nats"
            >
              Effect
            </button>
          )}
        </div>
        {canChange() && !guessing.value && (
          <button
            type="button"
            data-test="sweep"
            title="Zero every head once: which of them matter for the prediction here?"
            onClick={() => (sweeping.value ? stopSweep() : void startSweep())}
          >
            {sweeping.value ? 'Stop' : 'Sweep'}
          </button>
        )}
        {!offline.value && (
          <button
            type="button"
            data-test="label"
            aria-pressed={labelled.value}
            title="Name what each head does: induction, previous token, …"
            onClick={() => (labelled.value = !labelled.value)}
          >
            {loadingLabels.value ? 'Labels…' : 'Labels'}
          </button>
        )}
        <Choice
          label="sort by"
          test="order"
          title="Without numbers to sort by (nothing pinned, or a long text), heads stay in layer order (o)"
          value={sorting}
          choices={(Object.keys(sorts) as Order[]).map((o) => [o, sorts[o].name, !sorts[o].ready()])}
          choose={(o) => (order.value = o)}
        />
      </div>
      <Search />
      {(sweeping.value || asEffects) && <SweepLine />}
      <div class="atlas-box" ref={box}>
        <canvas
          ref={canvas}
          class="atlas"
          tabIndex={0}
          role="listbox"
          data-test="atlas"
          aria-label={`heads, ${sorting === 'layer' ? 'one row for each layer' : `sorted by ${sorts[sorting].name}`}. Chosen: layer ${place.value.layer} head ${place.value.head}. Arrows move.`}
          onPointerMove={(event) => {
            press.move(event);
            if (event.pointerType === 'touch') return;
            const next = placeAt(event),
              old = hoverPlace.value;
            if (next?.layer !== old?.layer || next?.head !== old?.head) hoverPlace.value = next;
          }}
          onPointerLeave={(event) => {
            press.cancel();
            if (event.pointerType !== 'touch') hoverPlace.value = null;
          }}
          onPointerDown={(event) => press.down(event)}
          onPointerUp={() => press.cancel()}
          onPointerCancel={() => press.cancel()}
          onContextMenu={(event) => press.menu(event)}
          onClick={(event) => {
            const next = placeAt(event),
              old = hoverPlace.value;
            if (!next || press.fired) return;
            if (event.shiftKey) return toggleOverlay(next);
            if (byTouch() && (next.layer !== old?.layer || next.head !== old.head)) hoverPlace.value = next;
            else {
              if (byTouch()) hoverPlace.value = null;
              place.value = next;
            }
          }}
          onDblClick={(event) => {
            if (placeAt(event) && !byTouch()) solo.value = !solo.value;
          }}
          onKeyDown={keysPressed}
        />
      </div>
      {!guessing.value && <Corpus />}
      {!guessing.value && <LabelChips />}
      {undecided.value && !guessing.value && (
        <p class="bar-key for-engineer">
          <span aria-hidden="true" /> how widely the head spreads its weight: from one key to all keys
        </p>
      )}
      {numbersOf && !guessing.value && (
        <dl class="statistics for-engineer">
          <div>
            <dt>Head</dt>
            <dd>
              {where.layer}.{where.head}
            </dd>
          </div>
          <div title="Mean over the queries; 0 means that all weight is on one key">
            <dt>Entropy</dt>
            <dd>{numbersOf.entropy.toFixed(2)} bits</dd>
          </div>
          <div title="2 to the power of the entropy: the effective number of keys">
            <dt>Spread over</dt>
            <dd>{(2 ** numbersOf.entropy).toFixed(1)} keys</dd>
          </div>
          <div title="Mean weight on the first token">
            <dt>On first</dt>
            <dd>{weight(numbersOf.first)}</dd>
          </div>
          <div title="Mean distance in tokens">
            <dt>Distance</dt>
            <dd>{numbersOf.distance.toFixed(1)}</dd>
          </div>
        </dl>
      )}
      {queries.value.length === 0 && <p class="hint">Pin a word above to see where it looks.</p>}
    </section>
  );
}
