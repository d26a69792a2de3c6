// Computing: a text becomes a run, a run takes the place of the one before, and the address follows.
import { batch, effect } from '@preact/signals';
import { host } from './host';
import { parseAddress, type Address } from './address';
import { counterpart } from './counterpart';
import { firstLook, firstQuery, sameWord } from './finding';
import { addressText, applyLooks, followAddress, isOfRun, keepAddress, requestOf, typedText } from './history';
import { followLabels } from './head_names';
import { followChanges } from './knockout';
import { sameHeads } from './checkpoints';
import { followCompare } from './compare';
import { followLong, longMap } from './long';
import { readNumbers, readRow, useNumbers, weights, type Numbers } from './numbers';
import { followQueries, followPredictions } from './predictions';
import { followSearch } from './search';
import { useCourse } from './learn';
import { page, showPage } from './pages';
import { openSource, Trouble, type Course } from './source';
import {
  version,
  models,
  sentence,
  offline,
  run,
  model,
  wantedModel,
  text,
  second,
  busy,
  trouble,
  part,
  type Place,
  place,
  queries,
  keys,
  block,
  clearHover,
  corpus,
  derived,
  overlay,
  sampling,
  theSource,
  partInfo,
  plan,
  playing,
  queryReading,
  readings,
  report,
  stale,
  streaming,
  useSource,
} from './state';
import type { PartName, Reading, RunInfo, RunRequest } from './types';
import { followLens } from './where';
import { append, written } from './writing';

interface Job {
  request: RunRequest;
  address: Address | null;
  typed: boolean; // while somebody types; else it was asked for
}
// One computation at a time. What is typed meanwhile waits, the last of it; what is asked for takes over.
let running: { aborter: AbortController } | null = null;
let queued: Job | null = null;
let last: Job | null = null;

export async function compute(request: RunRequest, address: Address | null = null, typed = false): Promise<void> {
  const job = { request, address, typed };
  if (running && typed) {
    queued = job;
    return;
  }
  queued = null;
  running?.aborter.abort();
  await start(job);
}

async function start(job: Job): Promise<void> {
  last = job;
  await alone(async (mine) => {
    const info = await theSource().run(job.request, mine.aborter.signal);
    if (mine === running) await show(info, job.address, () => mine === running, job.typed);
  });
}

// Runs `work` as the one computation; false: it failed, or another took over.
async function alone(work: (mine: { aborter: AbortController }) => Promise<void>): Promise<boolean> {
  const mine = (running = { aborter: new AbortController() });
  busy.value = true;
  let well = false;
  try {
    await work(mine);
    well = mine === running;
    if (well) trouble.value = null;
  } catch (error) {
    if (mine === running) report(error);
  }
  if (mine !== running) return false;
  const next = queued;
  queued = running = null;
  wantedModel.value = null;
  if (next) void start(next);
  else busy.value = false;
  return well;
}

export function again(): void {
  trouble.value = null;
  if (!theSource() || !run.value) void open();
  else if (stale.value && text.value.trim()) computeText(text.value);
  else if (last) {
    const a = parseAddress(addressText.value);
    void compute(last.request, isOfRun(a, run.value) ? a : last.address);
  }
}
// A server that was away, or was started again, is asked every two seconds whether it is back.
function lookForServer(): void {
  let timer = 0;
  effect(() => {
    clearInterval(timer);
    const code = trouble.value?.code;
    if (offline.value || (code !== 'network' && code !== 'token')) return;
    timer = window.setInterval(() => {
      if (document.hidden || running) return;
      theSource().start().then(again, report); // away still, or there with another key
    }, 2000);
  });
}

