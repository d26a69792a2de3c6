// Presentation mode: one panel in large type, and a list of views to step through with the arrow keys.
import { signal } from '@preact/signals';
import { host } from './host';
import { viewText } from './history';
import { present, run, views } from './state';

const at = signal(-1);
// Opening a view changes the address, so that Back returns.
export function stepView(delta: number): void {
  if (views.value.length === 0) return;
  at.value = Math.max(0, Math.min(views.value.length - 1, at.value + delta));
  host.go('#' + views.value[at.value]);
}
export function addView(): void {
  const next = at.value + 1;
  views.value = [...views.value.slice(0, next), viewText(), ...views.value.slice(next)];
  at.value = next;
}

export function PresentBar() {
  if (!present.value && views.value.length === 0) return null;
  const count = views.value.length;
  return (
    <div class="present-bar" role="group" aria-label="Views" data-test="present-bar">
      <button type="button" aria-label="Previous view" disabled={at.value <= 0} onClick={() => stepView(-1)}>
        ‹
      </button>
      <span role="status">{count === 0 ? 'no views yet' : `${Math.max(0, at.value) + 1} of ${count}`}</span>
      <button type="button" aria-label="Next view" disabled={at.value >= count - 1} onClick={() => stepView(1)}>
        ›
      </button>
      <button
        type="button"
        data-test="add-view"
        disabled={!run.value}
        onClick={addView}
        title="Keep this view in the list (k)"
      >
        Add view
      </button>
      {count > 0 && at.value >= 0 && (
        <button
          type="button"
          onClick={() => {
            views.value = views.value.filter((_, i) => i !== at.value);
            at.value = Math.min(at.value, views.value.length - 1);
          }}
        >
          Remove
        </button>
      )}
      <button type="button" onClick={() => (present.value = !present.value)} title="Key p">
        {present.value ? 'Leave' : 'Present'}
      </button>
    </div>
  );
}
