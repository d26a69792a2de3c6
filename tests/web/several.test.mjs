// Several heads at once, where in the model one is, presenting, comparing by address, what else can be saved.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  closeDialog,
  field,
  folder,
  hash,
  headWeights,
  hover,
  inPage,
  open,
  program,
  require,
  serve,
  settled,
  soon,
  until,
  value,
} from './pages.mjs';

const text = 'the cat sat on the mat because it was too tired';
const at = (model, more = '') => `m=${model}&t=${encodeURIComponent(text)}${more}`;
const title = (page, words) => inPage(page, (w) => document.getElementById('pattern-title').textContent === w, words);
async function download(page, test) {
  await page.click('[data-test=export]');
  const [saved] = await Promise.all([page.waitForEvent('download'), page.click(`[data-test=${test}]`)]);
  await closeDialog(page);
  return readFileSync(await saved.path());
}
// The spot of a head in an atlas of 2 × 2.
async function headPoint(page, layer, head) {
  const box = await settled(page.locator('[data-test=atlas]'));
  return { x: box.x + 22 + 70 * head + 30, y: box.y + 18 + 70 * layer + 30 };
}
const axe = async (page) => {
  const found = await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8') + ';axe.run()');
  return found.violations
    .filter((v) => ['serious', 'critical'].includes(v.impact))
    .map((v) => `${v.id} ${v.nodes[0].html}`);
};

