// Weights to pixels.
import { hatch } from './color';
import { colorsOf, entryOf, type Paint } from './color_scale';
import { type Theme } from './types';
import { type Joined } from './words';

export const faint = 0.24;
// One pixel per cell, transparent where nothing is visible. Several cells on one pixel show the largest of them.
export function picture(d: Joined, width: number, height: number, paint: Paint, grey: boolean[]): HTMLCanvasElement {
  const columns = Math.min(d.columns, width),
    rows = Math.min(d.rows, height);
  const canvas = document.createElement('canvas');
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext('2d')!,
    image = context.createImageData(columns, rows);
  const colors = colorsOf(paint),
    zero = 3 * entryOf(paint, 0),
    pixels = image.data;
  for (let i = 0; i < rows; ++i) {
    const i0 = Math.floor((i * d.rows) / rows),
      i1 = Math.max(i0 + 1, Math.floor(((i + 1) * d.rows) / rows));
    for (let j = 0; j < columns; ++j) {
      const j0 = Math.floor((j * d.columns) / columns),
        j1 = Math.max(j0 + 1, Math.floor(((j + 1) * d.columns) / columns));
      let top = NaN;
      for (let a = i0; a < i1; ++a)
        for (let b = j0; b < j1; ++b) {
          const w = d.values[a * d.columns + b];
          if (!(Math.abs(w) <= Math.abs(top)) && !Number.isNaN(w)) top = w;
        }
      if (Number.isNaN(top)) continue;
      const at = 4 * (i * columns + j),
        from = 3 * entryOf(paint, top);
      // Muted ones are faint: near zero's colour, which is the page's.
      for (let c = 0; c < 3; ++c)
        pixels[at + c] = grey[j0] ? colors[zero + c] + faint * (colors[from + c] - colors[zero + c]) : colors[from + c];
      pixels[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

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
