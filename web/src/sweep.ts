// Removes every head once, several per request, to measure its effect on one prediction.
import { computed, signal } from '@preact/signals';
import { predictionAt } from './predictions';
import { canChange } from './knockout';
import { effectMap, part, partInfo, report, run, theSource, type Place } from './state';

interface Answer {
  position: number;
  p: number;
  token: { id: number; text: string };
  heads: { layer: number; head: number; kl: number; log_p: number }[];
}
export interface Sweep {
  run: string;
  part: string;
  position: number;
  token: { id: number; text: string };
  p: number; // of the token, before
  kl: Float32Array; // NaN: not yet
  logP: Float32Array;
  done: number;
}
const found = signal<Sweep | null>(null);
// The sweep of the displayed run, part and position; none otherwise.
export const sweep = computed<Sweep | null>(() => {
  const s = found.value;
  return s && s.run === run.value?.id && s.part === part.value ? s : null;
});
export const sweeping = signal(false);
export const largest = computed(() =>
  sweep.value ? Math.max(1e-9, ...sweep.value.kl.filter((x) => !Number.isNaN(x))) : 1,
);

let aborter: AbortController | null = null;
export function stopSweep(): void {
  aborter?.abort();
  sweeping.value = false;
}

// As many heads per request as fit in this many milliseconds by the speed of the last ones: other requests get their turn,
// and a stop is fast.
const turn = 400;
export async function startSweep(): Promise<void> {
  const info = run.value,
    p = partInfo.value;
  if (!info || !p || !canChange()) return;
  stopSweep();
  const mine = (aborter = new AbortController()),
    all: Place[] = Array.from({ length: p.layers * p.heads }, (_, i) => ({
      layer: Math.floor(i / p.heads),
      head: i % p.heads,
    }));
  const kl = new Float32Array(all.length).fill(NaN),
    logP = new Float32Array(all.length).fill(NaN),
    position = predictionAt.value ?? info.predictions - 1;
  sweeping.value = effectMap.value = true;
  try {
    for (let at = 0, count = 4; at < all.length; ) {
      const heads = all.slice(at, at + count).map((h) => [h.layer, h.head]),
        began = performance.now();
      const body = { part: p.part, change: 'zero', heads, position };
      const answer = (await theSource().post(info, 'sweep', body, mine.signal)) as Answer;
      if (mine.signal.aborted || run.value?.id !== info.id) break;
      for (const one of answer.heads) {
        kl[one.layer * p.heads + one.head] = one.kl;
        logP[one.layer * p.heads + one.head] = one.log_p;
      }
      at += heads.length;
      const { token, p: probability } = answer;
      found.value = { run: info.id, part: p.part, position, token, p: probability, kl, logP, done: at };
      const each = (performance.now() - began) / heads.length;
      count = Math.max(1, Math.min(32, Math.round(turn / Math.max(1, each))));
    }
  } catch (error) {
    if (!mine.signal.aborted) report(error);
  }
  if (aborter === mine) sweeping.value = false;
}
