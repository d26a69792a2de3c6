// The entries of a long list near some places; the rest as gaps. Independent of the page.
export interface Stretch {
  from: number;
  end: number;
  hidden: boolean;
}
export function collapsed(count: number, centers: number[], radius: number): Stretch[] {
  const near = [0, count - 1, ...centers]
    .filter((i) => i >= 0 && i < count)
    .sort((a, b) => a - b)
    .map((i) => [Math.max(0, i - radius), Math.min(count, i + radius + 1)]);
  const out: Stretch[] = [];
  for (const [from, end] of near) {
    const last = out.at(-1);
    // A gap of a few entries is not collapsed.
    if (last && from <= last.end + 3) last.end = Math.max(last.end, end);
    else {
      if (last) out.push({ from: last.end, end: from, hidden: true });
      out.push({ from, end, hidden: false });
    }
  }
  return out;
}
