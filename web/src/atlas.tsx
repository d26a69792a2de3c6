// All heads at once, as small maps on one canvas; or the pinned link in every head.
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { atlasPicture, links, shownStatistics, undecided } from './atlas_data';
import { openMenu } from './menu';
import { atlas } from './numbers';
import {
  depth,
  guessing,
  hoverPlace,
  keyReading,
  keys,
  linkMap,
  partInfo,
  place,
  queries,
  queryReading,
  scale,
  shownPlace,
  solo,
  theme,
  type Place,
} from './state';
import { css, entry, ink, table } from './color';
import { nameOf } from './finding';
import { plural, weight } from './format';
import { byTouch, LongPress } from './touch';

const gap = 6,
  numbers = 22,
  top = 18;

export function Atlas() {
  const canvas = useRef<HTMLCanvasElement>(null),
    box = useRef<HTMLDivElement>(null);
  const width = useSignal(300);
  const cached = useRef<{ key: unknown[]; picture: HTMLCanvasElement } | null>(null);
  const p = partInfo.value,
    a = atlas.value,
    t = theme.value,
    s = scale.value;
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      width.value = box.current!.clientWidth;
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const asLinks = linkMap.value && links.value !== null;
  const thumb = p ? Math.max(22, Math.min(64, Math.floor((width.value - numbers - 2) / p.heads) - gap)) : 48;
  const totalWidth = p ? numbers + p.heads * (thumb + gap) : 0,
    totalHeight = p ? top + p.layers * (thumb + gap) : 0;
  const at = place.value,
    hovered = hoverPlace.value;

  useLayoutEffect(() => {
    if (!p || !a || !canvas.current) return;
    const ratio = window.devicePixelRatio || 1,
      c = canvas.current;
    c.width = totalWidth * ratio;
    c.height = totalHeight * ratio;
    c.style.width = `${totalWidth}px`;
    c.style.height = `${totalHeight}px`;
    const context = c.getContext('2d')!,
      style = getComputedStyle(c);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, totalWidth, totalHeight);
    const key = [a, p, s, t];
    if (!asLinks && (!cached.current || cached.current.key.some((x, i) => x !== key[i])))
      cached.current = { key, picture: atlasPicture(a, p, s, t) };
    context.imageSmoothingEnabled = a.columns > thumb * ratio;
    context.font = '10px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const bars = depth.value === 'learner' || guessing.value ? null : undecided.value;
    const group = p.heads / p.kv_heads,
      colors = table(t);
    for (let layer = 0; layer < p.layers; ++layer) {
      const y = top + layer * (thumb + gap);
      context.fillStyle = style.getPropertyValue('--quiet');
      context.fillText(String(layer), numbers / 2 - 2, y + thumb / 2);
      for (let head = 0; head < p.heads; ++head) {
        const x = numbers + head * (thumb + gap);
        if (layer === 0) {
          context.fillStyle = style.getPropertyValue('--quiet');
          context.fillText(String(head), x + thumb / 2, top / 2);
        }
        const dim = solo.value && (layer !== at.layer || head !== at.head);
        context.globalAlpha = dim ? 0.15 : 1;
        if (asLinks) {
          const w = links.value![layer * p.heads + head],
            e = entry(w, s);
          context.fillStyle = css(colors, e);
          context.fillRect(x, y, thumb, thumb);
          if (thumb >= 26) {
            context.fillStyle = ink(colors, e);
            context.fillText(w.toFixed(2).replace(/^0/, ''), x + thumb / 2, y + thumb / 2);
          }
        } else if (!guessing.value) {
          context.drawImage(
            cached.current!.picture,
            head * a.columns,
            layer * a.rows,
            a.columns,
            a.rows,
            x,
            y,
            thumb,
            thumb,
          );
        }
        context.globalAlpha = 1;
        context.strokeStyle = style.getPropertyValue('--line');
        context.lineWidth = 1;
        context.strokeRect(x - 0.5, y - 0.5, thumb + 1, thumb + 1);
        if (bars) {
          context.fillStyle = style.getPropertyValue('--bar');
          context.fillRect(x, y + thumb + 2, Math.max(1, thumb * bars[layer * p.heads + head]), 2);
        }
      }
      // Query heads that share a key and value head have a frame in common.
      if (group > 1)
        for (let kv = 0; kv < p.kv_heads; ++kv) {
          context.strokeStyle = style.getPropertyValue('--quiet');
          context.lineWidth = 1;
          context.strokeRect(
            numbers + kv * group * (thumb + gap) - 2.5,
            y - 2.5,
            group * (thumb + gap) - gap + 5,
            thumb + 5,
          );
        }
    }
    const frame = (where: Place, color: string, w: number) => {
      context.strokeStyle = color;
      context.lineWidth = w;
      context.strokeRect(
        numbers + where.head * (thumb + gap) - 1.5,
        top + where.layer * (thumb + gap) - 1.5,
        thumb + 3,
        thumb + 3,
      );
    };
    frame(at, style.getPropertyValue('--accent'), 3);
    if (hovered) frame(hovered, style.getPropertyValue('--ring'), 2);
  }, [p, a, t, s, at, hovered, asLinks, links.value, totalWidth, totalHeight, solo.value, guessing.value, undecided.value, depth.value]);

  const headAt = (x: number, y: number): Place | null => {
    const b = canvas.current!.getBoundingClientRect();
    const head = Math.floor((x - b.left - numbers) / (thumb + gap)),
      layer = Math.floor((y - b.top - top) / (thumb + gap));
    return p && head >= 0 && layer >= 0 && head < p.heads && layer < p.layers ? { layer, head } : null;
  };
  const placeAt = (event: MouseEvent) => headAt(event.clientX, event.clientY);
  const finder = useRef(headAt);
  finder.current = headAt;
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
    hoverPlace.value = null;
    place.value = {
      layer: clamp(place.value.layer + delta[0], p.layers),
      head: clamp(place.value.head + delta[1], p.heads),
    };
  };
  const where = shownPlace.value,
    numbersOf = shownStatistics.value;
  const linkName =
    queries.value.length && keys.value.length
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
      <div class="segments" role="group" aria-label="What the atlas shows">
        <button
          type="button"
          aria-pressed={!asLinks}
          onClick={() => {
            linkMap.value = false;
          }}
        >
          Patterns
        </button>
        <button
          type="button"
          aria-pressed={asLinks}
          disabled={!links.value}
          onClick={() => {
            linkMap.value = true;
          }}
          title="The weight of the pinned link in every head"
        >
          {linkName ? `Link ${linkName}` : 'Link: pin two words'}
        </button>
      </div>
      <div class="atlas-box" ref={box}>
        <canvas
          ref={canvas}
          class="atlas"
          tabIndex={0}
          role="listbox"
          data-test="atlas"
          aria-label={`heads, layers below each other. Chosen: layer ${place.value.layer} head ${place.value.head}. Arrows move.`}
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
      {undecided.value && !guessing.value && (
        <p class="bar-key for-engineer">
          <span aria-hidden="true" /> how spread out the head is: from one key to all
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
          <div title="How undecided it is, mean over queries: 0 is one key">
            <dt>Entropy</dt>
            <dd>{numbersOf.entropy.toFixed(2)} bits</dd>
          </div>
          <div title="2 to the entropy: among so many keys">
            <dt>Spread over</dt>
            <dd>{(2 ** numbersOf.entropy).toFixed(1)} keys</dd>
          </div>
          <div title="Mean share of the first token">
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
