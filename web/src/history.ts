// The view as an address: written while it changes, with an entry to go back to for each text, model, part and head.
import { computed, effect } from '@preact/signals';
import { host } from './host';
import { parseAddress, writeAddress, type Address } from './address';
import {
  autoRange,
  block,
  compared,
  depth,
  derived,
  keys,
  lines,
  linkMap,
  mode,
  model,
  muted,
  order,
  beside,
  overlay,
  palette,
  part,
  place,
  plan,
  queries,
  renormalise,
  run,
  sampling,
  scale,
  solo,
  text,
  themeChoice,
  views,
  words,
} from './state';
import { isPageAddress, page, readPage } from './pages';
import { lookAt } from './tabs';
import type { RunInfo, RunRequest } from './types';

function address(): Address {
  const info = run.value;
  return {
    model: model.value,
    text: info?.text ?? text.value,
    second: info?.second || undefined,
    target: info?.target || undefined,
    more: info && info.more.length > 0 ? info.more : undefined,
    temperature: info && info.temperature > 0 ? info.temperature : undefined,
    top_k: info?.top_k || undefined,
    seed: info?.seed || undefined,
    part: part.value,
    place: place.value,
    queries: queries.value,
    keys: keys.value,
    block: block.value ?? undefined,
    mode: mode.value,
    depth: depth.value,
    scale: scale.value,
    theme: themeChoice.value ?? undefined,
    palette: palette.value,
    autoRange: autoRange.value,
    order: order.value,
    muted: muted.value,
    renormalise: renormalise.value,
    words: words.value,
    linkMap: linkMap.value,
    solo: solo.value,
    lines: lines.value,
    plan: plan.value,
    overlay: beside.value,
    derived: derived.value,
    compared: compared.value ?? undefined,
    views: views.value.length > 0 ? views.value : undefined,
  };
}
export const addressText = computed(() => writeAddress(address()));
// This view alone, as a list of views keeps it.
export const viewText = () => writeAddress({ ...address(), views: undefined, compared: undefined, theme: undefined });

// Everything about the view that is neither the run nor a selection in it.
export function applyLooks(a: Address): void {
  scale.value = a.scale ?? 'sqrt';
  mode.value = a.mode ?? 'weights';
  depth.value = a.depth ?? depth.value;
  block.value = a.block ?? null;
  themeChoice.value = a.theme ?? themeChoice.value;
  palette.value = a.palette ?? 'cividis';
  autoRange.value = a.autoRange ?? false;
  order.value = a.order ?? 'layer';
  muted.value = a.muted ?? 'none';
  renormalise.value = a.renormalise ?? false;
  words.value = a.words ?? false;
  linkMap.value = a.linkMap ?? false;
  solo.value = a.solo ?? false;
  lines.value = a.lines ?? false;
  plan.value = a.plan ?? null;
  overlay.value = (a.overlay ?? []).slice(0, 7);
  derived.value = a.derived ?? 'none';
  compared.value = a.compared ?? null;
  if (a.views) views.value = a.views;
  lookAt(a.eye);
  sampling.value = { temperature: a.temperature ?? 0, top_k: a.top_k ?? 0, seed: a.seed ?? 0 };
}

export const requestOf = (a: Address, usual: { model: string; text: string }): RunRequest => ({
  model: a.model ?? usual.model,
  text: a.text || usual.text,
  ...(a.second?.trim() ? { second: a.second } : {}),
  target: a.target,
  more: a.more,
  temperature: a.temperature,
  top_k: a.top_k,
  seed: a.seed,
});
export const isOfRun = (a: Address, info: RunInfo): boolean =>
  a.model === info.model.name &&
  a.text === info.text &&
  (a.second ?? '') === info.second &&
  (a.target ?? '') === info.target &&
  (a.more ?? []).join() === info.more.join() &&
  (a.temperature ?? 0) === info.temperature &&
  (a.top_k ?? 0) === info.top_k &&
  (a.seed ?? 0) === info.seed;

// Texts computed while somebody types belong to one entry, until they pause for so many milliseconds.
const pause = 5000;
let typedAt = -Infinity;
let replaceNext = false;
export function typedText(): void {
  const now = performance.now();
  replaceNext = now - typedAt < pause;
  typedAt = now;
}

let writtenHash = '',
  tries = 0,
  later = 0,
  writtenEntry = '',
  applying = false,
  reading = false; // an address that has not been read yet must not be written over
// What is worth going back to.
const entryOf = () =>
  JSON.stringify([
    model.value,
    run.value?.text,
    run.value?.second,
    run.value?.target,
    part.value,
    place.value.layer,
    place.value.head,
    compared.value,
  ]);

function write(): void {
  if (page.value !== 'view' || reading) return;
  const hash = '#' + addressText.peek(),
    entry = entryOf(),
    back = isPageAddress(host.hash()); // from the course or the playground
  const adds = back || (writtenEntry !== '' && entry !== writtenEntry && !applying && !replaceNext);
  replaceNext = false;
  writtenEntry = entry;
  if (hash === writtenHash && !back) return;
  writtenHash = hash;
  const was = host.hash();
  host.write(hash, adds);
  // Browsers refuse hundreds of addresses in a few seconds, as a key that is held down makes them: the last one is written
  // later. A page in a frame has none at all, and gives up.
  clearTimeout(later);
  if (host.hash() !== was || hash === was) tries = 0;
  else {
    writtenHash = was;
    later = window.setTimeout(() => tries++ < 20 && write(), 1000);
  }
}

export function keepAddress(): void {
  effect(() => {
    void addressText.value;
    if (run.value) write();
  });
}
export function followAddress(apply: (a: Address) => Promise<void>): void {
  let moves = 0; // only the last one has a say
  const moved = async () => {
    const hash = host.hash();
    reading = true;
    const elsewhere = readPage(hash);
    reading = false;
    if (elsewhere || hash === writtenHash) return;
    const mine = ++moves;
    writtenHash = hash;
    applying = true;
    try {
      await apply(parseAddress(hash.slice(1)));
    } finally {
      if (mine === moves) {
        applying = false;
        write(); // what could not be opened is not in the address either
      }
    }
  };
  host.onMove(() => void moved());
}
