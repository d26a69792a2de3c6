// A row of buttons as one Tab stop: arrows, Home and End move within it.
import { host } from './host';

export function rove(event: KeyboardEvent, selector = 'button'): void {
  const box = event.currentTarget as HTMLElement,
    list = [...box.querySelectorAll<HTMLElement>(selector)],
    at = list.indexOf(host.root.activeElement as HTMLElement);
  if (at < 0) return;
  const ahead = getComputedStyle(box).direction === 'rtl' ? 'ArrowLeft' : 'ArrowRight',
    back = ahead === 'ArrowRight' ? 'ArrowLeft' : 'ArrowRight';
  const to =
    event.key === ahead || event.key === 'ArrowDown'
      ? at + 1
      : event.key === back || event.key === 'ArrowUp'
        ? at - 1
        : event.key === 'Home'
          ? 0
          : event.key === 'End'
            ? list.length - 1
            : NaN;
  if (Number.isNaN(to)) return;
  event.preventDefault();
  list[Math.max(0, Math.min(list.length - 1, to))].focus();
}
