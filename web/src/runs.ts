// Computing: a text becomes a run, a run takes the place of the one before, and the address follows.
import { batch, computed, effect } from '@preact/signals';
import { parseAddress, writeAddress, type Address } from './address';
import { firstLook, sameWord } from './finding';
import { weights, loadRow, loadNumbers } from './numbers';
import { followQueries, followPredictions } from './predictions';
import { openSource, Trouble } from './source';
import {
  version,
  models,
  sentence,
  offline,
  run,
  model,
  text,
  second,
  target,
  busy,
  trouble,
  part,
  type Place,
  place,
  queries,
  keys,
  scale,
  mode,
  block,
  depth,
  themeChoice,
  palette,
  autoRange,
  order,
  muted,
  renormalise,
  words,
  linkMap,
  lines,
  solo,
  hoverCell,
  hoverPlace,
  hoverQuery,
  sampling,
  theSource,
  partInfo,
  queryReading,
  report,
  useSource,
} from './state';
import type { PartName, RunInfo, RunRequest } from './types';

let aborter: AbortController | null = null;
let lastRequest: RunRequest | null = null;

export async function compute(request: RunRequest, address: Address | null = null): Promise<void> {
  aborter?.abort();
  const mine = (aborter = new AbortController());
  lastRequest = request;
  busy.value = true;
  try {
    const info = await theSource().run(request, mine.signal);
    if (mine === aborter) await show(info, address);
    if (mine === aborter) trouble.value = null;
  } catch (error) {
    if (mine === aborter) report(error);
  } finally {
    if (mine === aborter) busy.value = false;
  }
}

export function again(): void {
  trouble.value = null;
  if (!theSource()) void open();
  else if (lastRequest) void compute(lastRequest);
}

// A new run takes the place of the old one; what was pinned stays where it can.
async function show(info: RunInfo, address: Address | null): Promise<void> {
  const before = run.value,
    beforeQueries = queries.value,
    beforeReading = queryReading.value;
  const known = (name: PartName | undefined) => name !== undefined && info.parts.some((p) => p.part === name);
  const name = known(address?.part) ? address!.part! : before && known(part.value) ? part.value : info.usual_part;
  batch(() => {
    run.value = info;
    model.value = info.model.name;
    text.value = info.text;
    second.value = info.second;
    if (info.source.second === 0) block.value = null;
    target.value = info.target;
    part.value = name;
    models.value = models.value.map((m) => (m.name === info.model.name ? info.model : m));
    hoverCell.value = hoverPlace.value = hoverQuery.value = null;
    clampPlace();
    if (!before || before.id !== info.id) {
      queries.value = [];
      keys.value = [];
    }
  });
  await loadNumbers(info, name);
  const kept = before ? sameWord(beforeReading, beforeQueries, queryReading.value) : null;
  if (!weights.value && !address?.place)
    await loadRow((address?.queries ?? firstLook(kept ?? [])?.queries ?? [])[0] ?? 0);
  batch(() => {
    const p = partInfo.value!;
    if (address?.place && address.place.layer < p.layers && address.place.head < p.heads) {
      place.value = address.place;
      proposed ??= { layer: -1, head: -1 }; // somebody chose this head; it stays with the next text
    }
    const inside = (list: number[] | undefined, most: number) => (list ?? []).filter((i) => i < most);
    if (address?.queries) {
      queries.value = inside(address.queries, p.rows);
      keys.value = inside(address.keys, p.columns);
      if (!address.place && queries.value.length > 0) choose(queries.value);
    } else if (
      before &&
      beforeQueries.length > 0 &&
      before.more.length < info.more.length &&
      before.text === info.text
    ) {
      queries.value = [p.rows - 1]; // the token that was just written
    } else {
      choose(kept ?? [], Boolean(address?.place));
    }
  });
}

// Pins a query, and the head and keys that have most to say about it. A head that somebody chose stays.
let proposed: Place | null = null;
function choose(list: number[], keepHead = false): void {
  const stays = keepHead || (proposed !== null && place.value !== proposed);
  const look = firstLook(list, stays ? place.value : null);
  if (!look) return;
  queries.value = look.queries;
  keys.value = look.keys;
  if (!stays) place.value = proposed = look.place;
}

