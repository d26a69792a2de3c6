// The data of the atlas: all heads in one picture, the pinned link in each, and a few numbers of each.
import { computed } from '@preact/signals';
import { entry, hatch, table } from './color';
import { rowIn, shownMap, weights } from './numbers';
import { keys, partInfo, queries } from './state';
import type { Atlas, Palette, PartInfo, Scale, Theme } from './types';

// One pixel per cell of every head, in one picture.
export function atlasPicture(a: Atlas, p: PartInfo, s: Scale, t: Theme, c: Palette): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = p.heads * a.columns;
  canvas.height = p.layers * a.rows;
  const context = canvas.getContext('2d')!,
    image = context.createImageData(canvas.width, canvas.height);
  const colors = table(t, c),
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
export const links = computed<Float32Array | null>(() => {
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

// For the displayed head. A long text needs a million logarithms, so they are computed once per map, not for every mouse move.
const known = new WeakMap<Float32Array, HeadStatistics>();
export const shownStatistics = computed<HeadStatistics | null>(() => {
  const p = partInfo.value,
    map = shownMap.value;
  if (!p || !map) return null;
  const found = known.get(map) ?? statistics(map, p.rows, p.columns);
  known.set(map, found);
  return found;
});

// For every head, if all weights are loaded.
export const headStatistics = computed<HeadStatistics[] | null>(() => {
  const p = partInfo.value,
    all = weights.value;
  if (!p || !all) return null;
  const size = p.rows * p.columns;
  return Array.from({ length: p.layers * p.heads }, (_, at) =>
    statistics(all.subarray(at * size, (at + 1) * size), p.rows, p.columns),
  );
});

// The entropy of each head, from 0 (one key) to 1 (uniform): the bars below the thumbnails.
export const undecided = computed<Float32Array | null>(() => {
  const most = Math.log2(Math.max(2, partInfo.value?.columns ?? 2));
  return headStatistics.value && Float32Array.from(headStatistics.value, (s) => Math.min(1, s.entropy / most));
});
