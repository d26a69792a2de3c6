// Keys that work everywhere but in a field.
import { signal } from '@preact/signals';
import { dialog, linkText, copy } from './dialogs';
import { modes, scales } from './tools';
import { writeOne } from './runs';
import { clearOne, lines, linkMap, mode, muted, partInfo, place, run, scale, words } from './state';
import { endTour, startTour, touring } from './tour';
import { fit } from './view';

export type Tab = 'heads' | 'pattern' | 'why' | 'next';
export const tab = signal<Tab>('pattern');

function stepHead(delta: number): void {
  const p = partInfo.value;
  if (!p) return;
  const at = Math.max(0, Math.min(p.layers * p.heads - 1, place.value.layer * p.heads + place.value.head + delta));
  place.value = { layer: Math.floor(at / p.heads), head: at % p.heads };
}

export function showStep(number: number): void {
  tab.value = 'why';
  requestAnimationFrame(() => {
    const step = document.getElementById(`step-${number}`);
    const panel = step?.closest('.why');
    if (!step || !panel) return;
    if (panel.scrollHeight > panel.clientHeight + 1)
      panel.scrollTop += step.getBoundingClientRect().top - panel.getBoundingClientRect().top - 48;
    else step.scrollIntoView({ block: 'start' });
    step.focus({ preventScroll: true });
  });
}

addEventListener('keydown', (event) => {
  const target = event.target as HTMLElement;
  if (dialog.value || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && (target as HTMLInputElement).type !== 'checkbox') {
    if (event.key === 'Escape') target.blur();
    return;
  }
  const acts: Record<string, () => void> = {
    Escape: clearOne,
    '[': () => stepHead(-1),
    ']': () => stepHead(1),
    s: () => {
      scale.value = scales[(scales.indexOf(scale.value) + 1) % scales.length];
    },
    m: () => {
      muted.value = !muted.value;
    },
    w: () => {
      words.value = !words.value;
    },
    n: () => {
      lines.value = !lines.value;
    },
    d: () => {
      mode.value = modes[(modes.indexOf(mode.value) + 1) % modes.length];
    },
    v: () => {
      linkMap.value = !linkMap.value;
    },
    g: () => {
      void writeOne();
    },
    '0': fit,
    e: () => {
      if (run.value) dialog.value = 'export';
    },
    l: () => {
      void copy(linkText(), 'Link copied');
    },
    t: () => (touring.value ? endTour() : startTour()),
    '?': () => {
      dialog.value = 'keys';
    },
    '/': () => document.getElementById('text')?.focus(),
  };
  if (/^[1-9]$/.test(event.key)) {
    showStep(Number(event.key));
    return;
  }
  const act = acts[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});
