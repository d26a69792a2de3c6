// Tokens that are parts of a character: byte-level vocabularies write their bytes in a special alphabet, which
// nobody can read. Here they become ⟨F0⟩.
import type { Reading, RunInfo, Token } from './types';

// The 256 letters of byte-level vocabularies: printable bytes are themselves, the others follow from U+0100.
const byteOf = new Map<string, number>();
{
  let other = 0;
  for (let byte = 0; byte < 256; ++byte) {
    const printable = (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte !== 173);
    byteOf.set(String.fromCharCode(printable ? byte : 256 + other++), byte);
  }
}
const hex = (bytes: number[]) => `⟨${bytes.map((b) => b.toString(16).toUpperCase().padStart(2, '0')).join(' ')}⟩`;

function bytesOf(text: string): number[] | null {
  const named = /^<0x([0-9A-F]{2})>$/.exec(text);
  if (named) return [parseInt(named[1], 16)];
  const out = Array.from(text, (c) => byteOf.get(c) ?? -1);
  return out.includes(-1) ? null : out;
}

export function readable(reading: Reading): Reading {
  const { tokens } = reading;
  let all: Uint8Array | null = null; // of the text, once something is to be looked up
  const out: Token[] = tokens.slice();
  for (let from = 0, end; from < tokens.length; from = end) {
    for (end = from + 1; end < tokens.length && same(tokens[from], tokens[end]); ++end);
    const parts = tokens.slice(from, end),
      bytes = parts.map((t) => bytesOf(t.text)),
      named = parts.every((t) => /^<0x[0-9A-F]{2}>$/.test(t.text));
    if ((end === from + 1 && !named) || bytes.includes(null)) continue;
    all ??= new TextEncoder().encode(reading.text);
    const there = all.subarray(tokens[from].begin, tokens[from].end),
      here = bytes.flat() as number[];
    if (!named && (here.length !== there.length || here.some((b, i) => b !== there[i]))) continue;
    const whole = new TextDecoder().decode(there);
    parts.forEach((token, i) => (out[from + i] = { ...token, text: hex(bytes[i]!), whole }));
  }
  return { ...reading, tokens: out };
}
const same = (a: Token, b: Token) => a.begin === b.begin && a.end === b.end && a.end > a.begin && !a.added && !b.added;

export const readableRun = (run: RunInfo): RunInfo => ({
  ...run,
  source: readable(run.source),
  written: run.written && readable(run.written),
  decoder_input: run.decoder_input && readable(run.decoder_input),
});

const rightToLeft = /[\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}\p{sc=Adlm}]/u;
// Which way a text runs: as its first letter does.
export function directionOf(text: string): 'ltr' | 'rtl' {
  return rightToLeft.test(/\p{L}/u.exec(text)?.[0] ?? '') ? 'rtl' : 'ltr';
}

// Of a text that runs right to left, the stretches [from, end) of pieces that run left to right, in order: numbers, and
// words of other scripts, with what stands between two of them and the signs that belong to a number.
export function leftToRight(pieces: string[]): [number, number][] {
  const isNumber = (i: number) => /\p{N}/u.test(pieces[i] ?? ''),
    runs = pieces.map((text) => /[\p{L}\p{N}]/u.test(text) && !/\n/.test(text) && !rightToLeft.test(text)),
    signs = pieces.map((text, i) => /^[%‰°$€£¥+−-]$/.test(text.trim()) && (isNumber(i - 1) || isNumber(i + 1))),
    out: [number, number][] = [];
  for (let from = 0, end; from < pieces.length; from = end) {
    end = from + 1;
    if (!runs[from] && !signs[from]) continue;
    for (let i = end; i < pieces.length && !/\n/.test(pieces[i]); ++i)
      if (runs[i] || signs[i]) end = i + 1;
      else if (/\p{L}/u.test(pieces[i])) break;
    out.push([from, end]);
  }
  return out;
}