// A new run takes the place of the old one once its numbers are here; what was pinned stays where it can. The text
// field is not touched: the user may be typing.
async function show(info: RunInfo, address: Address | null, current: () => boolean, typed: boolean): Promise<void> {
  const has = (name: PartName | undefined) => name !== undefined && info.parts.some((p) => p.part === name);
  const alike = run.value?.model.kind === info.model.kind; // else its parts are other ones, whatever they are called
  const name = has(address?.part) ? address!.part! : alike && has(part.value) ? part.value : info.usual_part;
  const numbers = await readNumbers(info, name);
  const before = run.value,
    beforeQueries = queries.value,
    beforeReading = queryReading.value,
    reading = readings(info, name)[0];
  // Of a long text, the row that the head is chosen by comes first: what is shown meanwhile would not stay.
  const kept = keptWord(before, beforeReading, beforeQueries, reading) ?? [],
    wanted = address?.queries ?? firstQuery(reading, kept),
    known = numbers.weights !== null || offline.value || address?.place || !(wanted[0] < reading.tokens.length),
    row = known ? null : await readRow(info, name, wanted[0]);
  if (!current()) return;
  if (typed) typedText();
  batch(() => {
    run.value = info;
    model.value = info.model.name;
    if (info.source.second === 0) block.value = null;
    part.value = name;
    models.value = models.value.map((m) => (m.name === info.model.name ? { ...m, ...info.model } : m));
    useNumbers(numbers, info, row);
    clearHover();
    clampPlace();
    if (!before || before.id !== info.id) {
      queries.value = [];
      keys.value = [];
    }
    select(info, address, before, beforeQueries, beforeReading);
  });
  void longMap.value; // of a long text: its map is asked for before the words are drawn
}

function select(info: RunInfo, address: Address | null, before: RunInfo | null, pinned: number[], then: Reading): void {
  const p = partInfo.value!,
    kept = keptWord(before, then, pinned, queryReading.value);
  // Another model has other heads; a checkpoint of the same run has the same ones.
  if (before && !sameHeads(before.model.name, info.model.name)) {
    proposed = place.value;
    if (!address) takeAlone();
  }
  if (address?.place && address.place.layer < p.layers && address.place.head < p.heads) {
    place.value = address.place;
    proposed ??= { layer: -1, head: -1 }; // somebody chose this head; it stays with the next text
  }
  if (address?.queries) {
    pinInside(address);
    if (!address.place && queries.value.length > 0) choose(queries.value);
  } else if (before && pinned.length > 0 && info.more.length > 0 && before.id !== info.id) {
    queries.value = [p.rows - 1]; // the token that was just written
  } else {
    choose(kept ?? [], Boolean(address?.place));
  }
}
function pinInside(address: Address): void {
  const p = partInfo.value!,
    inside = (list: number[] | undefined, most: number) => (list ?? []).filter((i) => i < most);
  queries.value = inside(address.queries, p.rows);
  keys.value = inside(address.keys, p.columns);
}

// Pins a query, and the head and keys that have most to say about it. A head that somebody chose stays.
let proposed: Place | null = null,
  proposedQueries: number[] | null = null;
// The pinned word in another text, if somebody pinned it. What the page proposed for a text, such as the first words of
// one that is being typed, says nothing about the next.
const keptWord = (before: RunInfo | null, then: Reading, pinned: number[], now: Reading) =>
  before && pinned !== proposedQueries ? sameWord(then, pinned, now) : null;
function choose(list: number[], keepHead = false): void {
  const stays = keepHead || (proposed !== null && place.value !== proposed);
  const look = firstLook(list, stays ? place.value : null);
  if (!look) return;
  queries.value = look.queries;
  proposedQueries = list.length > 0 ? null : look.queries;
  keys.value = look.keys;
  if (!stays) place.value = proposed = look.place;
}

// The heads that are taken together are of one attention of one model.
function takeAlone(): void {
  overlay.value = [];
  if (derived.value === 'mean') derived.value = 'none';
}
function clampPlace(): void {
  const p = partInfo.value;
  if (p && overlay.value.some((h) => h.layer >= p.layers || h.head >= p.heads)) takeAlone();
  if (p && (place.value.layer >= p.layers || place.value.head >= p.heads))
    place.value = proposed = { layer: 0, head: 0 };
}

