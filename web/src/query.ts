// The syntax of the search field: a link (it→animal, it→?, ?→animal), a head (4.0), conditions on heads
// (label:induction entropy<1), or a word. Independent of the page.
export interface Condition {
  of: 'label' | 'layer' | 'entropy' | 'first' | 'distance' | 'effect';
  sign: ':' | '<' | '>';
  value: string;
}
export type Query =
  | { kind: 'none' }
  | { kind: 'link'; link: string }
  | { kind: 'head'; layer: number; head: number }
  | { kind: 'heads'; conditions: Condition[] }
  | { kind: 'word'; word: string };

const condition = /^(?:(label|layer):([\w-]+)|(entropy|first|distance|effect)([<>])(\d*\.?\d+))$/;

export function parseQuery(text: string): Query {
  const clean = text.trim();
  if (clean === '') return { kind: 'none' };
  if (/→|->/.test(clean)) return { kind: 'link', link: clean.replace(/\s*(→|->)\s*/, '->') };
  const head = /^(\d{1,6})\.(\d{1,6})$/.exec(clean);
  if (head) return { kind: 'head', layer: Number(head[1]), head: Number(head[2]) };
  const found = clean.split(/\s+/).map((term) => condition.exec(term));
  if (found.every((m) => m))
    return {
      kind: 'heads',
      conditions: found.map((m) => ({
        of: (m![1] ?? m![3]) as Condition['of'],
        sign: (m![4] ?? ':') as Condition['sign'],
        value: m![2] ?? m![5],
      })),
    };
  return { kind: 'word', word: clean };
}

// The known numbers of a head; null: not known yet, so that no condition on it holds.
export interface HeadFacts {
  layer: number;
  labels: string[] | null;
  entropy: number | null;
  first: number | null;
  distance: number | null;
  effect: number | null;
}
export function passes(facts: HeadFacts, conditions: Condition[]): boolean {
  return conditions.every((c) => {
    if (c.of === 'label') return (facts.labels ?? []).some((name) => name.startsWith(c.value.toLowerCase()));
    if (c.of === 'layer') return facts.layer === Number(c.value);
    const number = facts[c.of];
    if (number === null || Number.isNaN(number)) return false;
    return c.sign === '<' ? number < Number(c.value) : number > Number(c.value);
  });
}
