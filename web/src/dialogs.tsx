// Share, export, keys: dialogs over the page.
import { useEffect, useRef } from 'preact/hooks';
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { host } from './host';
import { figureCommand, figureProblem, figureQuery, linkText, serveCommand } from './commands';
import { parseAddress, writeAddress } from './address';
import { addressText, requestOf } from './history';
import { links } from './atlas_data';
import { linesSvg } from './lines';
import { derived, lines, mode, muted, offline, part, partInfo, place, report, run, theSource, views } from './state';
import { sweep } from './sweep';
import { figureSvg } from './figure';

export const dialog = signal<'share' | 'export' | 'keys' | 'tour' | 'table' | 'compare' | null>(null);
export const notice = signal('');

export async function copy(text: string, words: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  notice.value = words;
  setTimeout(() => {
    if (notice.value === words) notice.value = '';
  }, 2500);
}

export function Dialog({ title, children, wide }: { title: string; children: ComponentChildren; wide?: boolean }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = box.current!;
    element.showModal();
    const closed = () => {
      dialog.value = null;
    };
    element.addEventListener('close', closed);
    return () => {
      element.removeEventListener('close', closed);
      if (element.open) element.close();
    };
  }, []);
  return (
    <dialog
      ref={box}
      aria-labelledby="dialog-title"
      class={wide ? 'wide' : ''}
      onClick={(event) => {
        if (event.target === box.current) box.current!.close();
      }}
    >
      <div class="dialog-body">
        <header>
          <h2 id="dialog-title">{title}</h2>
          <button type="button" class="icon" aria-label="Close" onClick={() => box.current!.close()}>
            ✕
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

function Copied({ label, text, test }: { label: string; text: string; test: string }) {
  return (
    <div class="copied">
      <h3>{label}</h3>
      <div>
        <code data-test={test} tabIndex={0}>
          {text}
        </code>
        <button
          type="button"
          onClick={() => {
            void copy(text, `${label} copied`);
          }}
        >
          Copy
        </button>
      </div>
    </div>
  );
}

export function Share() {
  const info = run.value;
  if (!info) return null;
  const drawn = info.more.length > 0 || info.temperature > 0;
  return (
    <Dialog title="Share this view">
      {offline.value ? (
        <p>This file is complete: send it as it is. The link opens this view in it.</p>
      ) : (
        <Copied label="Link" text={linkText()} test="link" />
      )}
      {!offline.value && (
        <p class="quiet">
          Opens this view on this machine while headlight serve is running, in a browser that has opened the printed
          link.
        </p>
      )}
      {drawn || derived.value === 'mean' || figureProblem() ? (
        <p class="quiet" data-test="no-command">
          {derived.value === 'mean'
            ? 'No command draws the mean of chosen heads; Export does.'
            : drawn
              ? 'Generated text cannot be reproduced by this command.'
              : figureProblem()}
        </p>
      ) : (
        <Copied label="The same figure from the command line" text={figureCommand('figure.png')} test="command" />
      )}
      <Copied label="Open this view again" text={serveCommand()} test="serve" />
    </Dialog>
  );
}

const numbersShown = { weights: 'weights', scores: 'scores', values: 'weights times lengths of values' };
function save(name: string, data: Blob): void {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(data);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

// The view as one file that needs no server, as written by headlight show --html.
async function savePage(): Promise<void> {
  // The file has one run, so views of other texts are omitted.
  const own = (hash: string) => JSON.stringify(requestOf(parseAddress(hash), { model: '', text: '' })),
    at = writeAddress({
      ...parseAddress(addressText.value),
      plan: null,
      compared: undefined,
      views: views.value.filter((v) => own(v) === own(addressText.value)),
    });
  try {
    const query = `page?part=${part.value}&layer=${place.value.layer}&at=${encodeURIComponent(at)}`;
    save('headlight.html', new Blob([await theSource().bytes(run.value!, query)], { type: 'text/html' }));
  } catch (error) {
    report(error);
  }
}

// Drawn only by the page: the lines, and the atlas with its overlays, as a picture and as numbers.
function saveLines(): void {
  save('headlight-lines.svg', new Blob([linesSvg()], { type: 'image/svg+xml' }));
}
function saveAtlas(): void {
  host.root.querySelector<HTMLCanvasElement>('[data-test=atlas]')?.toBlob((data) => {
    if (data) save('headlight-atlas.png', data);
  });
}
function saveHeads(): void {
  const p = partInfo.value!,
    kl = sweep.value?.kl,
    weights = links.value,
    lines = ['layer\thead' + (weights ? '\tlink_weight' : '') + (kl ? '\tkl_nats' : '')];
  for (let i = 0; i < p.layers * p.heads; ++i)
    lines.push(
      [Math.floor(i / p.heads), i % p.heads, ...(weights ? [weights[i]] : []), ...(kl ? [kl[i]] : [])].join('\t'),
    );
  save('headlight-heads.tsv', new Blob([lines.join('\n') + '\n'], { type: 'text/tab-separated-values' }));
}

async function saveFigure(format: string): Promise<void> {
  const info = run.value!,
    name = `headlight-${place.value.layer}.${place.value.head}.${format}`;
  if (offline.value) {
    save(name, new Blob([figureSvg()], { type: 'image/svg+xml' }));
    return;
  }
  try {
    save(name, new Blob([await theSource().bytes(info, `figure?${figureQuery(format)}`)]));
  } catch (error) {
    report(error);
  }
}

export function Export() {
  const problem = figureProblem(),
    what = numbersShown[mode.value];
  const formats = offline.value
    ? [['svg', 'Figure for papers, drawn by this page']]
    : [
        ['png', 'Picture, 300 dpi'],
        ['svg', 'Figure with real text'],
        ['pdf', 'Figure for LaTeX'],
        ['json', `Tokens and ${what}`],
        ['npy', `${what[0].toUpperCase()}${what.slice(1)} for NumPy, [query, key]`],
      ];
  const ofHeads = [links.value && 'The link', sweep.value && 'the sweep'].filter(Boolean).join(' and '),
    extras: [test: string, kind: string, name: string, act: () => void][] = [];
  if (lines.value) extras.push(['export-lines', 'SVG', 'The lines as they are shown', saveLines]);
  extras.push(['export-atlas', 'PNG', 'The atlas as it is shown', saveAtlas]);
  if (ofHeads) extras.push(['export-heads', 'TSV', `${ofHeads} in every head`, saveHeads]);
  if (!offline.value)
    extras.push(['export-html', 'HTML', 'This page as one file, to send or keep', () => void savePage()]);
  return (
    <Dialog title={`Export head ${place.value.layer}.${place.value.head}`}>
      {problem && (
        <p id="export-problem" data-test="export-problem">
          {problem}
        </p>
      )}
      <ul class="formats">
        {formats.map(([format, name]) => (
          <li key={format}>
            <button
              type="button"
              data-test={`export-${format}`}
              disabled={problem !== ''}
              aria-describedby={problem ? 'export-problem' : undefined}
              onClick={() => {
                void saveFigure(format);
              }}
            >
              <b>{format.toUpperCase()}</b>
              <span>{name}</span>
            </button>
          </li>
        ))}
        {extras.map(([test, kind, name, act]) => (
          <li key={test}>
            <button type="button" data-test={test} onClick={act}>
              <b>{kind}</b>
              <span>{name}</span>
            </button>
          </li>
        ))}
      </ul>
      {!offline.value && (
        <p class="quiet">
          The map of {what} as it is shown, drawn by the program: the same bytes as <code>headlight show</code> writes.
          {muted.value !== 'none' && ' Muted columns are hatched there.'}
        </p>
      )}
    </Dialog>
  );
}

const keyList: [string, string][] = [
  ['← ↑ → ↓', 'in the map: cell to cell; in the atlas: head to head'],
  ['Enter', 'pin the cell, or solo the head'],
  ['Shift-click', 'add words; the margin shows their mean. On a head: draw it over the chosen one'],
  ['Shift-arrow', 'in the atlas: the next head, together with this one'],
  ['Ctrl-click', 'on a chip: pin it as key'],
  ['drag', 'along the map’s words: pin all of them'],
  ['right button', 'menu of a cell, a word or a head'],
  ['tap', 'preview; tap again: pin; hold: menu'],
  ['Esc', 'one step back'],
  ['[  ]', 'previous, next head'],
  ['PgUp PgDn', 'previous, next layer (in the atlas)'],
  ['1 … 9', 'go to a step of Why'],
  ['s', 'scale: √, log, linear'],
  ['c', 'colours: cividis, viridis, magma, grey'],
  ['a', 'colours up to 1, or to the largest weight of the map'],
  ['m', 'mute the first token, special tokens, nothing'],
  ['r', 'renormalise what is not muted'],
  ['o', 'order of the atlas: layers, link, focused, on first, effect, label'],
  ['w', 'whole words'],
  ['n', 'map or lines'],
  ['d', 'map of weights, scores, weighted values'],
  ['v', 'atlas: patterns or the pinned link'],
  ['x', 'remove the head, or restore it'],
  ['b', 'the original model, or the changed one'],
  ['u', 'undo the last change'],
  ['g', 'write one token'],
  ['0', 'fit the map'],
  ['Ctrl-wheel', 'zoom the map; two fingers do too'],
  ['i', 'edit the text'],
  ['/', 'search: it→animal, it→?, 4.0, label:induction, a word'],
  ['=', 'compare with another text, model, or without the change'],
  ['p', 'present: one panel, large; ← → step through the views'],
  ['k', 'keep this view in the list'],
  ['e', 'export'],
  ['l', 'copy the link'],
  ['t', 'guided tour'],
  ['?', 'these keys'],
];
export function Keys() {
  return (
    <Dialog title="Keys">
      <dl class="keys">
        {keyList.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