// `pinned`: the word to look at there; none: the one paired with the pinned word.
export async function setPart(name: PartName, address: Address | null = null, pinned?: number[]): Promise<void> {
  const info = run.value;
  if (!info || name === part.value) return;
  try {
    const numbers = await readNumbers(info, name);
    const opposite = pinned ?? (address ? null : await oppositeOf(info, name, numbers));
    if (run.value?.id !== info.id) return;
    batch(() => {
      part.value = name;
      queries.value = [];
      keys.value = [];
      clearHover();
      useNumbers(numbers, info);
      place.value = proposed = { layer: 0, head: 0 }; // heads of another attention are other heads
      if (!address) takeAlone();
      if (address?.place) place.value = address.place;
      if (address?.queries) pinInside(address);
      else choose(opposite ?? [], Boolean(address?.place));
    });
  } catch (error) {
    report(error);
  }
}

// The pinned word goes along into the other text: it becomes il.
async function oppositeOf(info: RunInfo, to: PartName, numbers: Numbers): Promise<number[] | null> {
  const from = part.value,
    list = queries.value;
  if (list.length === 0 || !info.written) return null;
  const needs = from === 'encoder' || to === 'encoder';
  const cross = !needs ? null : to === 'cross' ? numbers : await readNumbers(info, 'cross');
  return counterpart(info, from, to, list, cross);
}

// `typed`: it was not asked for; somebody is typing.
export function computeText(value: string, typed = false): void {
  if (value.trim() === '') {
    trouble.value = { message: 'The text is empty; write a few words.', again: false };
    return;
  }
  const name = wantedModel.value ?? model.value;
  void compute({ model: name, text: value, ...pairOf(name), ...drawn(name) }, null, typed);
}
const kindOf = (name: string) => models.value.find((m) => m.name === name)?.kind;
const pairOf = (name: string) => (kindOf(name) === 'encoder' && second.value.trim() ? { second: second.value } : {});
function drawn(name: string): Partial<RunRequest> {
  const kind = kindOf(name);
  return kind === 'encoder_decoder' && sampling.value.temperature > 0 ? sampling.value : {};
}
export function redraw(): void {
  const info = run.value;
  if (info) void compute({ model: info.model.name, text: info.text, ...sampling.value });
}
// Another model reads what is written now. Until its answer is here, everything else stays with the model before.
// One that has no tokenizer gets token ids to begin with, and says so.
export async function switchModel(name: string): Promise<void> {
  wantedModel.value = name;
  await compute({ model: name, text: text.value.trim() ? text.value : sentence.value, ...pairOf(name) });
  if (trouble.value?.code !== 'serve.ids' || model.value === name) return;
  const { message } = trouble.value;
  wantedModel.value = name;
  text.value = '0 1 2 0 1 2';
  await compute({ model: name, text: text.value });
  if (model.value === name) trouble.value = { message, again: false };
}
// False: nothing was written, or something else was asked for meanwhile.
export async function writeOne(): Promise<boolean> {
  const info = run.value;
  if (!info || running || info.model.kind !== 'decoder' || offline.value) return false;
  return alone(async (mine) => {
    const { temperature, top_k, seed } = sampling.value;
    const longer = await theSource().next(info, { temperature, top_k, seed });
    if (mine === running) await show(longer, null, () => mine === running, false);
  });
}
// Token after token, live: one request as long as all weights are kept here, else one for each token. What is typed
// meanwhile comes first.
const most = 64, // tokens
  pace = 120; // milliseconds that a token stays in sight at least
