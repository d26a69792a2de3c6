// Fingers have no hover: a tap previews, a second tap on the same place pins, a long press opens the menu.
let kind = 'mouse';
addEventListener(
  'pointerdown',
  (event) => {
    kind = event.pointerType;
  },
  true,
);
export const byTouch = () => kind === 'touch';

const patience = 500,
  slack = 9; // milliseconds, pixels

// Handlers that call `open` after a long press, or at once for the mouse's right button and the menu key.
export class LongPress {
  private timer = 0;
  private x = 0;
  private y = 0;
  fired = false; // by the current or the last touch: its tap is ignored

  constructor(private open: (x: number, y: number) => void) {}
  down(event: PointerEvent): void {
    this.cancel();
    this.fired = false;
    if (event.pointerType !== 'touch' || !event.isPrimary) return;
    [this.x, this.y] = [event.clientX, event.clientY];
    this.timer = window.setTimeout(() => {
      this.fired = true;
      // Lifting the finger that opened the menu selects nothing in it.
      addEventListener('touchend', (lifted) => lifted.preventDefault(), { once: true, capture: true, passive: false });
      this.open(this.x, this.y);
    }, patience);
  }
  move(event: PointerEvent): void {
    if (Math.hypot(event.clientX - this.x, event.clientY - this.y) > slack) this.cancel();
  }
  cancel(): void {
    clearTimeout(this.timer);
  }
  // Suppresses the browser's menu; on touch ours is already open.
  menu(event: MouseEvent): void {
    event.preventDefault();
    if (byTouch()) return;
    this.open(event.clientX, event.clientY);
  }
}
