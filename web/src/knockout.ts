// Changes to heads and links: the requests, and the run whose numbers the page shows meanwhile.
import { effect, signal } from '@preact/signals';
import { numbersInfo, readNumbers, useNumbers, type Numbers } from './numbers';
import { cut, has, isCut, toggled } from './plan';
import { predictionAt } from './predictions';
import {
  keys,
  offline,
  part,
  partInfo,
  place,
  plan,
  queries,
  report,
  run,
  streaming,
  theSource,
  type Place,
} from './state';
import type { ChangeName, Effect, PartName, Plan, RunInfo } from './types';

interface Changed {
  base: string; // id of the run that was changed
  info: RunInfo; // the run with the change
  plan: Plan;
  effect: Effect;
}
export const changed = signal<Changed | null>(null);
export const changing = signal(false);
export const showsBase = signal(false); // b: the unchanged model, for comparison
export const canUndo = signal(false);
const past: (Plan | null)[] = [];

export function setPlan(next: Plan | null): void {
  past.push(plan.value);
  if (past.length > 100) past.shift();
  canUndo.value = true;
  showsBase.value = false;
  plan.value = next;
}
export function undo(): void {
  if (past.length === 0) return;
  plan.value = past.pop()!;
  canUndo.value = past.length > 0;
  showsBase.value = false;
}
export const canChange = () => (run.value?.predictions ?? 0) > 0 && theSource().removes;
// In a saved page one head at a time, as precomputed.
export const canChangeMore = () => canChange() && !offline.value;
export const isOut = (at: Place) => has(plan.value, part.value, at);
export function toggleHead(at: Place = place.value): void {
  if (canChange()) setPlan(toggled(offline.value && !isOut(at) ? null : plan.value, part.value, [at]));
}
export function toggleLayer(layer: number): void {
  const heads = partInfo.value?.heads ?? 0;
  if (canChangeMore())
    setPlan(
      toggled(
        plan.value,
        part.value,
        Array.from({ length: heads }, (_, head) => ({ layer, head })),
      ),
    );
}
export function setChange(change: ChangeName, factor?: number): void {
  const p = plan.value;
  if (p) setPlan({ ...p, change, factor: factor ?? p.factor });
}
export function cutLink(change: ChangeName, from = queries.value, to = keys.value): void {
  if (canChangeMore() && from.length > 0 && to.length > 0) setPlan(cut(change, part.value, place.value, from, to));
}

// A plan is for one model; its links are for one text.
function fits(p: Plan, info: RunInfo): boolean {
  const at = info.parts.find((x) => x.part === p.part);
  if (!at || p.heads.some((h) => h.layer >= at.layers || h.head >= at.heads)) return false;
  return p.links.every((l) => l[1] <= at.rows && l[3] <= at.columns);
}
export function forget(): void {
  past.length = 0;
  canUndo.value = false;
  plan.value = changed.value = null;
}

// Mouse moves request nothing until the mouse rests.
const rest = 80;
function followPlan(): void {
  let aborter: AbortController | null = null,
    timer = 0,
    before = run.value;
  effect(() => {
    const info = run.value,
      p = plan.value,
      position = predictionAt.value,
      writing = streaming.value; // runs that the server does not know yet
    clearTimeout(timer);
    aborter?.abort();
    changing.value = false;
    const other = before !== null && info !== null && before.id !== info.id;
    const stays = !other || (before!.model.name === info!.model.name && !(p && isCut(p.change)));
    before = info;
    if (!p) {
      changed.value = null;
      return;
    }
    if (!info || writing || !canChange()) return;
    if (!stays || !fits(p, info) || (offline.value && (p.change !== 'zero' || p.heads.length > 1))) {
      queueMicrotask(forget);
      return;
    }
    const known = changed.peek();
    if (known?.plan === p && known.base === info.id && known.effect.position === position) return;
    changing.value = true;
    aborter = new AbortController();
    const mine = aborter;
    timer = window.setTimeout(async () => {
      try {
        const found = (await theSource().post(info, 'change', { ...request(p), position }, mine.signal)) as Effect;
        if (mine.signal.aborted) return;
        const change = { base: info.id, plan: p };
        changed.value = {
          ...change,
          effect: found,
          info: { ...info, id: found.id, change: { ...change, body: request(p) } },
        };
      } catch (error) {
        if (!mine.signal.aborted) {
          report(error);
          plan.value = changed.peek()?.plan ?? null; // the displayed change
        }
      }
      if (!mine.signal.aborted) changing.value = false;
    }, rest);
  });
}
const request = (p: Plan) => ({
  part: p.part,
  change: p.change,
  heads: p.heads.map((h) => [h.layer, h.head]),
  ...(p.change === 'scale' ? { factor: p.factor } : {}),
  ...(isCut(p.change) ? { links: p.links } : {}),
});

// The numbers on the page are those of the run with the change, or of the one without it. Some are kept, so that b
// switches at once.
const kept = new Map<string, Numbers>();
const mostKept = 4;
async function numbersOf(info: RunInfo, name: PartName): Promise<Numbers> {
  const key = `${info.id}/${name}`,
    known = kept.get(key);
  if (known) return known;
  const found = await readNumbers(info, name);
  kept.set(key, found);
  for (const old of kept.keys()) {
    if (kept.size <= mostKept) break;
    kept.delete(old);
  }
  return found;
}
function followNumbers(): void {
  effect(() => {
    const info = run.value,
      c = changed.value,
      name = part.value,
      loaded = numbersInfo.value;
    if (!info || !loaded) return;
    const want = c && c.base === info.id && !showsBase.value && !offline.value ? c.info : info;
    if (loaded.id === want.id) return;
    numbersOf(want, name).then((numbers) => {
      if (run.value?.id === info.id && part.value === name && changed.peek() === c) useNumbers(numbers, want);
    }, report);
  });
}
export function followChanges(): void {
  followPlan();
  followNumbers();
}
