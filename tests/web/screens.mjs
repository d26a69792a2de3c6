// screens.mjs FOLDER [NAME...]: every view of the page, in light and dark, on a large screen and on a phone, to be looked
// at. See tools/make-viewer-pictures --all.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closePages, launch, open, serve, SOURCE } from './pages.mjs';

const [folder, ...names] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const corpus = join(mkdtempSync(join(tmpdir(), 'screens-')), 'corpus.txt');
writeFileSync(
  corpus,
  'The dog slept because it was tired.\nA cat sat on the mat.\nThe old man gave the boy his hat.\n',
);
await launch();
const own = (name) => ['--model', join(SOURCE, 'models', name)];
const server = await serve([...own('headlight-en'), ...own('headlight-en-fr'), '--corpus', corpus]);
const small = await serve(['en', 'bert', 'many', 'longer'].flatMap((name) => ['--model', name]));

const sentence = "The animal didn't cross the street because it was too tired.",
  words = ['the', 'cat', 'sat', 'on', 'mat', 'because', 'it', 'was', 'too', 'tired'],
  long = Array.from({ length: 3000 }, (_, i) => words[(i * 7 + Math.floor(i / 11)) % 10]).join(' ');
const of = (model, more = '', text = sentence) => `m=${model}&t=${encodeURIComponent(text)}${more}`;
const click = (name) => (page) => page.click(name);
const dialogOf = (name) => async (page) => {
  await page.click(`[data-test=${name}]`);
  await page.waitForSelector('dialog[open]');
};
// On a phone, the panel where it happens comes first.
const tab = async (page, name) => {
  if (await page.isVisible(`#tab-${name}`)) await page.click(`#tab-${name}`);
};
const looked = 'h=4.0&q=7&k=1';
const views = {
  first: { at: '' },
  translator: { at: of('headlight-en-fr') },
  cross: { at: of('headlight-en-fr', '&p=cross') },
  decoder: { at: of('headlight-en-fr', '&p=decoder') },
  lines: { at: of('headlight-en', '&f=lines') },
  words: { at: of('headlight-en-fr', '&f=words') },
  link: { at: of('headlight-en', '&f=link'), tab: 'heads' },
  scores: { at: of('headlight-en', '&d=scores') },
  values: { at: of('headlight-en', '&d=values&c=magma&r=auto') },
  muted: { at: of('headlight-en', '&f=first,whole') },
  learner: { at: of('headlight-en', '&n=learner') },
  researcher: { at: of('headlight-en', '&n=researcher'), tab: 'why' },
  why: { at: of('headlight-en'), tab: 'why' },
  next: { at: of('headlight-en'), tab: 'next' },
  pair: { server: small, at: of('bert', '&b=' + encodeURIComponent('it sat on the mat'), 'the cat was tired') },
  heads144: { server: small, at: of('many', '', 'the cat sat on the mat because it was too tired'), tab: 'heads' },
  long: { server: small, at: of('longer', '&h=1.0&q=40', long) },
  scripts: { at: of('headlight-en', '', 'שלום עולם\nthe cat sat on 🐈 the mat\n猫が座った') },
  hebrew: { server: small, at: of('bert', '&q=1', 'שלום עולם שלום') },
  removed: {
    at: of('headlight-en'),
    tab: 'next',
    act: async (page) => {
      await page.keyboard.press('Escape');
      await page.keyboard.press('x');
      await page.waitForSelector('[data-test=divergence]', { state: 'attached' });
      await tab(page, 'next');
    },
  },
  sweep: {
    at: of('headlight-en'),
    tab: 'heads',
    act: async (page) => {
      await page.click('[data-test=sweep]');
      await page.waitForSelector('[data-test=sweep-line]:not(:has(progress))');
    },
  },
  labels: {
    at: of('headlight-en'),
    tab: 'heads',
    act: async (page) => {
      await page.click('[data-test=label]');
      await page.waitForSelector('[data-test=labels]', { timeout: 120000 });
      await page.click('[data-test=labels] summary');
    },
  },
  search: {
    at: of('headlight-en'),
    tab: 'heads',
    act: async (page) => {
      await page.fill('#search', 'it→animal');
      await page.waitForSelector('[data-test=found]');
    },
  },
  corpus: {
    at: of('headlight-en'),
    tab: 'heads',
    act: async (page) => {
      await page.click('[data-test=corpus-start]');
      await page.waitForSelector('[data-test=corpus][aria-busy=false] li');
    },
  },
  several: { at: of('headlight-en', '&f=lines&j=1.0,2.1,3.2') },
  rollout: { at: of('headlight-en', '&f=rollout') },
  lens: { at: of('headlight-en'), act: click('[data-test=lens]') },
  written: {
    at: of('headlight-en'),
    tab: 'next',
    act: async (page) => {
      await page.click('.next >> text=Play');
      await page.waitForSelector('[data-test=written] tr:nth-child(4)');
      await page.click('.next >> text=Pause');
      await page.waitForSelector('[data-test=next]');
    },
  },
  present: { at: of('headlight-en'), large: true, act: click('[data-test=present]') },
  tour: { at: of('headlight-en'), act: click('nav >> text=Tour') },
  guess: {
    at: of('headlight-en'),
    act: async (page) => {
      await page.click('nav >> text=Tour');
      for (let i = 0; i < 8; ++i) await page.click('.tour footer .primary');
    },
  },
  compare: {
    at: of('headlight-en', `&${looked}&y=` + encodeURIComponent('t:' + sentence.replace('tired', 'wide'))),
    act: (page) => page.waitForSelector('[data-test=differences]'),
  },
  share: { at: of('headlight-en'), act: dialogOf('share') },
  export: { at: of('headlight-en'), act: dialogOf('export') },
  keys: { at: of('headlight-en'), act: (page) => page.keyboard.press('Escape').then(() => page.keyboard.press('?')) },
  table: { at: of('headlight-en'), tab: 'pattern', act: (page) => page.click('text=As table') },
  menu: {
    at: of('headlight-en'),
    tab: 'pattern',
    act: async (page) => {
      await page.locator('[data-test=grid]').focus();
      await page.keyboard.press('Shift+F10');
    },
  },
  pointer: {
    at: of('headlight-en'),
    tab: 'pattern',
    act: (page) => page.locator('.cells .over').hover({ position: { x: 60, y: 120 } }),
  },
  stale: {
    at: of('headlight-en'),
    act: async (page) => {
      await page.route('**/api/v1/run', () => {}); // no answer
      await page.fill('#text', 'The animal is');
      await page.waitForSelector('main.stale');
    },
  },
  trouble: {
    at: of('headlight-en'),
    errors: true,
    act: async (page) => {
      await page.route('**/api/v1/run', (route) => route.abort());
      await page.fill('#text', 'The animal is');
      await page.waitForSelector('[data-test=banner]');
    },
  },
};
const looks = {
  light: { viewport: { width: 1440, height: 1000 }, colorScheme: 'light' },
  dark: { viewport: { width: 1440, height: 1000 }, colorScheme: 'dark' },
  'phone-light': { viewport: { width: 390, height: 844 }, colorScheme: 'light', isMobile: true, hasTouch: true },
  'phone-dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark', isMobile: true, hasTouch: true },
};
let lost = 0;
for (const [name, view] of Object.entries(views)) {
  if (names.length > 0 && !names.includes(name)) continue;
  for (const [look, options] of Object.entries(looks)) {
    const { act, tab: panel, large, ...more } = view;
    if (large && look.startsWith('phone')) continue; // there is no button for it
    try {
      const page = await open({ server, ...more, ...options, deviceScaleFactor: 1 });
      page.setDefaultTimeout(20000);
      if (look.startsWith('phone') && panel) await tab(page, panel);
      await act?.(page);
      await page.waitForTimeout(500);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 1) console.log(`${name} ${look}: ${wide} pixels too wide`);
      await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: look.startsWith('phone') });
      await closePages().catch((error) => console.log(`${name} ${look}: ${error.message}`));
    } catch (error) {
      ++lost;
      console.log(`${name} ${look}: ${error.message.split('\n')[0]}`);
      await closePages().catch(() => {});
    }
  }
}
process.exit(lost ? 1 : 0);
