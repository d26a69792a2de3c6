// A view as text behind the # of the address: what Share copies and --at takes.
import { parsePlan, planText } from './plan';
import type { Block, Depth, Derived, Mode, Mute, Order, Palette, PartName, Plan, Scale, Theme } from './types';

export interface Address {
  model?: string;
  text?: string;
  second?: string;
  target?: string;
  more?: number[];
  temperature?: number;
  top_k?: number;
  seed?: number;
  part?: PartName;
  place?: { layer: number; head: number };
  queries?: number[];
  keys?: number[];
  block?: Block;
  mode?: Mode;
  depth?: Depth;
  scale?: Scale;
  theme?: Theme;
  palette?: Palette;
  autoRange?: boolean;
  order?: Order;
  muted?: Mute;
  renormalise?: boolean;
  words?: boolean;
  linkMap?: boolean;
  solo?: boolean;
  lines?: boolean;
  plan?: Plan | null;
  overlay?: { layer: number; head: number }[];
  derived?: Derived;
  compared?: string;
  views?: string[];
  eye?: string; // a panel or a step of Why to open; read, never written
}

// The characters that view_address() of the program leaves as they are.
const encode = (value: string) =>
  encodeURIComponent(value).replace(/[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());

// Addresses in a list omit what they have in common with the current address, because a list is long.
const common = /^(?:m|t|b|u|g|te|tk|sd)=/;
const fieldsOf = (hash: string) => hash.split('&').filter((f) => common.test(f));
function isHere(view: string, a: Address): string {
  const own = fieldsOf(writeAddress({ ...a, views: undefined })).join('&');
  return fieldsOf(view).join('&') === own
    ? view
        .split('&')
        .filter((f) => !common.test(f))
        .join('&')
    : view;
}
function listed(text: string | undefined, hash: string): string[] | undefined {
  if (!text) return undefined;
  const own = fieldsOf(hash);
  return text.split(',').flatMap((one) => {
    try {
      const view = decodeURIComponent(one);
      return [fieldsOf(view).length > 0 ? view : [...own, view].join('&')];
    } catch {
      return [];
    }
  });
}
const places = (text: string | undefined) =>
  (text ?? '').split(',').flatMap((one) => {
    const m = /^(\d{1,6})\.(\d{1,6})$/.exec(one);
    return m ? [{ layer: Number(m[1]), head: Number(m[2]) }] : [];
  });

export function writeAddress(a: Address): string {
  const out: string[] = [];
  const add = (key: string, value: string | number | undefined) => {
    if (value !== undefined && value !== '') out.push(`${key}=${encode(String(value)).replace(/%2C/g, ',')}`);
  };
  add('m', a.model);
  add('t', a.text);
  add('b', a.second);
  add('u', a.target);
  add('g', a.more?.join(','));
  add('te', a.temperature);
  add('tk', a.top_k);
  add('sd', a.seed);
  add('p', a.part);
  if (a.place) add('h', `${a.place.layer}.${a.place.head}`);
  out.push(`q=${a.queries?.join(',') ?? ''}`);
  add('k', a.keys?.join(','));
  add('x', a.block);
  if (a.mode !== 'weights') add('d', a.mode);
  if (a.depth !== 'engineer') add('n', a.depth);
  if (a.scale !== 'sqrt') add('s', a.scale);
  if (a.palette !== 'cividis') add('c', a.palette);
  if (a.autoRange) add('r', 'auto');
  if (a.order !== 'layer') add('o', a.order);
  add('th', a.theme);
  if (a.plan) add('z', planText(a.plan));
  add('j', a.overlay?.map((h) => `${h.layer}.${h.head}`).join(','));
  add('y', a.compared);
  add('l', a.views?.map((v) => encode(isHere(v, a))).join(','));
  const flags = [
    a.muted !== 'none' && a.muted,
    a.renormalise && 'whole',
    a.words && 'words',
    a.linkMap && 'link',
    a.solo && 'solo',
    a.lines && 'lines',
    a.derived !== 'none' && a.derived,
  ]
    .filter(Boolean)
    .join(',');
  add('f', flags);
  return out.join('&');
}

const counts = (value: string | undefined): number[] | undefined =>
  value === undefined
    ? undefined
    : value === ''
      ? []
      : value
          .split(',')
          .map(Number)
          .filter((n) => Number.isInteger(n) && n >= 0);
function oneOf<T extends string>(value: string | undefined, list: readonly T[]): T | undefined {
  return list.find((item) => item === value);
}
const size = (value: string | undefined): number | undefined => {
  const number = Number(value);
  return value !== undefined && Number.isFinite(number) && number >= 0 ? number : undefined;
};

export function parseAddress(hash: string): Address {
  const fields = new Map<string, string>();
  for (const pair of hash.split('&')) {
    const at = pair.indexOf('=');
    if (at <= 0) continue;
    try {
      fields.set(pair.slice(0, at), decodeURIComponent(pair.slice(at + 1)));
    } catch {
      /* not UTF-8: as if absent */
    }
  }
  const get = (key: string) => fields.get(key);
  const head = /^(\d{1,6})\.(\d{1,6})$/.exec(get('h') ?? '');
  const flags = new Set((get('f') ?? '').split(','));
  return {
    model: get('m'),
    text: get('t'),
    second: get('b'),
    target: get('u'),
    more: counts(get('g')),
    temperature: size(get('te')),
    top_k: size(get('tk')),
    seed: size(get('sd')),
    part: oneOf(get('p'), ['encoder', 'decoder', 'cross'] as const),
    place: head ? { layer: Number(head[1]), head: Number(head[2]) } : undefined,
    queries: counts(get('q')),
    keys: counts(get('k')),
    block: oneOf(get('x'), ['AA', 'AB', 'BA', 'BB'] as const),
    mode: oneOf(get('d'), ['weights', 'scores', 'values'] as const),
    depth: oneOf(get('n'), ['learner', 'engineer', 'researcher'] as const),
    scale: oneOf(get('s'), ['linear', 'sqrt', 'log'] as const),
    theme: oneOf(get('th'), ['light', 'dark'] as const),
    palette: oneOf(get('c'), ['cividis', 'viridis', 'magma', 'grey'] as const),
    autoRange: get('r') === 'auto',
    order: oneOf(get('o'), ['layer', 'link', 'focus', 'first', 'effect', 'label'] as const),
    muted: flags.has('special') ? 'special' : flags.has('first') ? 'first' : 'none',
    renormalise: flags.has('whole'),
    words: flags.has('words'),
    linkMap: flags.has('link'),
    solo: flags.has('solo'),
    lines: flags.has('lines'),
    plan: parsePlan(get('z')),
    overlay: places(get('j')),
    derived: oneOf(flags.has('mean') ? 'mean' : flags.has('rollout') ? 'rollout' : 'none', ['none', 'mean', 'rollout']),
    compared: get('y'),
    views: listed(get('l'), hash),
    eye: get('e'),
  };
}
