// A continuation that is streamed, and checkpoints of a training run.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { field, folder, hover, inPage, open, program, serve, soon, value, WORK } from './pages.mjs';

const text = 'the cat sat on the mat because it was too tired';
const at = (model, more = '') => `m=${model}&t=${encodeURIComponent(text)}${more}`;
const asked = (page, path) => page.requests.filter((r) => new URL(r.url()).pathname.endsWith(path)).length;
const count = (page) => page.locator('.strip .chip').count();

export default {
  async 'Streaming: one request, a token and its attention at a time; stop, go back, another token'() {
    const page = await open({ at: at('en', '&h=0.1&q=5') }),
      before = await count(page);
    await page.click('.next >> text=Play');
    await soon.ok(async () => (await count(page)) >= before + 3);
    await page.waitForSelector('[data-test=written]'); // while it goes on
    await soon.equal(async () => Number(await field(page, 'q')) >= before + 2, true); // the new token is looked at
    await page.click('.next >> text=Pause');
    await page.waitForSelector('.next >> text=Play');
    await page.waitForSelector('[data-test=next]');
    assert.equal(asked(page, '/write'), 1);
    assert.equal(asked(page, '/next') - page.requests.filter((r) => r.url().includes('position=')).length, 0);
    const written = (await field(page, 'g')).split(',').map(Number),
      length = await count(page);
    assert.equal(length, before + written.length);
    // What was streamed are the weights of a full run.
    const ids = JSON.parse(program('show', text, '--model', 'en', '--head', '0.0', '--json', '-')).tokens.map(
      (t) => t.id,
    );
    const full = JSON.parse(program('show', '--ids', [...ids, ...written].join(','), '--model', 'en', '--head', '0.1', '--json', '-'))
      .maps[0].weights; // prettier-ignore
    // In the middle of the window: its upper rows may otherwise be behind the header.
    await page.locator('[data-test=map]').evaluate((map) => map.scrollIntoView({ block: 'center' }));
    for (const [i, j] of [
      [length - 1, 0],
      [length - 1, length - 1],
      [length - 2, 3],
      [4, 2],
    ]) {
      await hover(page, i, j);
      await soon.ok(async () => Math.abs((await value(page)) - full[i][j]) < 1e-6, `${i} ${j}`);
    }
    await page.mouse.move(2, 2);
    await page.click('.next >> text=Take back');
    await soon.equal(() => count(page), length - 1);
    // Another token in its place, and on from there.
    const other = page.locator('[data-test=next] .plain-word').nth(1);
    await inPage(page, (w) => document.querySelectorAll('[data-test=next] .plain-word').length > w, 1);
    await other.click();
    await soon.equal(() => count(page), length);
    await soon.ok(async () => Number((await field(page, 'g')).split(',').at(-1)) !== written.at(-1));
    await page.click('.next >> text=Play');
    await soon.ok(async () => (await count(page)) >= length + 2);
    await page.click('.next >> text=Pause');
    await page.waitForSelector('[data-test=next]');
  },

  async 'Checkpoints: a training run is served step by step, and one is compared with another'() {
    const run = join(folder(), 'story');
    cpSync(join(WORK, 'models/en'), join(run, 'step-00000010'), { recursive: true });
    cpSync(join(WORK, 'models/rotary'), join(run, 'step-00000200'), { recursive: true });
    const server = await serve(['--model', run, '--threads', '1']);
    const page = await open({ server, at: `t=${encodeURIComponent(text)}&h=1.0&q=5&k=1` });
    assert.equal(await page.inputValue('[aria-label=Model]'), 'story@200'); // the newest comes first
    await page.click('[data-test=compare]');
    await soon.equal(() => page.textContent('[data-test=compare-steps]'), 'step 200 against …');
    await page.locator('[data-test=compare-step]').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowLeft');
    await soon.equal(() => page.textContent('[data-test=compare-steps]'), 'step 200 against 10');
    await page.waitForSelector('[data-test=differences]');
    await soon.equal(() => field(page, 'y'), 'm:story@10');
    await soon.match(() => page.textContent('[data-test=compare-heads]'), /Heads that differ most/); // the same heads
    await page.close();
    await server.stop();
  },
};