function clampPlace(): void {
  const p = partInfo.value;
  if (p && (place.value.layer >= p.layers || place.value.head >= p.heads))
    place.value = proposed = { layer: 0, head: 0 };
}

export async function setPart(name: PartName): Promise<void> {
  const info = run.value;
  if (!info || name === part.value) return;
  batch(() => {
    part.value = name;
    queries.value = [];
    keys.value = [];
    place.value = proposed = { layer: 0, head: 0 }; // heads of another attention are other heads
  });
  try {
    await loadNumbers(info, name);
    batch(() => choose([]));
  } catch (error) {
    report(error);
  }
}

export function computeText(value: string): void {
  if (value.trim() === '') {
    trouble.value = { message: 'The text is empty; write a few words.', again: false };
    return;
  }
  void compute({ model: model.value, text: value, ...pairOf(second.value), ...drawn() });
}
const pairOf = (value: string | undefined) => (value?.trim() ? { second: value } : {});
function drawn(): Partial<RunRequest> {
  const kind = models.value.find((m) => m.name === model.value)?.kind;
  return kind === 'encoder_decoder' && sampling.value.temperature > 0 ? sampling.value : {};
}
export function redraw(): void {
  const info = run.value;
  if (info) void compute({ model: info.model.name, text: info.text, ...sampling.value });
}
export async function writeOne(): Promise<boolean> {
  const info = run.value;
  if (!info || info.model.kind !== 'decoder' || offline.value) return false;
  busy.value = true;
  try {
    const { temperature, top_k, seed } = sampling.value;
    await show(await theSource().next(info, { temperature, top_k, seed }), null);
    return true;
  } catch (error) {
    report(error);
    return false;
  } finally {
    busy.value = false;
  }
}
export function takeBack(): void {
  const info = run.value;
  if (info && info.more.length > 0)
    void compute({ model: info.model.name, text: info.text, more: info.more.slice(0, -1) });
}

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
  };
}
export const addressText = computed(() => writeAddress(address()));

let writtenHash = '';
function followAddress(): void {
  effect(() => {
    if (!run.value) return;
    const hash = '#' + addressText.value;
    if (hash === writtenHash) return;
    writtenHash = hash;
    try {
      history.replaceState(null, '', hash);
    } catch {
      /* a page inside a page has no address of its own */
    }
  });
  addEventListener('hashchange', () => {
    if (location.hash !== writtenHash) applyAddress(parseAddress(location.hash.slice(1)));
  });
}

function applyLooks(a: Address): void {
  batch(() => {
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
    sampling.value = { temperature: a.temperature ?? 0, top_k: a.top_k ?? 0, seed: a.seed ?? 0 };
  });
}

function applyAddress(a: Address): void {
  applyLooks(a);
  void compute(
    {
      model: a.model ?? models.value[0].name,
      text: a.text || sentence.value,
      ...pairOf(a.second),
      target: a.target,
      more: a.more,
      temperature: a.temperature,
      top_k: a.top_k,
      seed: a.seed,
    },
    a,
  );
}

export async function open(): Promise<void> {
  try {
    useSource(await openSource());
    const start = await theSource().start();
    batch(() => {
      offline.value = theSource().offline;
      version.value = start.version;
      sentence.value = start.sentence;
      models.value = start.models;
      model.value = start.models[0].name;
      text.value = start.sentence;
    });
    const own = theSource().offline && location.hash.length > 1 ? location.hash.slice(1) : theSource().at;
    const a = parseAddress(own);
    if (a.model && !start.models.some((m) => m.name === a.model)) {
      report(
        new Trouble(
          `This server has no model “${a.model}”; the link was made for another one. Showing “${start.models[0].name}”.`,
          'model',
          false,
        ),
      );
      a.model = undefined;
      a.place = undefined;
    }
    followPredictions();
    followQueries();
    const complaint = trouble.value;
    applyLooks(a);
    await compute(
      {
        model: a.model ?? start.models[0].name,
        text: a.text || start.sentence,
        ...pairOf(a.second),
        target: a.target,
        more: a.more,
        temperature: a.temperature,
        top_k: a.top_k,
        seed: a.seed,
      },
      own ? a : null,
    );
    if (complaint && !trouble.value) trouble.value = complaint;
    followAddress();
  } catch (error) {
    report(error);
  }
}
