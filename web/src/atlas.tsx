// All heads at once, as small maps on one canvas; or the pinned link in every head.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { computed, useSignal } from '@preact/signals';
import { atlas, rowIn, shownMap } from './numbers';
import {
  activeQueries,
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
import { css, entry, hatch, ink, table } from './color';
import { nameOf } from './finding';
import { plural, weight } from './format';
import type { Atlas as AtlasData, PartInfo, Scale, Theme } from './types';

const gap = 5,
  numbers = 22,
  top = 18;

// One pixel per cell of every head, in one picture.
function picture(a: AtlasData, p: PartInfo, s: Scale, t: Theme): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = p.heads * a.columns;
  canvas.height = p.layers * a.rows;
  const context = canvas.getContext('2d')!,
    image = context.createImageData(canvas.width, canvas.height);
  const colors = table(t),
    size = a.rows * a.columns,
    pixels = new Uint32Array(image.data.buffer);
  const packed = new Uint32Array(256);
  for (let i = 0; i < 256; ++i)
    packed[i] = ((255 << 24) | (colors[3 * i + 2] << 16) | (colors[3 * i + 1] << 8) | colors[3 * i]) >>> 0;
  const h = parseInt(hatch[t].slice(1), 16),
    masked = ((110 << 24) | ((h & 255) << 16) | (h & 0xff00) | (h >> 16)) >>> 0;
  for (let layer = 0; layer < p.layers; ++layer) {
    for (let head = 0; head < p.heads; ++head) {
      const first = (layer * p.heads + head) * size;
      for (let i = 0; i < a.rows; ++i) {
        const to = (layer * a.rows + i) * canvas.width + head * a.columns;
        for (let j = 0; j < a.columns; ++j) {
          const w = a.values[first + i * a.columns + j];
          pixels[to + j] = Number.isNaN(w) ? masked : packed[entry(w, s)];
        }
      }
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// The pinned link in every head.
const links = computed<Float32Array | null>(() => {
  const p = partInfo.value,
    from = queries.value,
    to = keys.value;
  if (!p || from.length === 0 || to.length === 0) return null;
  const out = new Float32Array(p.layers * p.heads);
  for (let layer = 0; layer < p.layers; ++layer)
    for (let head = 0; head < p.heads; ++head) {
      const row = rowIn({ layer, head }, from);
      if (!row) return null;
      out[layer * p.heads + head] = to.reduce((sum, j) => sum + (row[j] || 0), 0);
    }
  return out;
});

export interface HeadStatistics {
  entropy: number;
  first: number;
  distance: number;
  top: number;
}
export function statistics(map: Float32Array, rows: number, columns: number): HeadStatistics {
  let entropy = 0,
    first = 0,
    distance = 0,
    top = 0,
    counted = 0;
  for (let i = 0; i < rows; ++i) {
    let h = 0,
      d = 0,
      seen = 0;
    for (let j = 0; j < columns; ++j) {
      const w = map[i * columns + j];
      if (Number.isNaN(w)) continue;
      ++seen;
      if (w > 0) h -= w * Math.log2(w);
      d += w * Math.abs(i - j);
      if (w > top) top = w;
    }
    if (seen < 2) continue;
    ++counted;
    entropy += h;
    distance += d;
    first += map[i * columns] || 0;
  }
  const n = Math.max(1, counted);
  return { entropy: entropy / n, first: first / n, distance: distance / n, top };
}

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
      cached.current = { key, picture: picture(a, p, s, t) };
    context.imageSmoothingEnabled = a.columns > thumb * ratio;
    context.font = '10px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
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
  }, [p, a, t, s, at, hovered, asLinks, links.value, totalWidth, totalHeight, solo.value, guessing.value]);

  const placeAt = (event: MouseEvent): Place | null => {
    const b = canvas.current!.getBoundingClientRect();
    const head = Math.floor((event.clientX - b.left - numbers) / (thumb + gap)),
      layer = Math.floor((event.clientY - b.top - top) / (thumb + gap));
    return p && head >= 0 && layer >= 0 && head < p.heads && layer < p.layers ? { layer, head } : null;
  };
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
  const map = shownMap.value,
    where = shownPlace.value;
  const numbersOf = p && map ? statistics(map, p.rows, p.columns) : null;
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
            const next = placeAt(event),
              old = hoverPlace.value;
            if (next?.layer !== old?.layer || next?.head !== old?.head) hoverPlace.value = next;
          }}
          onPointerLeave={() => {
            hoverPlace.value = null;
          }}
          onClick={(event) => {
            const next = placeAt(event);
            if (next) place.value = next;
          }}
          onDblClick={(event) => {
            if (placeAt(event)) solo.value = !solo.value;
          }}
          onKeyDown={keysPressed}
        />
      </div>
      {numbersOf && !guessing.value && (
        <dl class="statistics">
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
      {activeQueries.value.length === 0 && <p class="hint">Pin a word below to see where it looks.</p>}
    </section>
  );
}
