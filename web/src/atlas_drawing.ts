// The atlas as pixels: the position of each head, and its drawing.
import { links } from './atlas_data';
import { effectText, sorts, type Sequence } from './atlas_order';
import { css, entry, ink, table } from './color';
import { headColours } from './several';
import type { Place } from './state';
import type { Atlas, Order, Palette, PartInfo, Scale, Theme } from './types';

const gap = 6,
  words = 13, // below each head when they are sorted
  least = 40; // smallest size of a head in pixels; if there is less space, a layer takes several rows

export interface Layout {
  left: number;
  top: number;
  thumb: number;
  perRow: number;
  rows: number; // of a layer
  across: number;
  down: number; // from head to head
  between: number; // more from layer to layer
  width: number;
  height: number;
}
// Layers below each other with their numbers to the left; sorted heads have theirs below.
export function layoutOf(p: PartInfo | null, room: number, order: Order, captions = false): Layout {
  const sorted = order !== 'layer',
    heads = p?.heads ?? 1,
    group = p ? p.heads / p.kv_heads : 1;
  const sizeIn = (columns: number, side: number) => Math.floor((room - side - 2) / columns) - gap;
  // Rows of one length; heads that share keys stay together where they can.
  let perRow = heads;
  for (let n = 2; sizeIn(perRow, 22) < least && n <= heads; ++n) {
    const even = Math.ceil(heads / n),
      whole = Math.ceil(even / group) * group;
    perRow = sizeIn(whole, 30) >= least ? whole : even;
  }
  const rows = sorted ? 1 : Math.ceil(heads / perRow),
    side = rows > 1 ? 30 : 22,
    left = sorted ? 3 : side,
    thumb = p ? Math.max(22, Math.min(64, sizeIn(perRow, side))) : 48,
    across = thumb + gap,
    down = across + (sorted || captions ? words : 0),
    top = sorted ? 3 : rows > 1 ? 4 : 18,
    between = rows > 1 ? gap : 0,
    lines = p ? (sorted ? Math.ceil((p.layers * heads) / perRow) : p.layers * rows) : 0;
  return {
    ...{ left, top, thumb, perRow, rows, across, down, between },
    width: p ? left + perRow * across : 0,
    height: p ? top + lines * down + between * p.layers : 0,
  };
}
// The position of the n-th head of the sequence.
export function spotOf(p: PartInfo, l: Layout, order: Order, n: number): { x: number; y: number } {
  if (order !== 'layer') return { x: l.left + (n % l.perRow) * l.across, y: l.top + Math.floor(n / l.perRow) * l.down };
  const layer = Math.floor(n / p.heads),
    head = n % p.heads;
  return {
    x: l.left + (head % l.perRow) * l.across,
    y: l.top + (layer * l.rows + Math.floor(head / l.perRow)) * l.down + layer * l.between,
  };
}
export function headAt(p: PartInfo, l: Layout, order: Order, heads: Place[], x: number, y: number): Place | null {
  const column = Math.floor((x - l.left) / l.across);
  if (column < 0 || column >= l.perRow || y < l.top) return null;
  if (order !== 'layer') return heads[Math.floor((y - l.top) / l.down) * l.perRow + column] ?? null;
  const height = l.rows * l.down + l.between,
    layer = Math.floor((y - l.top) / height),
    row = Math.min(l.rows - 1, Math.floor((y - l.top - layer * height) / l.down)),
    head = row * l.perRow + column;
  return head < p.heads ? (heads[layer * p.heads + head] ?? null) : null;
}

export interface AtlasLook {
  atlas: Atlas;
  part: PartInfo;
  scale: Scale;
  theme: Theme;
  palette: Palette;
  order: Order;
  sequence: Sequence;
  picture: HTMLCanvasElement | null; // the heads' maps; none: hidden, or links are drawn
  asLinks: boolean;
  effects: { kl: Float32Array; most: number } | null; // effect of removing each head
  caption: ((at: number) => string) | null; // below each head
  dimmed: boolean[] | null; // false: excluded by the search
  out: (place: Place) => boolean; // changed at the moment
  bars: Float32Array | null;
  alone: Place | null;
  chosen: Place;
  overlaid: Place[];
  hovered: Place | null;
}