export default {
  async 'Several heads: lines over each other, their mean, rollout, as the program computes them'() {
    const page = await open({ at: at('en', '&h=0.0&q=7&k=1') });
    const p = await headPoint(page, 1, 1);
    await page.keyboard.down('Shift');
    await page.mouse.click(p.x, p.y);
    await page.keyboard.up('Shift');
    await soon.equal(() => field(page, 'j'), '1.1');
    await soon.equal(() => field(page, 'h'), '0.0');
    await page.mouse.move(5, 5);
    await page.click('[data-test=as-lines]');
    await soon.equal(() => page.getAttribute('[data-test=lines]', 'data-heads'), '2');
    await soon.equal(() => page.locator('[data-test=overlaid]').count(), 2);
    const svg = (await download(page, 'export-lines')).toString();
    assert.match(svg, /stroke="#e69f00"/);
    assert.match(svg, />because</);
    // The same with the keyboard, and from the menu of a head.
    await page.click('[data-test=overlaid]:nth-of-type(2)');
    await soon.equal(() => field(page, 'j'), null);
    await page.focus('[data-test=atlas]');
    await page.keyboard.press('Shift+ArrowDown');
    await soon.equal(() => field(page, 'j'), '0.0');
    await soon.equal(() => field(page, 'h'), '1.0');
    await page.keyboard.press('ArrowUp'); // a head is not beside itself
    await soon.equal(() => page.locator('[data-test=overlaid]').count(), 0);
    await soon.equal(() => field(page, 'j'), null);
    await page.mouse.click(p.x, p.y, { button: 'right' });
    await page.click('[data-test=menu] >> text=Take it together with 0.0');
    await page.mouse.move(5, 5);
    await soon.equal(() => field(page, 'j'), '1.1');
    const between = await headPoint(page, 1, 0);
    await page.keyboard.down('Shift');
    await page.mouse.click(between.x, between.y);
    await page.keyboard.up('Shift');
    await page.mouse.move(5, 5);
    await soon.equal(() => field(page, 'j'), '1.1,1.0');
    await soon.equal(() => page.locator('[data-test=overlaid]').count(), 3);
    await page.evaluate(() => (location.hash = location.hash.replace(/&j=[^&]*/, '&j=1.1')));
    await soon.equal(() => page.locator('[data-test=overlaid]').count(), 2);
    await page.click('text=Map');
    await page.click('[data-test=mean]');
    await title(page, 'Mean of 2 heads');
    await soon.equal(() => page.textContent('[data-test=origin]'), 'derived');
    const a = headWeights(text, 'en', 'decoder', 0, 0),
      b = headWeights(text, 'en', 'decoder', 1, 1);
    await inPage(page, () => document.querySelector('[data-test=value]'));
    for (const [i, j] of [
      [7, 1],
      [9, 4],
    ]) {
      await hover(page, i, j);
      await soon.ok(async () => Math.abs((await value(page)) - (a.at(i, j) + b.at(i, j)) / 2) < 1e-6);
    }
    await page.mouse.move(5, 5);
    await page.click('[data-test=rollout]');
    await title(page, 'Rollout through 2 layers');
    const file = join(folder(), 'r.json');
    program('show', text, '--model', 'en', '--rollout', '--json', file);
    const r = JSON.parse(readFileSync(file)).maps[0].weights;
    await hover(page, 9, 4);
    await inPage(
      page,
      (w) => Math.abs(Number(document.querySelector('[data-test=value]')?.dataset.value) - w) < 1e-6,
      r[9][4],
    );
    await soon.match(() => page.textContent('.why'), /one head/);
    // Another model, and another attention, have other heads.
    await page.click('[data-test=mean]');
    await title(page, 'Mean of 2 heads');
    await page.selectOption('[aria-label=Model]', 'rotary');
    await inPage(page, () => location.hash.includes('m=rotary'));
    await soon.equal(() => field(page, 'j'), null);
    await soon.match(() => page.textContent('#pattern-title'), /^Layer \d · head \d$/);
    await page.goBack();
    await inPage(page, () => location.hash.includes('m=en&'));
    await soon.equal(() => field(page, 'j'), '1.1');
    await page.click('[data-test=rollout]');
    await title(page, 'Rollout through 2 layers');
    // The address has all of it.
    const again = await open({ at: (await hash(page)).replace(/^token=[^&]*&/, '') });
    await title(again, 'Rollout through 2 layers');
    await soon.equal(() => field(again, 'j'), '1.1');
  },

  async 'Where: layers lead to heads, the lens ends with the prediction'() {
    const page = await open({ at: at('en', '&h=0.1&q=7') });
    await soon.equal(
      () => page.getAttribute('[data-test=where] [aria-current]', 'title').then((t) => t.slice(0, 7)),
      'Layer 0',
    );
    await page.click('[data-test=where] button:has-text("1")');
    await soon.equal(() => field(page, 'h'), '1.1');
    await page.check('[data-test=lens]');
    await page.waitForSelector('[data-test=where] small');
    await until(async () => {
      const last = await page.locator('[data-test=where] button.stop').last().locator('small').textContent(),
        next = await page.locator('[data-test=next] tr').first().textContent();
      assert.equal(last.split(' ')[0], next.split(/\d/)[0].trim());
    });
    await soon.equal(() => page.locator('[data-test=where] small').count(), 3);
  },

  async 'Present: one panel in large type, arrow keys through the views, also in a saved page'() {
    const page = await open({ at: at('en', '&h=0.0&q=7') });
    await page.keyboard.press('Escape');
    await page.locator('[data-test=grid]').focus();
    await page.keyboard.press('k');
    await page.keyboard.press(']');
    await page.keyboard.press('k');
    await page.click('[data-test=present]');
    await soon.ok(async () => !(await page.isVisible('#view-heads')));
    // All of the map and its colour scale are in sight, and the buttons cover neither.
    await soon.ok(() =>
      page.evaluate(() => {
        const box = (name) => document.querySelector(name).getBoundingClientRect(),
          bar = box('[data-test=present-bar]');
        return box('[data-test=map]').bottom < innerHeight && box('.pattern .legend').bottom <= bar.top;
      }),
    );
    const small = await page.evaluate(() =>
      [...document.querySelectorAll('main *')]
        .filter((e) => e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
        .filter((e) => !e.closest('.unseen') && parseFloat(getComputedStyle(e).fontSize) < 20)
        .map((e) => e.outerHTML.slice(0, 90)),
    );
    assert.deepEqual(small, []);
    await page.keyboard.press('ArrowLeft');
    await title(page, 'Layer 0 · head 0');
    await page.keyboard.press('ArrowRight');
    await title(page, 'Layer 0 · head 1');
    await soon.deepEqual(() => axe(page), []);
    await page.keyboard.press('Escape');
    await soon.ok(() => page.isVisible('#view-heads'));
    const file = join(folder(), 'views.html');
    writeFileSync(file, await download(page, 'export-html'));
    const saved = await open({ url: pathToFileURL(file).href });
    await saved.keyboard.press('Escape');
    await saved.keyboard.press('p');
    await saved.keyboard.press('ArrowRight');
    await title(saved, 'Layer 0 · head 0');
    await saved.keyboard.press('ArrowRight');
    await title(saved, 'Layer 0 · head 1');
  },

  async 'Compare has an address: back closes it, forward opens it, a link opens it'() {
    const page = await open({ at: at('en') });
    await page.click('[data-test=compare]');
    await page.fill('[data-test=compare-text]', 'the cat sat on the mat');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[data-test=map-b]');
    await soon.equal(() => field(page, 'y'), 't:the cat sat on the mat');
    const link = await hash(page);
    await page.goBack();
    await page.waitForSelector('[data-test=map-b]', { state: 'detached' });
    await page.goBack();
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.goForward();
    await page.goForward();
    await page.waitForSelector('[data-test=map-b]');
    const other = await open({ at: link });
    await other.waitForSelector('[data-test=map-b]');
    await soon.equal(() => other.inputValue('[data-test=compare-text]'), 'the cat sat on the mat');
    await closeDialog(other);
    await soon.equal(() => field(other, 'y'), null);
  },

  async 'Corpus: texts by how far the head looks, one opens with its link'() {
    const file = join(folder(), 'corpus.txt');
    writeFileSync(file, 'the cat sat\nthe animal was too tired because it sat on the mat\nit was on the mat\n');
    const server = await serve(['--model', 'en', '--corpus', file]);
    try {
      const page = await open({ server, at: 'm=en&h=1.0' });
      await page.click('[data-test=corpus-start]');
      await page.waitForSelector('[data-test=corpus] li:nth-child(3)');
      await page.waitForSelector('[data-test=corpus][aria-busy=false]');
      const far = (await page.locator('[data-test=corpus] li b').allTextContents()).map(Number);
      assert.deepEqual(far, far.slice().sort((a, b) => b - a)); // prettier-ignore
      const text = await page.getAttribute('[data-test=corpus] li button >> nth=0', 'title');
      await page.click('[data-test=corpus] li button >> nth=0');
      await inPage(page, (t) => new URLSearchParams(location.hash.slice(1)).get('t') === t, text);
      await soon.equal(() => page.inputValue('#text'), text);
      await soon.equal(() => field(page, 'h'), '1.0');
      await soon.ok(async () => (await field(page, 'k')) !== null);
    } finally {
      await server.stop();
    }
  },

  async 'Export: the atlas as a picture, a link and a sweep in every head as numbers'() {
    const page = await open({ at: at('en', '&h=0.0&q=7&k=1') });
    const picture = await download(page, 'export-atlas');
    assert.equal(picture.subarray(1, 4).toString(), 'PNG');
    await page.click('[data-test=sweep]');
    await page.waitForSelector('[data-test=sweep]:has-text("Sweep")');
    const lines = (await download(page, 'export-heads')).toString().trim().split('\n');
    assert.equal(lines[0], 'layer\thead\tlink_weight\tkl_nats');
    assert.equal(lines.length, 5);
    const w = headWeights(text, 'en', 'decoder', 1, 0);
    assert.ok(Math.abs(Number(lines[3].split('\t')[2]) - w.at(7, 1)) < 1e-6);
    assert.ok(Number(lines[3].split('\t')[3]) >= 0);
  },
};