export async function play(): Promise<void> {
  if (playing.value) {
    stopPlaying();
    return;
  }
  const info = run.value;
  if (!info || running || info.model.kind !== 'decoder' || offline.value) return;
  playing.value = true;
  if (weights.value && !plan.value) await streamOn(info);
  else
    for (let i = 0; i < most && playing.value; ++i) {
      if (!(await writeOne())) break;
      await new Promise((done) => setTimeout(done, pace));
    }
  playing.value = false;
}
export function stopPlaying(): void {
  playing.value = false;
  if (streaming.value) running?.aborter.abort();
}
// The server has written the tokens and kept no run of them; it makes one before anything is asked about it.
async function know(before: RunInfo): Promise<void> {
  const now = run.value;
  if (!now || now.id === before.id || now.text !== before.text || now.model.name !== before.model.name) return;
  await theSource()
    .run({ model: now.model.name, text: now.text, more: now.more })
    .catch(() => {}); // requests for its numbers report the error
}
async function streamOn(info: RunInfo): Promise<void> {
  written.value = [];
  await alone(async (mine) => {
    streaming.value = true;
    try {
      const { temperature, top_k, seed } = sampling.value,
        request = { count: most, temperature, top_k, seed };
      for await (const token of theSource().write(info, request, mine.aborter.signal)) {
        if (mine !== running || !playing.value || queued || plan.value || !append(token)) break; // heads removed: another model
        await new Promise((done) => setTimeout(done, pace));
      }
    } finally {
      mine.aborter.abort();
      await know(info);
      streaming.value = false;
    }
  });
}
// Another token at a place, and on from there: what came after it goes.
export function goOnWith(position: number, id: number): void {
  const info = run.value;
  if (!info || info.model.kind !== 'decoder' || offline.value) return;
  const own = info.source.tokens.length - info.more.length, // tokens of the text itself
    name = info.model.name;
  if (position >= own - 1) {
    void compute({ model: name, text: info.text, more: [...info.more.slice(0, position + 1 - own), id] });
    return;
  }
  const bytes = new TextEncoder().encode(info.text).slice(0, info.source.tokens[position].end);
  text.value = new TextDecoder().decode(bytes);
  void compute({ model: name, text: text.value, more: [id] });
}
export function takeBack(): void {
  const info = run.value;
  if (info && info.more.length > 0)
    void compute({ model: info.model.name, text: info.text, more: info.more.slice(0, -1) });
}

// Back, forward, or another address typed in.
async function applyAddress(a: Address): Promise<void> {
  const info = run.value;
  applyLooks(a);
  if (info && isOfRun(a, info)) {
    // Back and forward at once: what Back asked for is not wanted any more.
    if (running && !streaming.value) {
      running.aborter.abort();
      queued = running = wantedModel.value = null;
      busy.value = false;
    }
    text.value = info.text;
    second.value = info.second;
    if (a.part && a.part !== part.value && info.parts.some((p) => p.part === a.part)) return setPart(a.part, a);
    const p = partInfo.value!;
    batch(() => {
      if (a.place && a.place.layer < p.layers && a.place.head < p.heads) place.value = a.place;
      pinInside(a);
    });
    return;
  }
  const request = requestOf(a, { model: models.value[0].name, text: sentence.value });
  text.value = request.text;
  second.value = request.second ?? '';
  if (request.model !== model.value) wantedModel.value = request.model;
  await compute(request, a);
}

let following = false;
export async function open(): Promise<void> {
  try {
    useSource(await openSource());
    const course = theSource() as Partial<Course>;
    if (course.course) {
      offline.value = true;
      useCourse((course.course as unknown as { chapters: [] }).chapters);
      if (page.value !== 'learn') showPage('learn', 0);
      return;
    }
    const start = await theSource().start();
    batch(() => {
      offline.value = theSource().offline;
      version.value = start.version;
      sentence.value = start.sentence;
      models.value = start.models;
      corpus.value = start.corpus ?? 0;
      model.value = start.models[0].name;
    });
    const own = theSource().offline && host.hash().length > 1 ? host.hash().slice(1) : theSource().at;
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
    if (!following) {
      followPredictions();
      followQueries();
      followChanges();
      followLabels();
      followSearch();
      followLong();
      followLens();
      lookForServer();
      followAddress(applyAddress); // a link of the course may be pressed before the first run is there
    }
    const complaint = trouble.value;
    applyLooks(a);
    const request = requestOf(a, { model: start.models[0].name, text: start.sentence });
    text.value = request.text;
    second.value = request.second ?? '';
    await compute(request, own ? a : null);
    if (offline.value && run.value) {
      // A saved file has one run, of its own text.
      text.value = run.value.text;
      second.value = run.value.second ?? '';
    }
    if (complaint && !trouble.value) trouble.value = complaint;
    if (!following) {
      followCompare();
      keepAddress();
    }
    following = true;
  } catch (error) {
    report(error);
  }
}