export function drawAtlas(canvas: HTMLCanvasElement, l: Layout, look: AtlasLook): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = l.width * ratio;
  canvas.height = l.height * ratio;
  canvas.style.width = `${l.width}px`;
  canvas.style.height = `${l.height}px`;
  const c = canvas.getContext('2d')!,
    style = getComputedStyle(canvas),
    color = (name: string) => style.getPropertyValue(name);
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, l.width, l.height);
  c.imageSmoothingEnabled = look.atlas.columns > l.thumb * ratio;
  c.font = '10px system-ui, sans-serif';
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  const { heads } = look.part,
    at = (n: number) => spotOf(look.part, l, look.order, n);
  look.sequence.heads.forEach((place, n) => {
    const { x, y } = at(n);
    drawHead(c, look, place, x, y, l.thumb);
    c.strokeStyle = color('--line');
    c.lineWidth = 1;
    c.strokeRect(x - 0.5, y - 0.5, l.thumb + 1, l.thumb + 1);
    const head = place.layer * heads + place.head;
    if (look.bars) {
      c.fillStyle = color('--bar');
      c.fillRect(x, y + l.thumb + 2, Math.max(1, l.thumb * look.bars[head]), 2);
    }
    c.fillStyle = color('--quiet');
    if (look.order === 'layer' && look.caption)
      c.fillText(look.caption(head), x + l.thumb / 2, y + l.thumb + 11, l.across - 2);
    if (look.order !== 'layer') {
      const name = `${place.layer}.${place.head}`,
        both = `${name}  ${sorts[look.order].text(head)}`;
      c.fillText(c.measureText(both).width <= l.thumb + 4 ? both : name, x + l.thumb / 2, y + l.thumb + 11);
    } else if (l.rows > 1) {
      // Rows begin with the name of their first head.
      if (place.head % l.perRow === 0) c.fillText(`${place.layer}.${place.head}`, l.left / 2 - 2, y + l.thumb / 2);
    } else {
      if (place.head === 0) c.fillText(String(place.layer), l.left / 2 - 2, y + l.thumb / 2);
      if (place.layer === 0) c.fillText(String(place.head), x + l.thumb / 2, l.top / 2);
    }
  });
  if (look.order === 'layer') drawGroups(c, look.part, l, color('--quiet'));
  const frame = (place: Place, stroke: string, width: number) => {
    const { x, y } = at(look.sequence.at(place));
    c.strokeStyle = stroke;
    c.lineWidth = width;
    c.strokeRect(x - 1.5, y - 1.5, l.thumb + 3, l.thumb + 3);
  };
  look.overlaid.forEach((place, i) => frame(place, headColours[i + 1], 3));
  frame(look.chosen, color('--accent'), 3);
  if (look.hovered) frame(look.hovered, color('--ring'), 2);
}

// One head's map, or the pinned link in it.
function drawHead(
  c: CanvasRenderingContext2D,
  look: AtlasLook,
  place: Place,
  x: number,
  y: number,
  size: number,
): void {
  const { rows, columns } = look.atlas,
    away =
      (look.alone && (place.layer !== look.alone.layer || place.head !== look.alone.head)) ||
      look.dimmed?.[place.layer * look.part.heads + place.head] === false;
  c.globalAlpha = away ? 0.15 : 1;
  if (look.effects) {
    const colors = table(look.theme, look.palette),
      kl = look.effects.kl[place.layer * look.part.heads + place.head];
    if (!Number.isNaN(kl)) {
      const e = entry(kl / look.effects.most, look.scale);
      c.fillStyle = css(colors, e);
      c.fillRect(x, y, size, size);
      c.fillStyle = ink(colors, e);
      if (size >= 26) c.fillText(effectText(kl), x + size / 2, y + size / 2);
    }
  } else if (look.asLinks) {
    const colors = table(look.theme, look.palette),
      w = links.value![place.layer * look.part.heads + place.head],
      e = entry(w, look.scale);
    c.fillStyle = css(colors, e);
    c.fillRect(x, y, size, size);
    c.fillStyle = ink(colors, e);
    if (size >= 26) c.fillText(w.toFixed(2).replace(/^0/, ''), x + size / 2, y + size / 2);
  } else if (look.picture)
    c.drawImage(look.picture, place.head * columns, place.layer * rows, columns, rows, x, y, size, size);
  c.globalAlpha = 1;
  if (look.out(place)) crossOut(c, x, y, size);
}

// A head that is changed: a cross, light on dark and dark on light.
function crossOut(c: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  for (const [color, width] of [
    ['#fff', 5],
    ['#000', 2],
  ] as const) {
    c.strokeStyle = color;
    c.lineWidth = width;
    c.beginPath();
    for (const [from, to] of [
      [x + 3, x + size - 3],
      [x + size - 3, x + 3],
    ]) {
      c.moveTo(from, y + 3);
      c.lineTo(to, y + size - 3);
    }
    c.stroke();
  }
}

// Query heads that share a key and value head have a frame in common.
function drawGroups(c: CanvasRenderingContext2D, p: PartInfo, l: Layout, color: string): void {
  const group = p.heads / p.kv_heads;
  if (group <= 1 || l.perRow % group !== 0) return;
  c.strokeStyle = color;
  c.lineWidth = 1;
  for (let layer = 0; layer < p.layers; ++layer)
    for (let kv = 0; kv < p.kv_heads; ++kv) {
      const { x, y } = spotOf(p, l, 'layer', layer * p.heads + kv * group);
      c.strokeRect(x - 2.5, y - 2.5, group * l.across - gap + 5, l.thumb + 5);
    }
}
