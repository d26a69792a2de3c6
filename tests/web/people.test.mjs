// What people do: type key by key, switch, go back, drag, zoom, press Esc. Answers may be slow, and may fail.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import {
  cellPoint,
  field,
  hover,
  inPage,
  launched,
  open,
  pixels,
  program,
  serve,
  settled,
  soon,
  SOURCE,
  until,
} from './pages.mjs';

const text = 'the cat sat on the mat because it was too tired';
const at = (model, more = '') => `m=${model}&t=${encodeURIComponent(text)}${more}`;
const chip = (page, i) => page.locator(`.strip [data-token="${i}"]`);
const ready = (page) => page.waitForSelector('html[data-state=ready]');
const runText = (page, value) => inPage(page, (t) => new URLSearchParams(location.hash.slice(1)).get('t') === t, value);
// Runs that are asked for, in their order; each is answered when its `give` is called.
async function held(page) {
  const list = [];
  await page.route('**/api/v1/run', async (route) => {
    await new Promise((give) => list.push({ body: route.request().postData(), give }));
    await route.continue().catch(() => {}); // the page may have gone
  });
  return list;
}
const number = (text) => Number(text.replace('−', '-'));
const frames = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

export default {
  async 'Typing: no answer overwrites the field, one run waits, a stale picture is grey'() {
    const page = await open({ at: at('en') });
    const answers = await held(page),
      texts = () => answers.map((a) => JSON.parse(a.body).text);
    await page.click('#text');
    await page.keyboard.press('Control+A');
    const typed = 'the mat was tired and the cat sat on it';
    for (const word of typed.split(/(?<= )/)) {
      await page.keyboard.type(word, { delay: 30 });
      await soon.equal(() => answers.length, 1); // the first word is asked for; the others meanwhile are not
      await page.waitForTimeout(300); // as one who thinks
    }
    assert.equal(answers.length, 1);
    await soon.ok(() => typed.startsWith(texts()[0]), 'what was typed when it was asked');
    await soon.equal(() => page.inputValue('#text'), typed);
    await soon.ok(() => page.isVisible('main.stale'));
    await soon.match(() => page.textContent('[data-test=stale]'), /The picture shows/);
    // The answer to the first words: the field keeps the others, and they alone are asked for.
    answers[0].give();
    await soon.equal(() => answers.length, 2);
    assert.equal(texts()[1], typed);
    assert.equal(await page.inputValue('#text'), typed);
    assert.ok(await page.isVisible('main.stale'), 'the picture is still of another text');
    answers[1].give();
    await runText(page, typed);
    await ready(page);
    await soon.equal(() => page.inputValue('#text'), typed);
    await soon.equal(() => page.locator('main.stale').count(), 0);
    assert.equal(answers.length, 2);
  },

  async 'Typing a sentence: its link is chosen when it is there, not by its first words; a pinned word stays'() {
    const server = await serve(['--model', join(SOURCE, 'models/headlight-en'), '--threads', '1']);
    const page = await open({ server });
    await page.click('#text');
    await page.keyboard.press('Control+A');
    const typed = 'The dog barked at the cat because it was scared.';
    for (const word of typed.split(/(?<= )/)) {
      await page.keyboard.type(word, { delay: 20 });
      await page.waitForTimeout(350); // long enough for an answer to each beginning
    }
    await runText(page, typed);
    await ready(page);
    const map = JSON.parse(program('show', typed, '--model', join(SOURCE, 'models/headlight-en'), '--json', '-'))
      .maps[0];
    await soon.equal(() => field(page, 'h'), `${map.layer}.${map.head}`);
    await soon.equal(() => page.locator('.strip .chip.query > span').allTextContents().then((t) => t.join()), 'it'); // prettier-ignore
    // A word that somebody pins stays with the next text, wherever it is there.
    await page.locator('.strip .chip > span', { hasText: /^cat$/ }).click();
    await page.mouse.move(2, 2);
    await page.click('#text');
    await page.keyboard.press('Home');
    await page.keyboard.type('Yesterday ', { delay: 20 });
    await runText(page, 'Yesterday ' + typed);
    await ready(page);
    await soon.equal(() => page.locator('.strip .chip.query > span').allTextContents().then((t) => t.join()), 'cat'); // prettier-ignore
    // Enter on an empty field leaves it: whoever is asked for words can write them.
    await page.click('#text');
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Delete');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[data-test=banner]:has-text("empty")');
    await page.keyboard.type('the cat sat', { delay: 20 });
    await runText(page, 'the cat sat');
    await page.waitForSelector('[data-test=banner]', { state: 'detached' });
    await page.close();
    await server.stop();
  },

  async 'Typing while it plays: the words stay, the playing stops'() {
    const page = await open({ at: at('en') });
    await page.click('.next >> text=Play');
    await inPage(page, () => new URLSearchParams(location.hash.slice(1)).get('g'));
    await page.click('#text');
    await page.keyboard.press('End');
    await page.keyboard.type(' and sat', { delay: 60 });
    await soon.equal(() => page.inputValue('#text'), text + ' and sat');
    await runText(page, text + ' and sat');
    await ready(page);
    await page.waitForTimeout(400);
    await soon.equal(() => page.inputValue('#text'), text + ' and sat');
    await soon.equal(() => field(page, 'g'), null);
    await soon.equal(() => page.locator('.next >> text=Play').count(), 1);
  },

  async 'Removing a head while it plays: the playing stops, the effect is that of the text so far'() {
    const page = await open({ at: at('en', '&h=0.1') });
    await page.click('.next >> text=Play');
    await soon.ok(async () => ((await field(page, 'g')) ?? '').split(',').length >= 2);
    await page.keyboard.press('Escape');
    await page.keyboard.press('x');
    await page.waitForSelector('.next >> text=Play');
    await page.waitForSelector('[data-test=knockout][aria-busy=false] [data-test=divergence]');
    const count = await page.locator('.strip .chip').count();
    await soon.ok(async () =>
      (await page.getAttribute('[data-test=positions]', 'aria-label')).includes(`of ${count} `),
    );
  },

  async 'A pinned word keeps its place among its like, also where not all weights are here; heads are a model’s own'() {
    const many = Array.from({ length: 11 }, () => text).join(' '), // 144 heads of so many tokens come one at a time
      page = await open({ at: `m=many&t=${encodeURIComponent(many)}` }),
      cats = page.locator('.strip .chip', { hasText: /^cat/ });
    await cats.nth(4).click();
    await page.mouse.move(2, 2);
    const pinned = Number(await field(page, 'q'));
    await page.click('#text');
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('tired ', { delay: 20 });
    await page.keyboard.press('Enter');
    await runText(page, 'tired ' + many);
    await ready(page);
    await soon.equal(async () => Number(await field(page, 'q')), pinned + 2); // “tired” is two tokens
    // The head that somebody chose stays with the texts of its model.
    await page.keyboard.press(']');
    const head = await field(page, 'h');
    await page.click('#text');
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('the ', { delay: 20 });
    await page.keyboard.press('Enter');
    await runText(page, 'the tired ' + many);
    await ready(page);
    await soon.equal(() => field(page, 'h'), head);
    await page.click('#text');
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text, { delay: 5 });
    await page.keyboard.press('Enter');
    await runText(page, text);
    const map = JSON.parse(program('show', text, '--model', 'en', '--query', 'cat', '--json', '-')).maps[0];
    // One that the other model has too, and would not open with.
    await page.fill('#search', `${1 - map.layer}.${1 - map.head}`);
    await page.press('#search', 'Enter');
    await soon.equal(() => field(page, 'h'), `${1 - map.layer}.${1 - map.head}`);
    await page.selectOption('[aria-label=Model]', 'en');
    await inPage(page, () => location.hash.includes('m=en&'));
    await ready(page);
    await soon.equal(() => field(page, 'h'), `${map.layer}.${map.head}`);
  },

  async 'A model that fails: selector, address, picture and link stay together'() {
    const page = await open({ at: at('en'), errors: true });
    await page.route('**/api/v1/run', (route) =>
      route.request().postData().includes('"bert"')
        ? route.fulfill({
            status: 500,
            contentType: 'application/json',
            body: '{"error":{"code":"x","message":"it is broken"}}',
          })
        : route.continue(),
    );
    await page.selectOption('[aria-label=Model]', 'bert');
    await page.waitForSelector('[data-test=banner]:has-text("it is broken")');
    await soon.equal(() => page.inputValue('[aria-label=Model]'), 'en');
    await soon.equal(() => field(page, 'm'), 'en');
    await page.click('[data-test=share]');
    await soon.match(() => page.textContent('[data-test=link]'), /#m=en&/);
    await soon.match(() => page.textContent('[data-test=command]'), /--model en /);
  },

  async 'Back and forward: texts, models, heads, parts'() {
    const page = await open({ at: at('en', '&h=0.0&q=3&k=1') });
    await page.click('#text');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('the cat sat', { delay: 40 });
    await page.keyboard.press('Enter');
    await runText(page, 'the cat sat');
    await ready(page);
    await page.selectOption('[aria-label=Model]', 'en-fr');
    await inPage(page, () => location.hash.includes('m=en-fr'));
    await ready(page);
    await page.click('[data-test=part-cross]');
    await inPage(page, () => location.hash.includes('p=cross'));
    await ready(page);
    const box = await settled(page.locator('[data-test=atlas]'));
    const first = await field(page, 'h');
    await page.mouse.click(
      box.x + (first === '1.1' ? 40 : box.width - 14),
      box.y + (first === '1.1' ? 40 : box.height - 14),
    );
    await inPage(page, (h) => !location.hash.includes(`h=${h}`), first);
    await page.goBack();
    await inPage(page, (h) => location.hash.includes(`h=${h}`), first);
    await soon.equal(() => field(page, 'p'), 'cross'); // one step back is the head, not the part
    await page.goBack();
    await inPage(page, () => !location.hash.includes('p=cross'));
    await page.waitForSelector('[data-test=part-cross][aria-pressed=false]');
    await page.goBack();
    await inPage(page, () => location.hash.includes('m=en&'));
    await inPage(page, () => document.querySelector('[aria-label=Model]').value === 'en');
    await page.goBack();
    await runText(page, text);
    await inPage(page, (t) => document.querySelector('#text').value === t, text);
    await soon.equal(() => field(page, 'h'), '0.0');
    await ready(page);
    await page.goForward();
    await runText(page, 'the cat sat');
    await inPage(page, () => document.querySelector('#text').value === 'the cat sat');
    await ready(page);
    // Back, and forward before the answer: it comes too late.
    const answers = await held(page);
    await page.goBack();
    await soon.equal(() => answers.length, 1);
    await page.goForward();
    await inPage(page, () => document.querySelector('#text').value === 'the cat sat');
    answers[0].give();
    await page.waitForTimeout(500);
    assert.equal(await field(page, 't'), 'the cat sat');
  },

  async 'A key held down: hundreds of heads later the address is that of the head in sight'() {
    const browser = await launched(), // one that refuses some of them, as people's browsers do
      page = await open({ browser, at: at('en', '&h=0.0&q=3&k=1'), errors: true });
    await page.focus('[data-test=grid]');
    await page.evaluate(async () => {
      const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
      for (let i = 0; i < 200; ++i) {
        for (const key of ']][') press(key);
        await new Promise((done) => setTimeout(done));
      }
      for (let i = 0; i < 3; ++i) press(']');
    }); // faster than the test could press them
    await page.waitForSelector('#pattern-title:has-text("Layer 1 · head 1")');
    await soon.equal(() => field(page, 'h'), '1.1');
    await browser.close();
  },

  async 'A server that starts again: the page says what to do, and goes on'() {
    const first = await serve(['--model', 'en', '--threads', '1']),
      port = new URL(first.origin).port;
    const page = await open({ server: first, at: at('en'), errors: true });
    await first.stop();
    await page.fill('#text', 'the mat was tired');
    await page.waitForSelector('[data-test=banner]:has-text("does not answer")');
    const second = await serve(['--model', 'en', '--threads', '1', '--port', port]);
    await page.waitForSelector('[data-test=banner]:has-text("open the link")');
    const other = await page.context().newPage();
    await other.goto(second.link);
    await ready(other);
    await other.close();
    await runText(page, 'the mat was tired');
    await page.waitForSelector('[data-test=banner]', { state: 'detached' });
    await second.stop();
  },

  async 'A run that the server has forgotten is asked for again'() {
    const page = await open({ at: at('en', '&h=0.0&q=5&k=1'), errors: true });
    let forgot = 0;
    await page.route('**/api/v1/run/*/decoder/1/1.bin', (route) =>
      forgot++ === 0
        ? route.fulfill({
            status: 404,
            contentType: 'application/json',
            body: '{"error":{"code":"run.unknown","message":"gone"}}',
          })
        : route.continue(),
    );
    await page.focus('[data-test=atlas]');
    await page.keyboard.press('End');
    await page.keyboard.press('PageDown');
    await page.waitForSelector('.why:has-text("head 1.1") [data-test=steps]');
    assert.equal(forgot, 2);
    await soon.equal(() => page.locator('[data-test=banner]').count(), 0);
  },

  async 'Memory after every head of a long text is below 200 MB'() {
    const long = Array.from({ length: 1016 }, (_, i) => ['the', 'cat', 'sat', 'on', 'mat'][(i * i) % 5]).join(' ');
    const page = await open({ at: `m=many&t=${encodeURIComponent(text)}` });
    await soon.equal(() => field(page, 'm'), 'many');
    const other = await open({ at: `m=long&t=${encodeURIComponent(long)}&q=5&k=2` });
    // The small model has few heads; each answer is given out as one of 60.
    const cdp = await other.context().newCDPSession(other);
    await other.route('**/api/v1/run', async (route) => {
      const answer = await route.fetch(),
        info = await answer.json();
      for (const part of info.parts) part.layers = 30;
      await route.fulfill({ response: answer, json: info });
    });
    await other.route(/\/encoder\/(\d+)\/(\d+)\.bin$/, async (route) => {
      const [, layer, head] = /\/encoder\/(\d+)\/(\d+)\.bin$/.exec(route.request().url());
      await route.continue({
        url: route
          .request()
          .url()
          .replace(`/${layer}/${head}.bin`, `/${layer % 2}/${head}.bin`),
      });
    });
    await other.route(/\/encoder\/(row\/\d+\.f32|atlas\.u8)$/, async (route) => {
      const answer = await route.fetch(),
        body = await answer.body(),
        from = route.request().url().endsWith('u8') ? 8 : 0;
      const copies = Array.from({ length: 15 }, () => body.subarray(from));
      await route.fulfill({ response: answer, body: Buffer.concat([body.subarray(0, from), ...copies]) });
    });
    await other.fill('#text', long + ' tired');
    await other.press('#text', 'Enter');
    await inPage(other, () => document.querySelector('.heads header')?.textContent.includes('30 layers'));
    await ready(other);
    // Key by key, with nothing here that would keep an element of the page alive.
    await other.evaluate(() => (location.hash = location.hash.replace(/&h=\d+\.\d+/, '&h=0.0')));
    await other.focus('[data-test=grid]');
    for (let at = 0; at < 60; ++at) {
      if (at > 0) await other.keyboard.press(']');
      await inPage(
        other,
        (h) => document.querySelector('#pattern-title').textContent === h && document.querySelector('[data-test=map]'),
        `Layer ${at >> 1} · head ${at & 1}`,
      );
    }
    for (let i = 0; i < 3; ++i) {
      await cdp.send('HeapProfiler.collectGarbage');
      await other.waitForTimeout(300);
    }
    const usage = await cdp.send('Runtime.getHeapUsage');
    const megabytes = (usage.usedSize + usage.embedderHeapUsedSize + usage.backingStorageSize) / 1e6;
    assert.ok(usage.backingStorageSize > 0, 'the browser says how much arrays take');
    assert.ok(megabytes < 200, `${megabytes.toFixed(0)} MB`);
    return `${megabytes.toFixed(0)} MB after 60 heads of 1,019 tokens`;
  },

  async 'Links at the level of chance are no findings'() {
    const page = await open({ at: at('bert', '&h=0.0&q=') });
    const seen = new Set();
    for (let i = 1; i < 12 && seen.size < 2; ++i)
      for (let j = 1; j < 12 && seen.size < 2; ++j) {
        await hover(page, i, j);
        await frames(page);
        await until(async () => {
          const lift = number(/: ([\d.e−]+) times/.exec(await page.textContent('[data-test=uniform]'))[1]),
            says = await page.textContent('[data-test=finding]');
          assert.equal(/chance/.test(says), lift < 2, `${lift}: ${says}`);
          assert.equal(await page.locator('.says.plain').count(), lift < 2 ? 1 : 0);
          seen.add(lift >= 2);
        });
      }
    // What the page opens with is what the program shows first.
    const own = await open({ at: at('en') });
    const map = JSON.parse(program('show', text, '--model', 'en', '--json', '-')).maps[0];
    if (await field(own, 'k')) await soon.equal(() => field(own, 'h'), `${map.layer}.${map.head}`);
    return seen.size === 2 ? 'both kinds seen' : `only ${[...seen]}`;
  },

  async 'Words of several tokens: one number, which says how it is made, and a pair to pick'() {
    const page = await open({ at: at('en', '&h=1.1&q=8,9&k=1,2,3') });
    const shown = async (name) => Number(await page.getAttribute(`[data-test=${name}]`, 'data-value'));
    await until(async () => assert.equal(await shown('headline'), await shown('value')));
    await soon.equal(() => page.textContent('[data-test=how]'), 'mean over 2 tokens of the sum over 3 tokens');
    await soon.match(() => page.textContent('[data-test=readout]'), /^(?!.*exact)/);
    await soon.equal(() => page.textContent('[data-test=origin]'), 'derived');
    const options = page.locator('[data-test=pair] option');
    await soon.equal(() => options.count(), 6);
    const weights = (await options.allTextContents()).map((t) => number(/, ([\d.e−]+)$/.exec(t)[1]));
    await soon.ok(async () => Math.abs(weights.reduce((a, b) => a + b) / 2 - (await shown('value'))) < 3e-3);
    await page.selectOption('[data-test=pair]', '9 2');
    const picked = number(/, ([\d.e−]+)$/.exec(await page.locator('[data-test=pair] option:checked').textContent())[1]);
    await inPage(
      page,
      (w) =>
        Math.abs(Number((document.querySelector('[data-test=kernel]')?.textContent ?? '').replace('−', '-')) - w) <
        6e-4,
      picked,
    );
    await soon.match(() => page.textContent('.pairs'), /of [\d.]+, the mean over 2 tokens/);
  },

  async 'The first view: it → animal where the model has that; the translation in sight; a pinned word goes along'() {
    const own = await serve([
      '--model', join(SOURCE, 'models/headlight-en'), '--model', join(SOURCE, 'models/headlight-en-fr'), '--threads', '1',
    ]); // prettier-ignore
    const page = await open({ server: own });
    await soon.match(() => page.textContent('[data-test=finding]'), /Layer 4 head 0 sends 0.82 of it to animal/);
    const said = JSON.parse(program('show', '--model', join(SOURCE, 'models/headlight-en'), '--json', '-')).maps[0];
    await soon.equal(() => field(page, 'h'), `${said.layer}.${said.head}`);
    await page.selectOption('[aria-label=Model]', 'headlight-en-fr');
    await inPage(page, () => location.hash.includes('m=headlight-en-fr'));
    await ready(page);
    await soon.match(() => page.textContent('[data-test=other-text]'), /animal.*rue/s);
    const pinned = () => page.locator('.strip .chip.query > span').allTextContents();
    await page.locator('.strip .chip > span', { hasText: /^animal$/ }).click();
    await page.mouse.move(2, 2);
    await page.click('[data-test=part-cross]');
    await page.waitForSelector('[data-test=part-cross][aria-pressed=true]');
    await soon.equal(async () => (await pinned()).join(''), "L'animal");
    await page.click('[data-test=part-decoder]');
    await page.waitForSelector('[data-test=part-decoder][aria-pressed=true]');
    await soon.equal(async () => (await pinned()).join(''), "L'animal");
    await soon.match(() => page.textContent('[data-test=other-text]'), /street/);
    await page.click('[data-test=other-text] button:has-text("street")');
    await page.waitForSelector('[data-test=part-encoder][aria-pressed=true]');
    await page.mouse.move(2, 2);
    await soon.deepEqual(() => pinned(), ['street']);
    await page.click('[data-test=part-cross]');
    await page.waitForSelector('[data-test=part-cross][aria-pressed=true]');
    await soon.deepEqual(() => pinned(), ['rue']);
    await page.close();
    await own.stop();
  },

  async 'The tour’s guess gives no answer away'() {
    const page = await open({ at: at('en', '&h=0.0&q=5&k=1&f=link') });
    const outline = () =>
      page.evaluate(() => {
        const c = document.querySelector('.cells .over'),
          grid = document.querySelector('[data-test=grid]'),
          columns = Number(grid.getAttribute('aria-colcount')),
          rows = Number(grid.getAttribute('aria-rowcount'));
        const x = Math.round((1 * c.width) / columns),
          y = Math.round((5.5 * c.height) / rows);
        return [...c.getContext('2d').getImageData(x - 2, y, 5, 1).data].some((v, i) => i % 4 === 3 && v > 0);
      });
    await page.mouse.move(2, 2);
    await soon.ok(() => outline(), 'the pinned cell has a frame');
    await page.keyboard.press('Escape');
    await page.click('nav >> text=Tour');
    for (let i = 0; i < 8; ++i) await page.click('.tour footer .primary');
    await page.mouse.move(2, 2);
    await frames(page);
    await soon.equal(() => outline(), false);
    await soon.equal(() => page.locator('.chip.key').count(), 0);
    await soon.equal(() => page.locator('.label.column.pinned').count(), 0);
    await soon.doesNotMatch(() => page.textContent('.why header'), /→/);
    await soon.doesNotMatch(() => page.textContent('.heads .segments'), /→/);
    await soon.equal(() => page.locator('.mark-value').count(), 0); // on the colour scale
    await soon.ok(() => page.isDisabled('text=As table'));
    const { x, y } = await cellPoint(page, 5, 1);
    await page.mouse.click(x, y, { button: 'right' });
    await soon.doesNotMatch(() => page.textContent('[data-test=menu]'), /Copy/);
    await page.keyboard.press('Escape');
    await page.mouse.move(2, 2);
    await page.click('[data-test=as-lines]');
    await soon.equal(
      () =>
        page.evaluate(() => {
          const c = document.querySelector('[data-test=lines]').getBoundingClientRect();
          return (
            c.width > 0 && [...document.querySelectorAll('.lines small')].filter((e) => e.textContent.trim()).length
          );
        }),
      0,
    );
    await page.click('text=Map');
    const colours = await page.evaluate(() => {
      const c = document.querySelector('[data-test=atlas]'),
        seen = new Set(),
        data = c.getContext('2d').getImageData(24, 20, c.width - 26, c.height - 22).data;
      for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] === 255) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
      return seen.size;
    });
    assert.ok(colours < 40, `${colours} colours in the atlas`);
  },

  async '12 × 12 heads at 1440 pixels: all in sight, 40 pixels or more; the map fills its panel'() {
    const page = await open({ at: at('many'), viewport: { width: 1440, height: 900 } });
    const { scrolls, size, canvas } = await page.evaluate(() => {
      const box = document.querySelector('.atlas-box');
      return {
        scrolls: box.scrollWidth > box.clientWidth + 1 || document.documentElement.scrollWidth > innerWidth + 1,
        size: document.querySelector('[data-test=atlas]').clientWidth,
        canvas: document.querySelector('[data-test=atlas]').clientHeight,
      };
    });
    assert.equal(scrolls, false);
    assert.ok(size * canvas >= 144 * 46 * 46, `${size} × ${canvas}`);
    // Every head can be chosen with the mouse, and is 40 pixels wide at least.
    const atlas = await settled(page.locator('[data-test=atlas]'));
    const found = new Map();
    for (let y = 24; y < atlas.height; y += 40)
      for (let x = 34; x < atlas.width; x += 40) {
        await page.locator('[data-test=atlas]').hover({ position: { x, y } });
        await frames(page);
        const name = await page.textContent('#pattern-title');
        found.set(name, (found.get(name) ?? 0) + 1);
      }
    assert.ok(found.size >= 140, `${found.size} heads`);
    await page.mouse.move(2, 2);
    const few = await open({
      at: `m=bert&t=${encodeURIComponent('the cat')}&q=`,
      viewport: { width: 1440, height: 900 },
    });
    const [panel, map] = await Promise.all([
      few.locator('.pattern').boundingBox(),
      few.locator('[data-test=map]').boundingBox(),
    ]);
    assert.ok(map.width >= 0.6 * (panel.width - 200), `${map.width} of ${panel.width}`);
    return `${size} × ${canvas} pixels`;
  },

  async 'Bytes, lines and right-to-left texts can be read'() {
    const server = await serve(['--model', join(SOURCE, 'models/headlight-en'), '--threads', '1']);
    const page = await open({ server, at: `t=${encodeURIComponent('the cat\nsat on 🐈 the mat')}` });
    await soon.equal(() => page.inputValue('#text'), 'the cat\nsat on 🐈 the mat');
    const names = await page.locator('.strip .chip > span').allTextContents();
    assert.ok(names.includes('⏎'), names.join());
    const rows = await page
      .locator('.strip .chip')
      .evaluateAll((list) => list.map((e) => e.getBoundingClientRect().top));
    assert.ok(rows[names.indexOf('⏎') + 1] > rows[0] + 10, 'the next line begins a line');
    assert.deepEqual(
      names.filter((n) => /^⟨/.test(n)),
      ['⟨F0⟩', '⟨9F⟩', '⟨90⟩', '⟨88⟩'],
    );
    // Shift-Enter begins a line, Enter computes.
    await page.click('#text');
    await page.keyboard.press('Control+End');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('it was', { delay: 20 });
    await soon.match(() => page.inputValue('#text'), /mat\nit was$/);
    // Generated line breaks are shown as typed ones are.
    const written = await open({ server, at: `t=${encodeURIComponent('the cat sat.')}&g=199,303` });
    await soon.deepEqual(async () => (await written.locator('.strip .chip.new > span').allTextContents()), ['⏎', 'The']); // prettier-ignore
    // In a text that runs right to left, numbers and words of other scripts run left to right.
    const numbers = await open({ server, at: `t=${encodeURIComponent('שלום 123 עולם cat 45%')}` });
    const spots = await numbers
      .locator('.strip .chip')
      .evaluateAll((list) => list.map((e) => [e.textContent[0], e.getBoundingClientRect()]));
    const spot = (name) => spots.find(([first]) => first === name)[1];
    assert.ok(spot('1').right <= spot('2').left && spot('2').right <= spot('3').left, '123');
    assert.ok(spots[0][1].left >= spot('3').right, 'to the right of it, what comes before');
    assert.ok(spot('c').right <= spot('4').left || spot('c').top < spot('4').top, 'cat 45');
    assert.ok(spot('5').right <= spot('%').left, '45%');
    // The words of a map do not cover each other, however many of them are pinned.
    const crowded = await open({ server, at: `t=${encodeURIComponent('Averylongwordwithoutblanks'.repeat(8))}` });
    await soon.ok(async () => (await crowded.locator('.label.row.pinned').count()) > 10);
    const tops = await crowded
      .locator('.label.row')
      .evaluateAll((list) => list.map((e) => e.getBoundingClientRect().top).sort((a, b) => a - b));
    assert.ok(
      tops.every((y, i) => i === 0 || y - tops[i - 1] > 9),
      `${tops}`,
    );
    await soon.match(
      () => crowded.textContent('[data-test=uniform], [data-test=stale]'),
      /over the 1 to \d+ tokens they can see/,
    );
    await soon.equal(() => crowded.textContent('[data-test=origin]'), 'derived'); // a mean
    await server.stop();
    const hebrew = await open({ at: `m=bert&t=${encodeURIComponent('שלום עולם')}&q=1` });
    const boxes = await hebrew
      .locator('.strip .chip')
      .evaluateAll((list) => list.map((e) => e.getBoundingClientRect().left));
    assert.ok(boxes[0] > boxes.at(-1), 'the first token is on the right');
    const directions = await hebrew
      .locator('.strip .chip small')
      .evaluateAll((list) => list.map((e) => getComputedStyle(e).direction));
    assert.ok(directions.every((d) => d === 'ltr'));
  },

  async 'Pinned blocks keep their colours'() {
    const page = await open({ at: at('bert', '&h=0.0&q=2,3,4,5&k=3,4,5,6') });
    await page.mouse.move(2, 2);
    const covered = await page.evaluate(() => {
      const c = document.querySelector('.cells .over'),
        grid = document.querySelector('[data-test=grid]'),
        width = c.width / Number(grid.getAttribute('aria-colcount')),
        height = c.height / Number(grid.getAttribute('aria-rowcount'));
      const data = c
        .getContext('2d')
        .getImageData(Math.ceil(4 * width), Math.ceil(3 * height), Math.floor(2 * width), Math.floor(2 * height)).data;
      return data.filter((v, i) => i % 4 === 3 && v > 0).length;
    });
    assert.equal(covered, 0, 'nothing is drawn on the inner cells');
  },

  async 'Hover: a value at the pointer, no tint, nothing moves, nothing stays'() {
    const page = await open({ at: at('bert', '&h=0.0&q=3&k=5'), viewport: { width: 1100, height: 900 } });
    const boxes = () =>
      page.evaluate(() =>
        JSON.stringify(
          ['.strip', '.heads', '.pattern', '.why', '[data-test=map]'].map((s) => {
            const b = document.querySelector(s).getBoundingClientRect();
            return [s, b.x, b.y, b.width, s === '.why' ? 0 : b.height];
          }),
        ),
      );
    const before = await boxes(),
      colours = await pixels(page, [
        [4, 2],
        [4, 7],
        [9, 6],
      ]);
    for (const [i, j] of [
      [4, 6],
      [0, 0],
      [12, 12],
      [7, 9],
    ]) {
      await hover(page, i, j);
      await frames(page);
      await soon.equal(() => boxes(), before);
      const value = number(await page.textContent('[data-test=pointer-value]')),
        box = await page.locator('[data-test=pointer-value]').boundingBox(),
        spot = await cellPoint(page, i, j);
      assert.ok(spot.x > box.x + box.width || spot.x < box.x, 'the cell is not covered');
      assert.ok(
        Math.abs(spot.x - box.x - box.width / 2) < 90 && Math.abs(spot.y - box.y - box.height / 2) < 60,
        'beside it',
      );
      await soon.ok(
        async () => Math.abs(value - Number(await page.getAttribute('[data-test=value]', 'data-value'))) < 6e-4,
      );
    }
    await hover(page, 4, 6);
    await frames(page);
    await soon.deepEqual(() => pixels(page, [[4, 2], [4, 7], [9, 6]]), colours); // prettier-ignore
    const tint = await page.evaluate(() => {
      const c = document.querySelector('.cells .over'),
        grid = document.querySelector('[data-test=grid]'),
        n = Number(grid.getAttribute('aria-colcount'));
      return c.getContext('2d').getImageData(Math.round((9.5 * c.width) / n), Math.round((4.5 * c.height) / n), 1, 1)
        .data[3];
    });
    assert.equal(tint, 0);
    await page.mouse.move(2, 2);
    await soon.equal(() => page.locator('[data-test=pointer-value]').count(), 0);
    // A head under a resting mouse does not hide the one that a key chooses.
    const atlas = await settled(page.locator('[data-test=atlas]'));
    await page.locator('[data-test=atlas]').hover({ position: { x: atlas.width - 14, y: atlas.height - 14 } });
    await page.waitForSelector('#pattern-title:has-text("Layer 1 · head 1")');
    await page.keyboard.press('Escape');
    await page.keyboard.press(']');
    await page.waitForSelector('#pattern-title:has-text("Layer 0 · head 1")');
  },

  async 'Zoom stays under the pointer; dragged labels are not selected'() {
    const page = await open({ at: at('bert', '&h=0.0&q=') });
    const under = async () =>
      /^from (.+) to (.+),? weight/
        .exec(await page.textContent('[data-test=live]'))
        ?.slice(1)
        .join();
    for (const [i, j] of [
      [9, 8],
      [2, 10],
      [6, 6],
    ]) {
      await page.keyboard.press('Escape');
      await page.keyboard.press('0');
      await hover(page, i, j);
      const cell = await under();
      for (let n = 0; n < 6; ++n) {
        await page.keyboard.down('Control');
        await page.mouse.wheel(0, -60);
        await page.keyboard.up('Control');
        await frames(page);
        await soon.equal(() => under(), cell, `${i} ${j} after ${n + 1}`);
      }
    }
    // Moved under a resting mouse: what is under it now is told.
    const cell = await under();
    await page.mouse.wheel(0, 90);
    await frames(page);
    await soon.notEqual(() => under(), cell);
    await page.keyboard.press('0');
    await page.mouse.move(2, 2);
    const label = (i) => page.locator('.label.row').nth(i);
    await label(2).hover();
    await page.mouse.down();
    await label(3).hover();
    await label(5).hover();
    await page.mouse.up();
    await soon.equal(() => page.evaluate(() => getSelection().toString()), '');
    await soon.equal(() => field(page, 'q'), '2,3,4,5');
  },

  async 'Esc closes menus and the tour; Enter leaves the field; a strip is one Tab stop'() {
    const page = await open({ at: at('bert', '&h=0.0&q=3&k=5') });
    const { x, y } = await cellPoint(page, 4, 6);
    await page.mouse.click(x, y, { button: 'right' });
    await page.waitForSelector('[data-test=menu]');
    await page.evaluate(() => document.activeElement.blur()); // wherever the focus is
    await page.keyboard.press('Escape');
    await page.waitForSelector('[data-test=menu]', { state: 'detached' });
    await soon.equal(() => field(page, 'k'), '5');
    await page.click('nav >> text=Tour');
    await page.keyboard.press('Escape');
    await page.waitForSelector('[data-test=tour]', { state: 'detached' });
    await soon.equal(() => field(page, 'k'), '5');
    await page.click('#text');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.press('s');
    await soon.equal(() => page.inputValue('#text'), text);
    await soon.equal(() => field(page, 's'), 'log');
    for (const f of ['', 'n']) {
      if (f) await page.keyboard.press(f);
      const stops = await page.evaluate(() =>
        ['.strip .chips', '.lines .from', '.lines .to', '.step-names'].map((s) => {
          const box = document.querySelector(s);
          return box ? [...box.querySelectorAll('button')].filter((b) => b.tabIndex >= 0).length : 1;
        }),
      );
      assert.deepEqual(stops, [1, 1, 1, 1]);
    }
    await chip(page, 3).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await soon.equal(() => field(page, 'q'), '5');
    await soon.ok(() => page.evaluate(() => document.activeElement.dataset.token === '5'));
  },
};
