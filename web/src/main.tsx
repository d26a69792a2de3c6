// The page.
import { effect } from '@preact/signals';
import { render } from 'preact';
import { byId, host, isPage } from './host';
import { Atlas } from './atlas';
import { Compare } from './compare';
import { dialog, Export, Keys, notice, Share } from './dialogs';
import { paint } from './color_scale';
import { clipped, digits } from './format';
import { Header } from './header';
import { spoken } from './heatmap';
import './keyboard';
import { tab, type Tab } from './tabs';
import { scaleNames } from './legend';
import { Menu } from './menu';
import { Next } from './next';
import { Learn } from './learn';
import { atlas } from './numbers';
import { page as pageName, readPage } from './pages';
import { Pattern, RowTable, partNames } from './pattern';
import { PresentBar } from './present';
import { again, open } from './runs';
import { Finding } from './says';
import {
  block,
  busy,
  depth,
  offline,
  part,
  partInfo,
  place,
  present,
  run,
  scale,
  shownPlace,
  stale,
  theme,
  trouble,
  version,
  words,
} from './state';
import { Why } from './steps';
import { Strip } from './strip';
import { Tour } from './tour';
import { Train } from './train';
import { fit } from './view';
import { Where } from './where';

function Banner() {
  const t = trouble.value;
  if (!t) return null;
  return (
    <div class="banner" role="alert" data-test="banner">
      <p>{t.message}</p>
      {t.again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
      <button
        type="button"
        class="icon"
        aria-label="Dismiss"
        onClick={() => {
          trouble.value = null;
        }}
      >
        ✕
      </button>
    </div>
  );
}

function App() {
  const tabs: [Tab, string][] = [
    ['heads', 'Heads'],
    ['pattern', 'Pattern'],
    ['why', 'Why'],
    ['next', 'Next'],
  ];
  const info = run.value;
  if (pageName.value !== 'view')
    return (
      <>
        <Header />
        <Banner />
        {pageName.value === 'learn' ? <Learn /> : <Train />}
      </>
    );
  return (
    <>
      <Header />
      <Banner />
      <main class={stale.value ? 'stale' : ''} aria-busy={busy.value || stale.value}>
        <Finding />
        <Strip />
        <div class="tabs" role="tablist" aria-label="Views">
          {tabs.map(([id, name]) => (
            <button
              type="button"
              role="tab"
              key={id}
              id={`tab-${id}`}
              aria-selected={tab.value === id}
              aria-controls={`view-${id}`}
              tabIndex={tab.value === id ? 0 : -1}
              onClick={() => {
                tab.value = id;
              }}
              onKeyDown={(event) => {
                const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
                if (!step) return;
                const next = tabs[(tabs.findIndex((t) => t[0] === id) + step + tabs.length) % tabs.length][0];
                tab.value = next;
                byId(`tab-${next}`)?.focus();
              }}
            >
              {name}
            </button>
          ))}
        </div>
        <div class={`views show-${tab.value}`}>
          <div class="view" id="view-heads">
            <Atlas />
          </div>
          <div class="middle">
            <div class="view" id="view-pattern">
              <Pattern />
            </div>
            <div class="view" id="view-next">
              <Next />
            </div>
          </div>
          <div class="view" id="view-why">
            <Why />
          </div>
        </div>
        <Where />
        <p class="caption">
          {info &&
            `Model ${info.model.name}. “${clipped(info.text, 200)}” ${info.second ? `“${clipped(info.second, 200)}” ` : ''}${partNames[part.value]} head ${place.value.layer}.${place.value.head}, colours ${paint.value.signed ? `±${digits(paint.value.limit, 3)}` : `0 to ${digits(paint.value.limit, 3)}, ${scaleNames[scale.value]}`}. Headlight ${version.value}, ${new Date().toISOString().slice(0, 10)}.`}
        </p>
      </main>
      <footer class="bottom">
        <span>Weights say what heads read, not what the model concludes.</span>
        <span>
          Headlight {version.value}
          {offline.value ? ', saved page' : ''}. No network beyond this machine.
        </span>
      </footer>
      <Tour />
      <PresentBar />
      <Menu />
      {dialog.value === 'compare' && <Compare />}
      {dialog.value === 'share' && <Share />}
      {dialog.value === 'export' && <Export />}
      {dialog.value === 'keys' && <Keys />}
      {dialog.value === 'table' && <RowTable />}
      <div class="unseen" role="status" aria-live="polite" data-test="live">
        {spoken}
      </div>
      <div class={`notice${notice.value ? ' on' : ''}`} role="status">
        {notice.value}
      </div>
    </>
  );
}

effect(() => {
  host.frame.dataset.theme = theme.value;
  host.frame.dataset.depth = depth.value;
  host.frame.toggleAttribute('data-present', present.value);
  host.root
    .querySelector('meta[name=theme-color]')
    ?.setAttribute('content', theme.value === 'dark' ? '#101217' : '#ffffff');
});
effect(() => {
  if (run.value && isPage)
    document.title = `${shownPlace.value.layer}.${shownPlace.value.head} ${run.value.model.name} – Headlight`;
});
// A presentation starts with its headline.
effect(() => {
  if (present.value && isPage) scrollTo(0, 0);
});
// A map of another shape starts fitted.
let shape = '';
effect(() => {
  const p = partInfo.value,
    now = p ? `${p.part} ${p.rows} ${p.columns} ${words.value} ${block.value}` : '';
  if (now !== shape) {
    shape = now;
    fit();
  }
});
// For tests: whether everything is loaded and settled.
effect(() => {
  host.frame.dataset.state =
    trouble.value && !run.value ? 'trouble' : busy.value || !run.value || !atlas.value ? 'busy' : 'ready';
});

const page = byId('page')!;
readPage(host.hash());
void open();
page.replaceChildren();
render(<App />, page);
