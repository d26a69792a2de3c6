// Changed heads or links, as data and as text. Independent of the page; `knockout.ts` uses it.
import type { ChangeName, PartName, Plan } from './types';

interface At {
  layer: number;
  head: number;
}
export const changeNames: ChangeName[] = ['zero', 'mean', 'scale', 'cut-mask', 'cut-weight'];
export const isCut = (change: ChangeName) => change === 'cut-mask' || change === 'cut-weight';
const same = (a: At, b: At) => a.layer === b.layer && a.head === b.head;
export const has = (plan: Plan | null, part: PartName, at: At): boolean =>
  plan !== null && plan.part === part && plan.heads.some((h) => same(h, at));

// Removes these heads, or restores them if all were removed. Replaces cuts.
export function toggled(plan: Plan | null, part: PartName, list: At[]): Plan | null {
  const before = plan && plan.part === part && !isCut(plan.change) ? plan : null;
  const all = list.every((at) => has(before, part, at));
  const kept = (before?.heads ?? []).filter((h) => !list.some((at) => same(h, at)));
  const heads = all ? kept : [...kept, ...list].sort((a, b) => a.layer - b.layer || a.head - b.head);
  if (heads.length === 0) return null;
  return { part, change: before?.change ?? 'zero', heads, factor: before?.factor ?? 0.5, links: [] };
}

// Tokens as ranges [begin, end).
function ranges(list: number[]): [number, number][] {
  const out: [number, number][] = [];
  for (const i of [...list].sort((a, b) => a - b)) {
    const last = out.at(-1);
    if (last && last[1] >= i) last[1] = Math.max(last[1], i + 1);
    else out.push([i, i + 1]);
  }
  return out;
}
export function cut(change: ChangeName, part: PartName, at: At, queries: number[], keys: number[]): Plan {
  const links = ranges(queries).flatMap((q) => ranges(keys).map((k) => [...q, ...k]));
  return { part, change, heads: [at], factor: 1, links };
}

// For the address: part~change~heads~factor~links, in characters that an address keeps.
export function planText(p: Plan): string {
  const text = [p.part, p.change, p.heads.map((h) => `${h.layer}.${h.head}`).join(','), p.factor];
  return [...text, p.links.map((l) => l.join('-')).join(',')].join('~').replace(/~$/, '');
}
export function parsePlan(text: string | undefined): Plan | null {
  const [part, change, heads = '', factor = '1', links = ''] = (text ?? '').split('~');
  if (!['encoder', 'decoder', 'cross'].includes(part) || !changeNames.includes(change as ChangeName)) return null;
  const list = heads.split(',').map((h) => /^(\d{1,6})\.(\d{1,6})$/.exec(h));
  const cuts = links ? links.split(',').map((l) => l.split('-').map(Number)) : [];
  const number = Number(factor);
  if (list.some((m) => !m) || !(number >= 0 && number <= 100)) return null;
  if (cuts.some((l) => l.length !== 4 || l.some((n) => !Number.isInteger(n) || n < 0))) return null;
  if (isCut(change as ChangeName) !== cuts.length > 0) return null;
  return {
    part: part as PartName,
    change: change as ChangeName,
    heads: list.map((m) => ({ layer: Number(m![1]), head: Number(m![2]) })),
    factor: number,
    links: cuts,
  };
}
