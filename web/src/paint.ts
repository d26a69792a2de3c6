// Weights to pixels.
import { hatch } from './color';
import { colorsOf, entryOf, type Paint } from './color_scale';
import { type Theme } from './types';
import { type Joined } from './words';

export const faint = 0.24;
// The first pixel of each cell of an axis, and the end of the last one.
const edges = (cells: number, pixels: number): number[] =>
  Array.from({ length: pixels + 1 }, (_, i) => Math.floor((i * cells) / pixels));

// The colour of each entry, as a canvas stores it: red first. Muted ones are faint, close to the page's background.
function inks(paint: Paint, muted: boolean): Uint32Array {
  const colors = colorsOf(paint),
    zero = 3 * entryOf(paint, 0),
    bytes = new Uint8ClampedArray(256 * 4);
  for (let e = 0; e < 256; ++e) {
    for (let c = 0; c < 3; ++c)
      bytes[4 * e + c] = muted ? colors[zero + c] + faint * (colors[3 * e + c] - colors[zero + c]) : colors[3 * e + c];
    bytes[4 * e + 3] = 255;
  }
  return new Uint32Array(bytes.buffer);
}

// One pixel per cell, transparent if not visible. If several cells share a pixel, the largest is shown.
export function picture(d: Joined, width: number, height: number, paint: Paint, grey: boolean[]): HTMLCanvasElement {
  const columns = Math.min(d.columns, width),
    rows = Math.min(d.rows, height);
  const canvas = document.createElement('canvas');
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext('2d')!,
    image = context.createImageData(columns, rows);
  const plain = inks(paint, false),
    muted = inks(paint, true),
    pixels = new Uint32Array(image.data.buffer),
    tops = edges(d.rows, rows),
    lefts = edges(d.columns, columns);
  // The rows of one line of pixels first, then the columns of each pixel: NaN, which is not visible, never wins.
  const line = new Float32Array(d.columns);
  for (let i = 0; i < rows; ++i) {
    line.set(d.values.subarray(tops[i] * d.columns, (tops[i] + 1) * d.columns));
    for (let a = tops[i] + 1; a < tops[i + 1]; ++a) {
      const row = d.values.subarray(a * d.columns, (a + 1) * d.columns);
      for (let b = 0; b < row.length; ++b) line[b] = stronger(line[b], row[b]);
    }
    for (let j = 0; j < columns; ++j) {
      let top = line[lefts[j]];
      for (let b = lefts[j] + 1; b < lefts[j + 1]; ++b) top = stronger(top, line[b]);
      if (!Number.isNaN(top)) pixels[i * columns + j] = (grey[lefts[j]] ? muted : plain)[entryOf(paint, top)];
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}
const stronger = (a: number, b: number): number => (Number.isNaN(b) || Math.abs(b) <= Math.abs(a) ? a : b);

let hatchTile: { color: string; tile: HTMLCanvasElement } | null = null;
export function hatched(context: CanvasRenderingContext2D, t: Theme): CanvasPattern {
  if (hatchTile?.color !== hatch[t]) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const c = tile.getContext('2d')!;
    c.strokeStyle = hatch[t];
    c.lineWidth = 1;
    c.beginPath();
    for (const shift of [-6, 0, 6]) {
      c.moveTo(shift, 6);
      c.lineTo(shift + 6, 0);
    }
    c.stroke();
    hatchTile = { color: hatch[t], tile };
  }
  return context.createPattern(hatchTile.tile, 'repeat')!;
}

export function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d')!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.imageSmoothingEnabled = false;
  return context;
}
