// Converts weights to colours like src/draw/color.cc: the same tables, the same rounding.
import * as packed from './tables';
import type { Palette, Scale, Theme } from './types';

// The first colour, then the steps of red, green and blue, one letter each.
function unpack(text: string): Uint8ClampedArray {
  const out = new Uint8ClampedArray(3 * 256);
  for (let c = 0; c < 3; ++c) {
    out[c] = parseInt(text.slice(2 * c, 2 * c + 2), 16);
    for (let i = 1; i < 256; ++i) out[3 * i + c] = out[3 * i - 3 + c] + text.charCodeAt(5 + 255 * c + i) - 109;
  }
  return out;
}
type TableName = keyof typeof packed;
const tables = new Map<TableName, Uint8ClampedArray>();
export function table(theme: Theme, palette: Palette | 'signed'): Uint8ClampedArray {
  const name = `${palette === 'cividis' ? 'weight' : palette}${theme === 'light' ? 'Light' : 'Dark'}` as TableName;
  let found = tables.get(name);
  if (!found) tables.set(name, (found = unpack(packed[name])));
  return found;
}

const floor = 1e-4; // the logarithmic scale's zero
export function transferred(x: number, scale: Scale): number {
  if (Number.isNaN(x)) return 0;
  const size = Math.min(Math.abs(x), 1);
  let y = size;
  if (scale === 'sqrt') y = Math.sqrt(size);
  if (scale === 'log') y = size <= floor ? 0 : 1 - Math.log10(size) / Math.log10(floor);
  return x < 0 ? -y : y;
}
export const entry = (x: number, scale: Scale) => Math.round(255 * Math.max(transferred(x, scale), 0));
export const signedEntry = (x: number) => Math.round(255 * (0.5 + 0.5 * Math.max(-1, Math.min(1, x))));

export function css(list: Uint8ClampedArray, at: number): string {
  return `rgb(${list[3 * at]},${list[3 * at + 1]},${list[3 * at + 2]})`;
}
function luminance(list: Uint8ClampedArray, at: number): number {
  const linear = (v: number) => (v <= 0.04045 * 255 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(list[3 * at]) + 0.7152 * linear(list[3 * at + 1]) + 0.0722 * linear(list[3 * at + 2]);
}
// Black or white, whichever reads better: at least 4.5:1 on any colour.
export function ink(list: Uint8ClampedArray, at: number): string {
  const y = luminance(list, at);
  return 1.05 / (y + 0.05) >= (y + 0.05) / 0.05 ? '#fff' : '#000';
}
export const hatch = { light: '#cdd0d6', dark: '#3a3e47' };
