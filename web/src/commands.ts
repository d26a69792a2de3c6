// The current view as an address, as a command line, and as a request to the server.
import { host } from './host';
import { addressText } from './history';
import { together } from './numbers';
import { predictionAt } from './predictions';
import {
  autoRange,
  block,
  derived,
  lines,
  mode,
  models,
  muted,
  palette,
  part,
  partInfo,
  place,
  plan,
  queryReading,
  run,
  scale,
  theme,
  words,
} from './state';
import { isRenormalised } from './view';

// As one word for a shell; an apostrophe is easier to read between double quotes.
const quoted = (text: string) =>
  /^[\w./:=,@+~-]+$/.test(text)
    ? text
    : text.includes("'") && !/["$`\\!]/.test(text)
      ? `"${text}"`
      : `'${text.replace(/'/g, `'\\''`)}'`;

// The value of --model for the displayed model: a path if it was given as one.
const modelArgument = () => {
  const name = run.value!.model.name;
  return quoted(models.value.find((m) => m.name === name)?.argument ?? name);
};

// The address without the token, which stays in the cookie.
export const linkText = () => host.link() + '#' + addressText.value;

// The displayed part of the map of two texts, as options of the command.
function cropRanges(): { from: string; to: string } | null {
  const p = partInfo.value,
    name = block.value,
    border = queryReading.value.second;
  if (!p || !name || border === 0) return null;
  const range = (side: string, end: number) => (side === 'A' ? `0:${border}` : `${border}:${end}`);
  return { from: range(name[0], p.rows), to: range(name[1], p.columns) };
}

// Why the program cannot draw the current view, or nothing.
export function figureProblem(): string {
  if (lines.value) return 'Only this page draws lines: choose Map for a figure.';
  if (cropRanges() && (words.value || muted.value !== 'none'))
    return 'The command draws a part of two texts without muting and without merged words: choose the whole map, or switch these off.';
  return '';
}

// The style of the view as options of `headlight show`, and as fields of the server's figure: only what differs from the default.
function looks(): [option: string, field: string, value: string][] {
  const out: [string, string, string][] = [],
    crop = cropRanges();
  if (derived.value === 'rollout') out.push(['--rollout', 'rollout', '']);
  if (crop) out.push(['--from', 'from', crop.from], ['--to', 'to', crop.to]);
  if (mode.value !== 'weights') out.push(['--of', 'of', mode.value]);
  if (words.value && mode.value !== 'scores') out.push(['--words', 'words', '']);
  if (muted.value !== 'none') out.push([`--mute-${muted.value}`, 'mute', '']);
  if (isRenormalised.value) out.push(['--renormalize', 'renormalize', '']);
  const transfer = mode.value === 'scores' ? 'linear' : scale.value; // signed colours are linear here
  if (transfer !== 'sqrt') out.push(['--color-scale', 'scale', transfer]);
  if (palette.value !== 'cividis') out.push(['--palette', 'palette', palette.value]);
  if (autoRange.value && mode.value === 'weights') out.push(['--color-range', 'range', 'auto']);
  if (theme.value !== 'light') out.push(['--theme', 'theme', theme.value]);
  return out;
}
export const figureQuery = (format: string): string =>
  [
    `part=${part.value}&layer=${place.value.layer}&head=${place.value.head}&format=${format}`,
    ...(derived.value === 'mean' ? [`heads=${together.value.map((h) => `${h.layer}.${h.head}`).join(',')}`] : []),
    ...looks().map(([, field, value]) => `${field}=${value || (field === 'mute' ? muted.value : '1')}`),
  ].join('&');

export function figureCommand(file: string): string {
  const info = run.value!;
  const line = ['headlight', 'show', quoted(info.text), '--model', modelArgument()];
  if (info.second) line.push('--second', quoted(info.second));
  if (info.target) line.push('--target', quoted(info.target));
  line.push('--part', part.value);
  if (derived.value !== 'rollout') line.push('--head', `${place.value.layer}.${place.value.head}`);
  for (const [option, , value] of looks()) line.push(option, ...(value ? [value] : []));
  return line.concat(`--${file.split('.').pop()}`, file).join(' ');
}
export function explainCommand(query: number, key: number): string {
  const info = run.value!,
    words = ['headlight', 'explain', quoted(info.text), '--model', modelArgument()];
  if (info.second) words.push('--second', quoted(info.second));
  if (info.target) words.push('--target', quoted(info.target));
  return words
    .concat(
      '--part',
      part.value,
      '--head',
      `${place.value.layer}.${place.value.head}`,
      '--query',
      `@${query}`,
      '--key',
      `@${key}`,
    )
    .join(' ');
}
// The change as options of headlight ablate. Tokens are given by number, so that no word is mistaken for another.
export function ablateCommand(): string {
  const info = run.value!,
    p = plan.value!;
  const line = ['headlight', 'ablate', quoted(info.text), '--model', modelArgument()];
  if (info.second) line.push('--second', quoted(info.second));
  if (info.target) line.push('--target', quoted(info.target));
  line.push('--part', p.part, '--head', p.heads.map((h) => `${h.layer}.${h.head}`).join(','));
  if (p.links.length > 0) {
    const [q, , k] = p.links[0];
    line.push('--edge', quoted(`@${q}->@${k}`), '--cut', p.change.slice(4));
  } else if (p.change === 'scale') line.push('--scale', String(p.factor));
  else line.push('--with', p.change);
  if (predictionAt.value !== null) line.push('--position', `@${predictionAt.value}`);
  return line.join(' ');
}
export const serveCommand = () => `headlight serve --model ${modelArgument()} --at ${quoted(addressText.value)}`;
