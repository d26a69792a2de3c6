import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { computed, effect, signal } from '@preact/signals';
import { Atlas } from './atlas';
import { Dialog, dialog, Export, Keys, linkText, notice, Share, copy } from './dialogs';
import { linkWeight, nameOf, seen } from './finding';
import { cellSize, drawn, fit, HeatMap, spoken, view } from './heatmap';
import { Legend } from './legend';
import { Lines } from './lines';
import { Next } from './next';
import { Why } from './steps';
import { Strip } from './strip';
import { endTour, startTour, Tour, touring } from './tour';
import {
  activeQueries, activeRow, again, atlas, busy, clearOne, compute, computeText, guessing, hoverCell, keyReading, keys, lines, linkMap, model, models, muted, offline, open, part,
  partInfo, place, queries, queryReading, run, scale, sentence, setPart, shownMap, shownPlace, text, theme, themeChoice, trouble, version, words, writeOne,
} from './state';
import { clipped, digits, share, shown, weight } from './format';
import type { PartName, Scale } from './types';

const scales: Scale[] = ['sqrt', 'log', 'linear'];
const scaleNames = { sqrt: '√', log: 'log', linear: 'linear' };
type Tab = 'heads' | 'pattern' | 'why' | 'next';
const tab = signal<Tab>('pattern');

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><path d="M6 9c6 0 9 3 9 7s-3 7-9 7c-2-4-2-10 0-14z" fill="currentColor" />
      <path d="M18 12l10-4M19 16h10M18 20l10 4" stroke="var(--accent)" stroke-width="2.4" stroke-linecap="round" /></svg>
  );
}

function Input() {
  const field = useRef<HTMLInputElement>(null), timer = useRef(0);
  useEffect(() => { field.current?.focus({ preventScroll: true }); }, []);
  const started = (value: string) => {
    text.value = value;
    clearTimeout(timer.current);
    // Short texts are computed while they are typed; long ones wait for Enter.
    if (value.trim() !== '' && value.length < 600) timer.current = window.setTimeout(() => { if (value !== run.value?.text) computeText(value); }, 350);
  };
  return (
    <form class="ask" onSubmit={(event) => { event.preventDefault(); clearTimeout(timer.current); computeText(text.value); }}>
      {models.value.length > 1 ? (
        <select aria-label="Model" value={model.value} disabled={offline.value} onChange={(event) => { model.value = event.currentTarget.value; void compute({ model: event.currentTarget.value, text: text.value || sentence.value }); }}>
          {models.value.map((m) => <option key={m.name} value={m.name}>{m.name}</option>)}
        </select>
      ) : <span class="model-name" title="model">{model.value}</span>}
      <input ref={field} id="text" aria-label="Text" dir="auto" autocomplete="off" spellcheck={false} value={text.value} readOnly={offline.value} placeholder="Write a sentence"
        onInput={(event) => started(event.currentTarget.value)} />
      {!offline.value && <button type="submit" class="primary" data-test="run">{busy.value ? 'Running…' : 'Run'}</button>}
    </form>
  );
}

function Header() {
  return (
    <header class="top">
      <h1><Mark />Headlight</h1>
      <Input />
      <nav aria-label="Tools">
        <button type="button" onClick={() => (touring.value ? endTour() : startTour())} aria-pressed={touring.value}>Tour</button>
        <button type="button" onClick={() => { dialog.value = 'share'; }} disabled={!run.value} data-test="share">Share</button>
        <button type="button" onClick={() => { dialog.value = 'export'; }} disabled={!run.value} data-test="export">Export</button>
        <button type="button" class="icon" aria-label="Keys" title="Keys (?)" onClick={() => { dialog.value = 'keys'; }}>?</button>
        <button type="button" class="icon" aria-label={theme.value === 'dark' ? 'Light page' : 'Dark page'} title="Light or dark" data-test="theme"
          onClick={() => { themeChoice.value = theme.value === 'dark' ? 'light' : 'dark'; }}>{theme.value === 'dark' ? '☀' : '☾'}</button>
      </nav>
    </header>
  );
}

