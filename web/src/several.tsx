// Several heads at once: lines of up to eight over each other, their mean, or a rollout through all layers.
import { plural } from './format';
import { isLong } from './long';
import { together } from './numbers';
import { beside, derived, lines, offline, overlay, part, partInfo, place, type Place } from './state';
import { Segment } from './tools';

export const mostHeads = 8;
const mostRolledOut = 512; // tokens: the limit of the program
// Okabe and Ito's colours, and a dash for each, so that heads differ not only in colour.
export const headColours = ['', '#e69f00', '#0090d0', '#009e73', '#cc79a7', '#d55e00', '#7a6ff0', '#8a8a00'];
export const headDashes = [[], [7, 3], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4], [12, 4], [4, 2, 1, 2]];

export const isSame = (a: Place, b: Place) => a.layer === b.layer && a.head === b.head;
export function toggleOverlay(at: Place): void {
  if (offline.value && derived.value !== 'none') return;
  if (isSame(at, place.value)) return;
  const rest = overlay.value.filter((h) => !isSame(h, at));
  if (rest.length < overlay.value.length) overlay.value = rest;
  else if (overlay.value.length < mostHeads - 1) overlay.value = [...rest, at];
  if (overlay.value.length === 0 && derived.value === 'mean') derived.value = 'none';
}
// Goes to another head and keeps the previous one selected.
export const takenAlong = (from: Place, to: Place): Place[] =>
  isSame(from, to)
    ? overlay.value
    : [...overlay.value.filter((h) => !isSame(h, to) && !isSame(h, from)), from].slice(-(mostHeads - 1));
export const nameOfHeads = (): string =>
  derived.value === 'mean'
    ? `Mean of ${plural(together.value.length, 'head')}`
    : `Rollout through ${plural(partInfo.value?.layers ?? 0, 'layer')}`;

export function Several() {
  const p = partInfo.value,
    extra = beside.value.length;
  if (!p || isLong.value) return null;
  const rolls = part.value !== 'cross' && p.rows <= mostRolledOut;
  return (
    <div class="several for-engineer">
      {!offline.value && (extra > 0 || rolls) && (
        <div class="segments" role="group" aria-label="Which heads">
          <Segment pressed={derived.value === 'none'} choose={() => (derived.value = 'none')} test="one-head">
            one head
          </Segment>
          {extra > 0 && (
            <Segment
              pressed={derived.value === 'mean'}
              choose={() => (derived.value = 'mean')}
              title="The mean of the heads’ weights: a derived number"
              test="mean"
            >
              mean of {extra + 1}
            </Segment>
          )}
          {rolls && (
            <Segment
              pressed={derived.value === 'rollout'}
              choose={() => (derived.value = 'rollout')}
              title="Attention rollout through all layers, with residual connections counted as half (Abnar and Zuidema 2020): a derived number"
              test="rollout"
            >
              rollout
            </Segment>
          )}
        </div>
      )}
      {extra > 0 &&
        together.value.map((h, i) => (
          <button
            type="button"
            class="tag"
            key={`${h.layer}.${h.head}`}
            data-test="overlaid"
            disabled={i === 0}
            title={i === 0 ? 'The chosen head' : 'Remove it'}
            onClick={() => toggleOverlay(h)}
          >
            {lines.value && (
              <svg width="22" height="8" aria-hidden="true">
                <path
                  d="M0 4H22"
                  stroke={headColours[i] || 'var(--accent)'}
                  stroke-width="3"
                  stroke-dasharray={headDashes[i].join(' ')}
                />
              </svg>
            )}
            {h.layer}.{h.head}
            {i > 0 && ' ✕'}
          </button>
        ))}
      {extra === 0 && lines.value && (
        <span class="hint">
          Shift-click heads of the atlas (or Shift and an arrow key, or hold and choose) to draw them together.
        </span>
      )}
    </div>
  );
}
