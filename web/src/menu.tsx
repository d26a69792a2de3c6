// The menu of a cell, a word or a head, for touch and for the right mouse button.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { host, isPage } from './host';
import { linkText } from './commands';
import { copy, dialog } from './dialogs';
import { clipped, shown, weight } from './format';
import { canChange, canChangeMore, cutLink, isOut, toggleHead, toggleLayer } from './knockout';
import { tab } from './tabs';
import { mapOf } from './numbers';
import {
  guessing,
  hoverCell,
  hoverPlace,
  hoverQuery,
  keyReading,
  linkMap,
  overlay,
  partInfo,
  pin,
  place,
  queries,
  queryReading,
  solo,
  type Cell,
  type Place,
} from './state';
import { isSame, toggleOverlay } from './several';
import { byTouch } from './touch';

interface Target {
  x: number;
  y: number;
  cell?: Cell;
  query?: number;
  head?: Place;
}
export const menu = signal<Target | null>(null);
let before: Element | null = null;
export function openMenu(target: Target): void {
  before = host.root.activeElement;
  menu.value = target;
}
export function closeMenu(): void {
  menu.value = null;
  hoverCell.value = hoverPlace.value = hoverQuery.value = null;
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
}

type Item = [string, () => void];
function itemsOf(target: Target): Item[] {
  const from = (i: number) => clipped(shown(queryReading.value.tokens[i]?.text ?? ''), 14),
    to = (j: number) => clipped(shown(keyReading.value.tokens[j]?.text ?? ''), 14);
  const { cell, query, head } = target;
  if (head)
    return [
      [`Choose head ${head.layer}.${head.head}`, () => (place.value = head)],
      [
        solo.value ? 'Show all heads' : 'Show it alone',
        () => {
          place.value = head;
          solo.value = !solo.value;
        },
      ],
      ...(isSame(head, place.value)
        ? []
        : ([
            [
              overlay.value.some((h) => isSame(h, head))
                ? 'Leave it out again'
                : `Take it together with ${place.value.layer}.${place.value.head}`,
              () => toggleOverlay(head),
            ],
          ] as Item[])),
      ...(canChange()
        ? ([
            [isOut(head) ? 'Restore it' : 'Remove it', () => toggleHead(head)],
            ...(canChangeMore() ? [[`Remove layer ${head.layer}`, () => toggleLayer(head.layer)]] : []),
          ] as Item[])
        : []),
      [
        'Export it …',
        () => {
          place.value = head;
          dialog.value = 'export';
        },
      ],
    ];
  if (cell) {
    const w = mapOf(place.value)?.[cell.query * (partInfo.value?.columns ?? 0) + cell.key] ?? NaN;
    const both = () => pin([cell.query], [cell.key]);
    const list: Item[] = [
      [`Pin ${from(cell.query)} → ${to(cell.key)}`, both],
      [`Pin ${from(cell.query)} alone`, () => pin([cell.query], [])],
      [
        'Why this weight',
        () => {
          both();
          tab.value = 'why';
        },
      ],
      [
        'This link in every head',
        () => {
          both();
          linkMap.value = true;
          tab.value = 'heads';
        },
      ],
    ];
    if (!Number.isNaN(w) && canChangeMore())
      list.push(
        ['Cut this link, renormalise the others', () => cutLink('cut-mask', [cell.query], [cell.key])],
        ['Cut this link, keep the others', () => cutLink('cut-weight', [cell.query], [cell.key])],
      );
    if (!Number.isNaN(w) && !guessing.value)
      list.push([`Copy ${weight(w)}`, () => void copy(String(w), 'Weight copied')]);
    return list;
  }
  const list: Item[] = [];
  if (query !== undefined) {
    list.push([`Pin ${from(query)}`, () => pin([query], [])]);
    if (queries.value.length > 0 && !queries.value.includes(query))
      list.push([
        `Add ${from(query)}`,
        () =>
          pin(
            [...queries.value, query].sort((a, b) => a - b),
            [],
          ),
      ]);
    if (!guessing.value)
      list.push([
        'Its row as a table',
        () => {
          pin([query], []);
          dialog.value = 'table';
        },
      ]);
  }
  list.push(['Copy the link', () => void copy(linkText(), 'Link copied')]);
  return list;
}

export function Menu() {
  const target = menu.value,
    box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !target) return;
    const size = element.getBoundingClientRect();
    const beside = byTouch() ? 14 : 0; // not under the finger
    const from = isPage ? { left: 0, top: 0 } : host.frame.getBoundingClientRect(); // the containing block of fixed elements
    element.style.left = `${Math.max(6, Math.min(target.x + beside, innerWidth - size.width - 6)) - from.left}px`;
    element.style.top = `${Math.max(6, Math.min(target.y + beside, innerHeight - size.height - 6)) - from.top}px`;
    element.querySelector('button')?.focus({ preventScroll: true });
  }, [target]);
  if (!target) return null;
  const keys = (event: KeyboardEvent) => {
    const buttons = [...box.current!.querySelectorAll('button')],
      at = buttons.indexOf(host.root.activeElement as HTMLButtonElement);
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step) buttons[(at + step + buttons.length) % buttons.length].focus();
    else if (event.key === 'Escape' || event.key === 'Tab') closeMenu();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    // Closed by the next press, not by the end of the long press that opened it.
    <div class="menu-back" onPointerDown={closeMenu} onContextMenu={(event) => event.preventDefault()}>
      <div
        class="menu"
        role="menu"
        ref={box}
        data-test="menu"
        onKeyDown={keys}
        onPointerDown={(event) => event.stopPropagation()}
      >
        {itemsOf(target).map(([name, act]) => (
          <button
            type="button"
            role="menuitem"
            key={name}
            tabIndex={-1}
            onClick={() => {
              closeMenu();
              act();
            }}
          >
            {name}
          </button>
        ))}
      </div>
    </div>
  );
}