// The picture in a sentence, with what even attention would give beside it.
const finding = computed(() => {
  const map = shownMap.value, p = partInfo.value, list = activeQueries.value, at = shownPlace.value;
  if (!map || !p || list.length === 0) return null;
  const to = hoverCell.value ? [hoverCell.value.key] : keys.value;
  const visible = seen(map, list[list.length - 1], p.columns);
  let target = to, chosen = true;
  if (to.length === 0) {
    const row = activeRow.value;
    if (!row) return null;
    let top = 0;
    row.forEach((w, j) => { if (w > (row[top] || 0)) top = j; });
    target = [top]; chosen = false;
  }
  const w = linkWeight(map, list, target, p.columns), even = target.filter((j) => !Number.isNaN(map[list[0] * p.columns + j])).length / Math.max(1, visible);
  return { at, w, even, visible, chosen, from: nameOf(queryReading.value, list), to: nameOf(keyReading.value, target), masked: even === 0 };
});

function Finding() {
  const f = finding.value;
  return (
    <section class="finding" aria-label="Finding">
      {guessing.value ? <p class="says">What does it look at? Guess first.</p> : f ? (
        <>
          <p class="says" data-test="finding" key={`${f.from} ${f.to} ${f.w}`}>{f.masked ? <>Layer {f.at.layer} head {f.at.head}: <q dir="auto">{clipped(f.from, 24)}</q> cannot see <q dir="auto">{clipped(f.to, 24)}</q>.</>
            : <>Layer {f.at.layer} head {f.at.head} sends <b>{share(f.w)}</b> of <q dir="auto">{clipped(f.from, 24)}</q> to <q dir="auto">{clipped(f.to, 24)}</q>{f.chosen ? '' : ', more than to any other'}.</>}</p>
          {!f.masked && <p class="quiet" data-test="uniform" key={f.w / f.even}>Spread evenly over the {f.visible} tokens it can see, that would be {share(f.even)}: {digits(f.w / f.even, 2)} times as much.</p>}
        </>
      ) : <><p class="says">{run.value ? 'Pin a word to see where it looks.' : busy.value ? 'Computing…' : ' '}</p><p class="quiet">{' '}</p></>}
    </section>
  );
}

const partNames: Record<PartName, string> = { encoder: 'Encoder', decoder: 'Decoder', cross: 'Cross' };
function Pattern() {
  const info = run.value, at = shownPlace.value, p = partInfo.value;
  const map = shownMap.value, cell = hoverCell.value ?? (queries.value.length > 0 && keys.value.length > 0 ? { query: queries.value[0], key: keys.value[0] } : null);
  const w = map && p && cell ? map[cell.query * p.columns + cell.key] : NaN;
  let rowSum = NaN;
  if (map && p && cell) { rowSum = 0; for (let j = 0; j < p.columns; ++j) rowSum += map[cell.query * p.columns + j] || 0; }
  return (
    <section class="card pattern" aria-labelledby="pattern-title">
      <header>
        <h2 id="pattern-title">Layer {at.layer} · head {at.head}</h2>
        {info && info.parts.length > 1 && (
          <div class="segments" role="group" aria-label="Which attention">{info.parts.map((item) => (
            <button type="button" key={item.part} aria-pressed={part.value === item.part} data-test={`part-${item.part}`} onClick={() => { void setPart(item.part); }}>{partNames[item.part]}</button>))}</div>
        )}
        <span class={`badge ${drawn.value?.derived ? 'derived' : 'exact'}`} title={drawn.value?.derived ? 'Computed from the model’s numbers: tokens joined into words' : 'The model’s own numbers'}>{drawn.value?.derived ? 'derived' : 'exact'}</span>
      </header>
      <div class="tools">
        <div class="segments" role="group" aria-label="As map or lines"><button type="button" aria-pressed={!lines.value} onClick={() => { lines.value = false; }}>Map</button>
          <button type="button" aria-pressed={lines.value} data-test="as-lines" onClick={() => { lines.value = true; }}>Lines</button></div>
        <div class="segments" role="group" aria-label="Colour scale">{scales.map((s) => <button type="button" key={s} aria-pressed={scale.value === s} onClick={() => { scale.value = s; }}>{scaleNames[s]}</button>)}</div>
        <label class="check"><input type="checkbox" checked={muted.value} onChange={(event) => { muted.value = event.currentTarget.checked; }} /> mute first token</label>
        {view.value.cell > 0 && <button type="button" onClick={fit}>Fit</button>}
        <button type="button" disabled={!run.value} onClick={() => { dialog.value = 'table'; }}>As table</button>
      </div>
      {lines.value ? <Lines /> : <><HeatMap /><Legend value={w} /></>}
      <p class="readout" data-test="readout" key={cell ? `${cell.query} ${cell.key}` : ''}>{cell && map && !guessing.value ? (
        <><bdi>{clipped(shown(queryReading.value.tokens[cell.query]?.text ?? ''))}</bdi> → <bdi>{clipped(shown(keyReading.value.tokens[cell.key]?.text ?? ''))}</bdi>{' '}
          {Number.isNaN(w) ? <b>not visible</b> : <b data-test="value" data-value={w}>{weight(w)}</b>} <span class="quiet">row sum <span data-test="margin">{rowSum.toFixed(4)}</span>{Number.isNaN(w) ? '' : `, float32 ${w.toPrecision(9)}`}</span></>
      ) : <span class="quiet">{cellSize.value > 0 && p ? `${p.rows} × ${p.columns} weights, each row sums to 1` : ' '}</span>}</p>
    </section>
  );
}

