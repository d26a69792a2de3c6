// Thousands of tokens: nothing disappears when weights are pooled, and every one is within reach.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { field, headWeights, hover, open, serve, soon, until, WORK } from './pages.mjs';

const words = ['the', 'cat', 'sat', 'on', 'mat', 'because', 'it', 'was', 'too', 'the'];
// A text of so many tokens in which every word has one.
const textOf = (count) =>
  Array.from({ length: count }, (_, i) => words[(i * 7 + Math.floor(i / 11)) % words.length]).join(' ');
const number = (text) => Number(text.replace('−', '-'));
const level = (page) => page.getAttribute('[data-test=minimap]', 'data-level').then(Number);
const valueAt = async (page, row, column) => {
  await hover(page, row, column);
  return page.textContent('[data-test=pointer-value]');
};

export default {
  async 'A26 4,096 tokens: pooled weights are the largest, closer they are exact'() {
    const text = textOf(4000),
      page = await open({
        at: 'm=longer&h=1.0&t=' + encodeURIComponent(text),
        viewport: { width: 1360, height: 1600 },
      });
    await page.waitForSelector('[data-test=map]');
    const first = page.requests.filter((r) => /\.map\?/.test(r.url())).length;
    assert.ok(first <= 40, `${first} tiles`);
    const [rows, columns] = await page.$eval('[data-test=grid]', (g) => [
      Number(g.getAttribute('aria-rowcount')),
      Number(g.getAttribute('aria-colcount')),
    ]);
    await soon.equal(() => level(page), 3);
    const w = headWeights(text, 'longer', 'encoder', 1, 0),
      { n } = w;
    assert.equal(rows, Math.ceil(n / 8));
    assert.equal(columns, rows);
    // The cells of what is in sight that hold its largest weights say so, at every level; none disappears by pooling.
    const checkTops = async () => {
      const said = (await page.textContent('[data-test=minimap] [role=status]')).match(/\d+/g).map(Number),
        [top, bottom, left, right] = said,
        size = 2 ** (await level(page)),
        across = Math.ceil((right + 1 - left) / size),
        cells = new Float32Array(across * Math.ceil((bottom + 1 - top) / size));
      for (let i = top; i <= bottom; ++i)
        for (let j = left; j <= right; ++j) {
          const at = Math.floor((i - top) / size) * across + Math.floor((j - left) / size);
          cells[at] = Math.max(cells[at], w.at(i, j));
        }
      const largest = Array.from(cells, (expected, at) => ({ expected, at })).sort((x, y) => y.expected - x.expected);
      for (const { expected, at } of [largest[0], largest[5], largest[largest.length >> 1]]) {
        const i = Math.floor(at / across),
          j = at % across;
        await until(async () => {
          const text = await valueAt(page, i, j);
          if (size > 1) assert.ok(text.startsWith(`largest of ${size} × ${size}: `), text);
          const shown = number(text.split(': ').at(-1)); // rounded to three digits
          assert.ok(Math.abs(shown - expected) <= 0.0051 * expected, `${text} at ${i}, ${j}, not ${expected}`);
        });
      }
    };
    await checkTops();
    await soon.ok(async () => (await page.locator('*').count()) <= 3000, 'nodes');
    // Closer, until every weight has a cell.
    for (let i = 2; i >= 0; --i) {
      await page.click('[data-test=closer]');
      await soon.equal(() => level(page), i);
      await checkTops();
    }
  },

  async 'Long texts: a word is gone to, its row sums to 1, Why explains it'() {
    const page = await open({ at: 'm=longer&h=0.1&t=' + encodeURIComponent(textOf(3000) + ' animal') });
    await page.click('[data-test=closer]');
    await page.click('#search');
    await page.keyboard.type('animal');
    await page.keyboard.press('Enter');
    const query = Number(await field(page, 'q'));
    assert.ok(query > 2900, `query ${query}`);
    await page.waitForSelector('[data-test=grid] .label.row.pinned');
    await soon.ok(async () => (await page.locator('[data-test=gap]').count()) >= 1);
    await page.click('.strip [data-token="' + (query - 5) + '"]', { modifiers: ['Control'] });
    await page.waitForSelector('[data-test=margin]');
    await soon.ok(async () => Math.abs(Number(await page.textContent('[data-test=margin]')) - 1) < 1e-3);
    await page.waitForSelector('.why [id^=step-]');
    await soon.match(() => page.textContent('.why'), /✓|float32|same/);
  },

  async 'A model without a tokenizer reads token ids'() {
    const place = join(WORK, 'models', 'plain');
    execFileSync('cp', ['-r', join(WORK, 'models', 'en'), place]);
    rmSync(join(place, 'tokenizer.json'));
    const server = await serve(['--model', 'en']);
    try {
      const page = await open({ server, errors: true, at: 'm=en' });
      await page.selectOption('[aria-label=Model]', 'plain'); // found in the folder of models
      await page.waitForSelector('[data-test=banner]:has-text("reads token ids")');
      await page.waitForSelector('html[data-state=ready]');
      await soon.equal(() => page.inputValue('#text'), '0 1 2 0 1 2');
      await soon.equal(() => page.getAttribute('#text', 'aria-label'), 'Token ids');
      await page.fill('#text', '3 1 2');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.strip [data-token="2"]');
      await soon.equal(() => page.locator('.strip [data-token]').count(), 3);
    } finally {
      await server.stop();
    }
  },
};
