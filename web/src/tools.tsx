// Controls above the map: how it is drawn, which numbers, which part of two texts, which columns are muted.
import type { ComponentChildren } from 'preact';
import { dialog } from './dialogs';
import {
  block,
  guessing,
  hasSpecial,
  keyReading,
  lines,
  mode,
  muted,
  mutedKeys,
  queryReading,
  renormalise,
  run,
} from './state';
import type { Block, Mode, Mute } from './types';
import { fit, view } from './view';

export const modes: Mode[] = ['weights', 'scores', 'values'];
const modeNames: Record<Mode, [string, string]> = {
  weights: ['weights', 'The result of the softmax: each row sums to 1'],
  scores: ['scores', 'Before the softmax: q · k, scaled'],
  values: ['‖a·v‖', 'Weight times the norm of the value: how much the key contributes'],
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
export function Segment({ pressed, choose, title, test, children }: SegmentProps) {
  return (
    <button type="button" aria-pressed={pressed} title={title} data-test={test} onClick={choose}>
      {children}
    </button>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  test: string;
  title?: string;
  value: T;
  choices: [T, string, boolean?][]; // value, name, whether it is unavailable
  choose: (value: T) => void;
}
export function Choice<T extends string>({ label, test, title, value, choices, choose }: ChoiceProps<T>) {
  return (
    <label class="choice" title={title}>
      {label}{' '}
      <select value={value} data-test={test} onChange={(event) => choose(event.currentTarget.value as T)}>
        {choices.map(([item, name, missing]) => (
          <option key={item} value={item} disabled={missing}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Muting() {
  const whole = mutedKeys.value.size > 0 && (lines.value || mode.value === 'weights');
  return (
    <>
      <Choice<Mute>
        label="mute"
        test="mute"
        title="Dims a column that takes most of the weight. No number changes (m)"
        value={muted.value}
        choices={[
          ['none', 'nothing'],
          ['first', 'first token'],
          ['special', 'special tokens', !hasSpecial.value],
        ]}
        choose={(m) => (muted.value = m)}
      />
      {whole && (
        <label class="check" title="Divides the remaining weights of each row by their sum: derived numbers (r)">
          <input
            type="checkbox"
            data-test="renormalise"
            checked={renormalise.value}
            onChange={(event) => {
              renormalise.value = event.currentTarget.checked;
            }}
          />{' '}
          renormalise
        </label>
      )}
    </>
  );
}

// The pinned row as an HTML table.
export function TableButton() {
  return (
    <button
      type="button"
      class="as-table for-engineer"
      disabled={!run.value || guessing.value}
      onClick={() => {
        dialog.value = 'table';
      }}
    >
      As table
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
      <Muting />
      {!lines.value && ( // always displayed, so that zooming does not move the map
        <button type="button" onClick={fit} disabled={view.value.cell === 0}>
          Fit
        </button>
      )}
      {lines.value && <TableButton />}
    </div>
  );
}