function RowTable() {
  const row = activeRow.value, list = row ? Array.from(row, (w, j) => ({ w, j })).filter((e) => !Number.isNaN(e.w)).sort((a, b) => b.w - a.w) : [];
  const rest = list.slice(20);
  return (
    <Dialog title={`What “${nameOf(queryReading.value, queries.value)}” looks at in head ${place.value.layer}.${place.value.head}`}>
      {list.length === 0 ? <p>Pin a word first.</p> : (
        <table class="sums" data-test="row-table"><thead><tr><th scope="col">rank</th><th scope="col">key</th><th scope="col">place</th><th scope="col">weight</th></tr></thead><tbody>
          {list.slice(0, 20).map((e, i) => <tr key={e.j}><td>{i + 1}</td><th scope="row" dir="auto">{shown(keyReading.value.tokens[e.j].text)}</th><td>{e.j}</td><td>{digits(e.w)}</td></tr>)}
          {rest.length > 0 && <tr class="quiet"><td colSpan={3}>the other {rest.length}</td><td>{digits(rest.reduce((s, e) => s + e.w, 0))}</td></tr>}
        </tbody></table>)}
    </Dialog>
  );
}

function Banner() {
  const t = trouble.value;
  if (!t) return null;
  return (
    <div class="banner" role="alert" data-test="banner"><p>{t.message}</p>
      {t.again && <button type="button" onClick={again}>Try again</button>}
      <button type="button" class="icon" aria-label="Dismiss" onClick={() => { trouble.value = null; }}>✕</button></div>
  );
}

