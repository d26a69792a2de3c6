// Positions of the tiles of a long map. A level pools 2^level tokens into a cell; a tile is a square of cells. Independent
// of the page; `long.ts` uses it.
export const tileCells = 512;

export interface Window {
  level: number; // a cell is so many doublings of a token
  row: number; // of the first cell, in cells of the level
  column: number;
  rows: number; // visible cells
  columns: number;
}
export interface Tile {
  level: number;
  i: number;
  j: number;
}
export const inCell = (level: number) => 2 ** level;
const cellsOf = (tokens: number, level: number) => Math.ceil(tokens / inCell(level));

// The level at which the whole map is visible.
export const fitLevel = (rows: number, columns: number) =>
  Math.max(0, Math.ceil(Math.log2(Math.max(rows, columns) / tileCells)));

// `depth` counts from the whole map: 0 is all of it, each step halves the visible part, down to 32 tokens.
export const mostDepth = (rows: number, columns: number) => fitLevel(rows, columns) + 4;
export function windowAt(depth: number, row: number, column: number, rows: number, columns: number): Window {
  const fit = fitLevel(rows, columns),
    level = Math.max(0, fit - depth),
    span = depth > fit ? tileCells / 2 ** (depth - fit) : tileCells,
    all = [cellsOf(rows, level), cellsOf(columns, level)],
    size = [Math.min(span, all[0]), Math.min(span, all[1])],
    inside = (x: number, n: number) => Math.max(0, Math.min(Math.round(x), all[n] - size[n]));
  return { level, row: inside(row, 0), column: inside(column, 1), rows: size[0], columns: size[1] };
}
export function tilesOf(w: Window): Tile[] {
  const out: Tile[] = [],
    last = (first: number, count: number) => Math.floor((first + count - 1) / tileCells);
  for (let i = Math.floor(w.row / tileCells); i <= last(w.row, w.rows); ++i)
    for (let j = Math.floor(w.column / tileCells); j <= last(w.column, w.columns); ++j)
      out.push({ level: w.level, i, j });
  return out;
}
// The tokens [begin, end) of a tile.
export function tokensOf(index: number, level: number, tokens: number): [number, number] {
  const size = tileCells * inCell(level);
  return [index * size, Math.min(tokens, (index + 1) * size)];
}
// Copies the part of a tile that is inside the window.
export function copyTile(
  to: Float32Array,
  w: Window,
  tile: Tile,
  values: Float32Array,
  rows: number,
  columns: number,
): void {
  const begin = (at: number, first: number) => Math.max(first, at * tileCells);
  const bottom = Math.min(w.row + w.rows, tile.i * tileCells + cellsIn(tile.i, tile.level, rows)),
    right = Math.min(w.column + w.columns, tile.j * tileCells + cellsIn(tile.j, tile.level, columns)),
    width = cellsIn(tile.j, tile.level, columns),
    left = begin(tile.j, w.column);
  for (let i = begin(tile.i, w.row); i < bottom; ++i) {
    const from = (i - tile.i * tileCells) * width + left - tile.j * tileCells;
    to.set(values.subarray(from, from + right - left), (i - w.row) * w.columns + left - w.column);
  }
}
function cellsIn(index: number, level: number, tokens: number): number {
  const [begin, end] = tokensOf(index, level, tokens);
  return cellsOf(end - begin, level);
}
