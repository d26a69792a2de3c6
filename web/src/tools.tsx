// What can be chosen above the map: how it is drawn, which numbers, which part of two texts.
import type { ComponentChildren } from 'preact';
import { dialog } from './dialogs';
import { block, keyReading, lines, mode, muted, queryReading, run, scale } from './state';
import type { Block, Mode, Scale } from './types';
import { fit, view } from './view';

export const scales: Scale[] = ['sqrt', 'log', 'linear'];
export const scaleNames = { sqrt: '√', log: 'log', linear: 'linear' };
export const modes: Mode[] = ['weights', 'scores', 'values'];
const modeNames: Record<Mode, [string, string]> = {
  weights: ['weights', 'What the softmax returns: each row sums to 1'],
  scores: ['scores', 'Before the softmax: q · k, scaled'],
  values: ['‖a·v‖', 'Weight times the length of the value: what really goes on'],
};
const blocks: [Block | null, string][] = [
  [null, 'all'],
  ['AA', 'A→A'],
  ['AB', 'A→B'],
  ['BA', 'B→A'],
  ['BB', 'B→B'],
];

interface SegmentProps {
  pressed: boolean;
  choose: () => void;
  title?: string;
  test?: string;
  children: ComponentChildren;
}
function Segment({ pressed, choose, title, test, children }: SegmentProps) {
  return (
    <button type="button" aria-pressed={pressed} title={title} data-test={test} onClick={choose}>
      {children}
    </button>
  );
}

export function Tools() {
  const paired = queryReading.value.second > 0 && keyReading.value.second > 0;
  return (
    <div class="tools">
      <div class="segments" role="group" aria-label="As map or lines">
        <Segment pressed={!lines.value} choose={() => (lines.value = false)}>
          Map
        </Segment>
        <Segment pressed={lines.value} choose={() => (lines.value = true)} test="as-lines">
          Lines
        </Segment>
      </div>
      {paired && (
        <div class="segments" role="group" aria-label="Which part: from text to text">
          {blocks.map(([value, name]) => (
            <Segment
              key={name}
              pressed={block.value === value}
              choose={() => (block.value = value)}
              test={`block-${value ?? 'all'}`}
            >
              {name}
            </Segment>
          ))}
        </div>
      )}
      {!lines.value && (
        <div class="segments for-engineer" role="group" aria-label="Numbers">
          {modes.map((m) => (
            <Segment
              key={m}
              pressed={mode.value === m}
              title={modeNames[m][1]}
              choose={() => (mode.value = m)}
              test={`mode-${m}`}
            >
              {modeNames[m][0]}
            </Segment>
          ))}
        </div>
      )}
      {mode.value !== 'scores' && (
        <div class="segments scales for-engineer" role="group" aria-label="Colour scale">
          {scales.map((s) => (
            <Segment key={s} pressed={scale.value === s} choose={() => (scale.value = s)}>
              {scaleNames[s]}
            </Segment>
          ))}
        </div>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={muted.value}
          onChange={(event) => {
            muted.value = event.currentTarget.checked;
          }}
        />{' '}
        mute first token
      </label>
      {view.value.cell > 0 && (
        <button type="button" onClick={fit}>
          Fit
        </button>
      )}
      <button
        type="button"
        class="for-engineer"
        disabled={!run.value}
        onClick={() => {
          dialog.value = 'table';
        }}
      >
        As table
      </button>
    </div>
  );
}
