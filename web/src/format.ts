// Numbers and tokens as text.
export function digits(x: number, count = 4): string {
  if (!Number.isFinite(x)) return x > 0 ? '∞' : x < 0 ? '−∞' : '–';
  const size = Math.abs(x);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? x.toExponential(count - 1) : x.toPrecision(count);
  return text.replace('-', '−');
}
export const weight = (x: number) =>
  Number.isNaN(x)
    ? '–'
    : x >= 0.99995
      ? '1.000'
      : x >= 0.001
        ? x.toFixed(3)
        : x === 0
          ? '0'
          : x.toExponential(1).replace('-', '−');
export const share = (x: number) => (x >= 0.995 && x < 0.9995 ? x.toFixed(3) : x >= 0.1 ? x.toFixed(2) : digits(x, 2));
export const small = (x: number) => (x >= 0.9995 ? '1' : x >= 0.0005 ? x.toFixed(3).slice(1) : x > 0 ? '<.001' : '0');
// The text of chips: without blanks at the ends, and with a visible mark for blanks alone.
export function shown(text: string): string {
  const trimmed = text.replace(/^[ ▁Ġ]+|[ ]+$/g, '');
  if (trimmed === '') return text === '' ? '∅' : '␣';
  return trimmed.replace(/\n/g, '⏎').replace(/\t/g, '⇥');
}
export const clipped = (text: string, most = 18) =>
  Array.from(text).length > most
    ? Array.from(text)
        .slice(0, most - 1)
        .join('') + '…'
    : text;
export const plural = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`;
