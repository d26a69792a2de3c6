// Shortcuts that work everywhere except in a field.
import { byId, host } from './host';
import { page } from './pages';
import { sequence } from './atlas_order';
import { linkText } from './commands';
import { openCompare } from './compare';
import { copy, dialog } from './dialogs';
import { showsBase, toggleHead, undo } from './knockout';
import { palettes, scales } from './legend';
import { closeMenu, menu } from './menu';
import { writeOne } from './runs';
import { addView, stepView } from './present';
import { tab } from './tabs';
import {
  autoRange,
  clearHover,
  clearOne,
  hasSpecial,
  lines,
  linkMap,
  mode,
  muted,
  offline,
  order,
  palette,
  place,
  present,
  renormalise,
  run,
  scale,
  words,
} from './state';
import { modes } from './tools';
import { endTour, startTour, touring } from './tour';
import type { Mute, Order } from './types';
import { fit } from './view';

function stepHead(delta: number): void {
  const { heads, at } = sequence.value;
  if (heads.length === 0) return;
  clearHover(); // else the head under a resting mouse would stay visible
  place.value = heads[Math.max(0, Math.min(heads.length - 1, at(place.value) + delta))];
}

const after = <T>(list: T[], value: T): T => list[(list.indexOf(value) + 1) % list.length];

export function showStep(number: number): void {
  tab.value = 'why';
  requestAnimationFrame(() => {
    const step = byId(`step-${number}`);
    const panel = step?.closest('.why');
    if (!step || !panel) return;
    if (panel.scrollHeight > panel.clientHeight + 1)
      panel.scrollTop += step.getBoundingClientRect().top - panel.getBoundingClientRect().top - 48;
    else step.scrollIntoView({ block: 'start' });
    step.focus({ preventScroll: true });
  });
}

host.keys.addEventListener('keydown', (press) => {
  const event = press as KeyboardEvent;
  if (page.value !== 'view') return;
  const target = event.target as HTMLElement;
  if (event.key === 'Escape' && menu.value) {
    event.preventDefault();
    closeMenu();
    return;
  }
  if (dialog.value || event.ctrlKey || event.metaKey || event.altKey) return;
  if (
    /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) &&
    (target as HTMLInputElement).type !== 'checkbox' &&
    !(target as HTMLInputElement).readOnly
  ) {
    if (event.key === 'Escape') target.blur();
    return;
  }
  if (present.value && (event.key === 'ArrowRight' || event.key === 'ArrowLeft')) {
    event.preventDefault();
    stepView(event.key === 'ArrowRight' ? 1 : -1);
    return;
  }
  const acts: Record<string, () => void> = {
    Escape: () => (touring.value ? endTour() : present.value ? (present.value = false) : clearOne()),
    p: () => {
      present.value = !present.value;
    },
    k: () => {
      if (run.value) addView();
    },
    '[': () => stepHead(-1),
    ']': () => stepHead(1),
    s: () => {
      scale.value = after(scales, scale.value);
    },
    c: () => {
      palette.value = after(palettes, palette.value);
    },
    a: () => {
      autoRange.value = !autoRange.value;
    },
    m: () => {
      muted.value = after<Mute>(hasSpecial.value ? ['none', 'first', 'special'] : ['none', 'first'], muted.value);
    },
    r: () => {
      renormalise.value = !renormalise.value;
    },
    o: () => {
      order.value = after<Order>(['layer', 'link', 'focus', 'first', 'effect', 'label'], order.value);
    },
    w: () => {
      clearHover();
      words.value = !words.value;
    },
    n: () => {
      clearHover();
      lines.value = !lines.value;
    },
    d: () => {
      mode.value = after(modes, mode.value);
    },
    v: () => {
      linkMap.value = !linkMap.value;
    },
    x: () => toggleHead(),
    b: () => {
      showsBase.value = !showsBase.value;
    },
    u: undo,
    g: () => {
      void writeOne();
    },
    '0': fit,
    '=': () => {
      if (run.value && !offline.value) openCompare();
    },
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
    i: () => byId('text')?.focus(),
    '/': () => {
      tab.value = 'heads';
      requestAnimationFrame(() => byId('search')?.focus());
    },
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