function App() {
  const tabs: [Tab, string][] = [['heads', 'Heads'], ['pattern', 'Pattern'], ['why', 'Why'], ['next', 'Next']];
  const info = run.value;
  return (
    <>
      <Header />
      <Banner />
      <main class={busy.value ? 'busy' : ''} aria-busy={busy.value}>
        <Finding />
        <Strip />
        <div class="tabs" role="tablist" aria-label="Views">{tabs.map(([id, name]) => (
          <button type="button" role="tab" key={id} id={`tab-${id}`} aria-selected={tab.value === id} aria-controls={`view-${id}`} tabIndex={tab.value === id ? 0 : -1}
            onClick={() => { tab.value = id; }} onKeyDown={(event) => {
              const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
              if (!step) return;
              const next = tabs[(tabs.findIndex((t) => t[0] === id) + step + tabs.length) % tabs.length][0];
              tab.value = next;
              document.getElementById(`tab-${next}`)?.focus();
            }}>{name}</button>))}</div>
        <div class={`views show-${tab.value}`}>
          <div class="left">
            <div class="view" id="view-heads"><Atlas /></div>
            <div class="view" id="view-next"><Next /></div>
          </div>
          <div class="view" id="view-pattern"><Pattern /></div>
          <div class="view" id="view-why"><Why /></div>
        </div>
        <p class="caption">{info && `Model ${info.model.name}. “${clipped(info.text, 200)}” ${partNames[part.value]} head ${place.value.layer}.${place.value.head}, scale ${scaleNames[scale.value]}. Headlight ${version.value}, ${new Date().toISOString().slice(0, 10)}.`}</p>
      </main>
      <footer class="bottom"><span>Weights say what heads read, not what the model concludes.</span><span>Headlight {version.value}{offline.value ? ', saved page' : ''}. No network beyond this machine.</span></footer>
      <Tour />
      {dialog.value === 'share' && <Share />}
      {dialog.value === 'export' && <Export />}
      {dialog.value === 'keys' && <Keys />}
      {dialog.value === 'table' && <RowTable />}
      <div class="unseen" role="status" aria-live="polite" data-test="live">{spoken}</div>
      <div class={`notice${notice.value ? ' on' : ''}`} role="status">{notice.value}</div>
    </>
  );
}

function stepHead(delta: number): void {
  const p = partInfo.value;
  if (!p) return;
  const at = Math.max(0, Math.min(p.layers * p.heads - 1, place.value.layer * p.heads + place.value.head + delta));
  place.value = { layer: Math.floor(at / p.heads), head: at % p.heads };
}

addEventListener('keydown', (event) => {
  const target = event.target as HTMLElement;
  if (dialog.value || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && (target as HTMLInputElement).type !== 'checkbox') {
    if (event.key === 'Escape') target.blur();
    return;
  }
  const acts: Record<string, () => void> = {
    Escape: clearOne, '[': () => stepHead(-1), ']': () => stepHead(1),
    s: () => { scale.value = scales[(scales.indexOf(scale.value) + 1) % scales.length]; },
    m: () => { muted.value = !muted.value; }, w: () => { words.value = !words.value; }, n: () => { lines.value = !lines.value; }, v: () => { linkMap.value = !linkMap.value; },
    g: () => { void writeOne(); }, '0': fit, e: () => { if (run.value) dialog.value = 'export'; }, l: () => { void copy(linkText(), 'Link copied'); },
    t: () => (touring.value ? endTour() : startTour()), '?': () => { dialog.value = 'keys'; }, '/': () => document.getElementById('text')?.focus(),
  };
  if (/^[1-9]$/.test(event.key)) {
    tab.value = 'why';
    requestAnimationFrame(() => { const step = document.getElementById(`step-${event.key}`); step?.scrollIntoView({ block: 'nearest' }); step?.focus({ preventScroll: true }); });
    return;
  }
  const act = acts[event.key];
  if (act) { event.preventDefault(); act(); }
});

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  document.querySelector('meta[name=theme-color]')?.setAttribute('content', theme.value === 'dark' ? '#101217' : '#ffffff');
});
effect(() => { if (run.value) document.title = `${shownPlace.value.layer}.${shownPlace.value.head} ${run.value.model.name} – Headlight`; });
// A new shape of map starts fitted.
let shape = '';
effect(() => {
  const p = partInfo.value, now = p ? `${p.part} ${p.rows} ${p.columns} ${words.value}` : '';
  if (now !== shape) { shape = now; fit(); }
});
// For tests: what is loaded and settled.
effect(() => { document.documentElement.dataset.state = trouble.value && !run.value ? 'trouble' : busy.value || !run.value || !atlas.value ? 'busy' : 'ready'; });

render(<App />, document.getElementById('page')!);
void open();
