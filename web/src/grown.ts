// Weights while a text is being continued.

// The maps of all heads with one more row and column: [heads, rows + 1, columns + 1]. Earlier queries do not see the new key.
export function grown(maps: Float32Array, heads: number, size: number, row: Float32Array): Float32Array {
  const next = size + 1,
    out = new Float32Array(heads * next * next).fill(NaN);
  for (let h = 0; h < heads; ++h) {
    for (let i = 0; i < size; ++i) {
      const from = (h * size + i) * size;
      out.set(maps.subarray(from, from + size), (h * next + i) * next);
    }
    out.set(row.subarray(h * next, (h + 1) * next), (h * next + size) * next);
  }
  return out;
}
