// Two runs beside each other, another token at any place, and the view as a file.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { closeDialog, field, folder, inPage, npy, open, program, soon } from './pages.mjs';

const text = 'the cat sat on the mat because it was too tired';
const at = (model, more = '') => `m=${model}&t=${encodeURIComponent(text)}${more}`;
const ready = (page) => page.waitForSelector('html[data-state=ready]');
const differences = (page) =>
  page.locator('[data-test=differences] tbody tr').evaluateAll((list) =>
    list.map((row) => ({
      link: row.querySelector('th').textContent,
      value: Number(row.querySelector('[data-value]').dataset.value),
    })),
  );
const weightsOf = (model, words) => {
  const out = folder();
  program('show', words, '--model', model, '--npy', out, '--what', 'weights');
  return npy(join(out, 'decoder_1.npy'));
};

export default {
  async 'A30 compare: the same text differs nowhere; two texts by words; two models; without the change'() {
    const page = await open({ at: at('en', '&h=1.0&q=5&k=1') });
    await page.click('[data-test=compare]');
    await page.press('[data-test=compare-text]', 'Enter');
    await page.waitForSelector('[data-test=no-difference]');
    // Another text: the largest difference is that of the arrays.
    const second = text.replace('mat', 'cat');
    await page.fill('[data-test=compare-text]', second);
    await page.press('[data-test=compare-text]', 'Enter');
    await page.waitForSelector('[data-test=differences]');
    await page.locator('[data-test=map-difference]').hover({ position: { x: 30, y: 120 } });
    await inPage(page, () => /: A .*, B /.test(document.querySelector('[data-test=compare-readout]').textContent));
    await page.mouse.move(2, 2);
    // Two models, of which one is as another: heads of B most like that of A.
    await page.selectOption('[data-test=compare-model]', 'rotary');
    await inPage(page, () =>
      /most like 1.0 of A/.test(document.querySelector('[data-test=compare-heads]').textContent),
    );
    await page.click('[data-test=compare-heads] button:nth-of-type(1)');
    await closeDialog(page);
    // Without the change: one tokens' map against the other, cell by cell.
    await page.focus('[data-test=grid]');
    await page.evaluate(() => (location.hash = location.hash.replace('h=1.0', 'h=0.1')));
    await page.waitForSelector('#pattern-title:has-text("Layer 0 · head 1")');
    await page.keyboard.press('x');
    await page.waitForSelector('[data-test=knockout][aria-busy=false] [data-test=divergence]');
    await page.evaluate(() => (location.hash = location.hash.replace('h=0.1', 'h=1.1')));
    await page.waitForSelector('[data-test=changed]');
    await page.keyboard.press('=');
    await page.waitForSelector('[data-test=differences]');
    await soon.match(() => page.textContent('[data-test=compare-readout]'), /The same tokens/);
    const list = await differences(page);
    assert.ok(list.length > 0 && list.every((d) => Math.abs(d.value) <= Math.abs(list[0].value)));
    await soon.match(() => page.textContent('[data-test=compare-heads]'), /Heads that differ most/);
    // Layer 0 is before the change: its heads do not differ, so that none of them is the first.
    await soon.match(() => page.textContent('[data-test=compare-heads] button:nth-of-type(1)'), /^1\./);
  },

  async 'Compare: the difference of two texts of as many tokens is that of the arrays'() {
    const page = await open({ at: at('en', '&h=1.0&q=5&k=1') }),
      other = 'the cat sat on the mat because he was too tired';
    await page.click('[data-test=compare]');
    await page.fill('[data-test=compare-text]', other);
    await page.press('[data-test=compare-text]', 'Enter');
    await page.waitForSelector('[data-test=differences]');
    const list = await differences(page),
      [largest] = list,
      a = weightsOf('en', text),
      b = weightsOf('en', other);
    // Up to the word that differs, token i of one is token i of the other, and nothing later is seen.
    const n = a.shape[1],
      m = b.shape[1];
    await soon.match(() => page.textContent('[data-test=compare-readout]'), /Aligned by words/);
    for (let i = 0; i < 8; ++i)
      for (let j = 0; j <= i; ++j) assert.ok(Math.abs(a.data[i * n + j] - b.data[i * m + j]) < 1e-6);
    assert.ok(Math.abs(largest.value) > 1e-4);
    assert.match(largest.link, /^(was|too|tired|\[SEP\])/); // rows after it
    // Of words that are one token and occur once, the number is B − A of the arrays.
    const places = { '[CLS]': 0, cat: 2, sat: 3, on: 4, mat: 6, because: 7, was: 9, too: 10, '[SEP]': n - 1 };
    let checked = 0;
    for (const { link, value } of list) {
      const [i, j] = link.split(' → ').map((word) => places[word]);
      if (i === undefined || j === undefined) continue;
      ++checked;
      assert.ok(Math.abs(b.data[i * m + j] - a.data[i * n + j] - value) < 1e-6, link);
    }
    assert.ok(checked > 0, list.map((d) => d.link).join());
    const shown = await page
      .locator('[data-test=differences] tbody tr')
      .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('td')].map((td) => td.textContent)));
    list.forEach(({ link, value }, i) => {
      const [x, y] = shown[i].map((text) => Number(text.replace('−', '-')));
      assert.ok(Math.abs(y - x - value) < 1.1e-3, `${link}: ${shown[i]}`);
    });
    // One after the other in one place, by themselves or by hand.
    await page.click('[data-test=blink]');
    await page.waitForSelector('[data-test=map-b]');
    await soon.equal(() => page.locator('[data-test=map-a]').count(), 0);
    await page.waitForSelector('[data-test=map-a]');
    await page.click('[data-test=blink]');
    await soon.equal(() => page.locator('[data-test=map-a], [data-test=map-b]').count(), 2);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.click('[data-test=blink]');
    for (let i = 0; i < 8; ++i) {
      await page.waitForTimeout(200);
      assert.equal(await page.locator('[data-test=map-b]').count(), 0);
    }
    await page.click('[data-test=blink-flip]');
    await soon.equal(() => page.locator('[data-test=map-a]').count(), 0);
  },

  async 'Writing: another token at the end and in the middle, and on from there'() {
    const page = await open({ at: at('en', '&h=0.0&q=10') });
    const chips = () => page.locator('.strip .chip > span').allTextContents();
    const before = await chips(),
      last = before.length - 1;
    await page.evaluate((q) => (location.hash = location.hash.replace(/&q=\d+/, `&q=${q}`)), last);
    await inPage(page, (w) => document.querySelector('.next header')?.textContent.includes(`after ${w}`), before[last]);
    const guess = page.locator('[data-test=next] .plain-word').nth(1);
    const chosen = await guess.textContent();
    await guess.click();
    await inPage(page, () => location.hash.includes('&g='));
    await ready(page);
    await soon.deepEqual(() => chips(), [...before, chosen]);
    await soon.equal(() => field(page, 'q'), String(before.length));
    await soon.equal(() => page.inputValue('#text'), text);
    // In the middle: the text ends there.
    await page.locator('.strip .chip').nth(3).click();
    await page.mouse.move(2, 2);
    await inPage(page, (w) => document.querySelector('.next header')?.textContent.includes(`after ${w}`), before[3]);
    const other = await page.locator('[data-test=next] .plain-word').first().textContent();
    await page.locator('[data-test=next] .plain-word').first().click();
    const count = (n) => inPage(page, (m) => document.querySelectorAll('.strip .chip').length === m, n);
    await count(6); // this tokenizer puts a [SEP] behind every text
    await soon.deepEqual(() => chips(), [...before.slice(0, 4), '[SEP]', other]);
    await soon.equal(() => page.inputValue('#text'), 'the cat sat');
    await page.click('.next >> text=Write one token');
    await count(7);
    await page.click('.next >> text=Take back');
    await count(6);
  },

  async 'Save page: the view as one file, as it is shown'() {
    const page = await open({ at: at('en', '&h=1.1&q=5&k=2&s=log') });
    await page.click('[data-test=export]');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('[data-test=export-html]')]);
    await closeDialog(page);
    const value = await page.getAttribute('[data-test=headline]', 'data-value');
    const file = join(folder(), 'saved.html');
    await download.saveAs(file);
    const copy = await open({ url: `file://${file}` });
    await soon.equal(() => copy.getAttribute('[data-test=headline]', 'data-value'), value);
    await soon.equal(() => copy.textContent('#pattern-title'), 'Layer 1 · head 1');
    await soon.equal(() => field(copy, 's'), 'log');
    await soon.equal(() => copy.inputValue('#text'), text);
    // Without one head at a time, as it was computed when the page was saved.
    await copy.keyboard.press('x');
    await copy.waitForSelector('[data-test=knockout][aria-busy=false] [data-test=divergence]');
    await soon.match(() => copy.textContent('[data-test=beforehand]'), /when this page was saved/);
    const told = JSON.parse(program('ablate', text, '--model', 'en', '--head', '1.1', '--json'));
    for (const { id, after } of told.tokens) {
      const cells = await copy.locator(`[data-test=effects] tr[data-id="${id}"] td[data-value]`).all();
      assert.ok(Math.abs(Number(await cells[1].getAttribute('data-value')) - after) < 1e-5, `token ${id}`);
    }
    await soon.equal(() => copy.getAttribute('[data-test=headline]', 'data-value'), value);
    await copy.keyboard.press('[');
    await copy.keyboard.press('x'); // instead of the other one
    await soon.equal(() => field(copy, 'z'), 'decoder~zero~1.0~0.5');
    await copy.click('[data-test=put-back]');
    await copy.click('[data-test=sweep]');
    await copy.waitForSelector('[data-test=sweep-line]:not(:has(progress))');
    const swept = JSON.parse(program('ablate', text, '--model', 'en', '--sweep', '--json')).heads;
    await copy.selectOption('[data-test=order]', 'effect');
    await copy.focus('[data-test=atlas]');
    for (const key of ['PageUp', 'PageUp', 'Home']) await copy.keyboard.press(key);
    const first = swept.sort((a, b) => b.kl - a.kl)[0];
    await soon.equal(() => field(copy, 'h'), `${first.layer}.${first.head}`);
  },
};
