// Names of heads, and finding one: by a link, by its number, by what it does.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { field, inPage, open, patience, program, serve, soon, SOURCE } from './pages.mjs';

const text = 'the cat sat on the mat because it was too tired';
const at = (model, more = '') => `m=${model}&t=${encodeURIComponent(text)}${more}`;
const results = (page) =>
  page
    .locator('[data-test=found] li')
    .evaluateAll((list) =>
      list.map((e) => [e.querySelector('b').textContent, Number(e.querySelector('[data-value]').dataset.value)]),
    );
async function search(page, words) {
  await page.keyboard.press('/');
  await inPage(page, () => document.activeElement.id === 'search');
  await page.keyboard.press('Control+A');
  await page.keyboard.type(words, { delay: 25 });
}

export default {
  async 'A20 search: it→cat ranks heads as the program does; it→?, ?→cat, a head, a word'() {
    const page = await open({ at: at('en', '&h=0.0&q=2'), errors: true }); // one word is not there
    await page.focus('[data-test=grid]');
    for (const [link, typed] of [
      ['it->cat', 'it→cat'],
      ['it->?', 'it -> ?'],
      ['?->cat', '?→cat'],
    ]) {
      await search(page, typed);
      const expected = JSON.parse(program('heads', text, '--model', 'en', '--link', link, '--json'));
      const best = expected.heads ?? expected.links;
      await page.waitForSelector('[data-test=found]');
      await inPage(page, (w) => Math.abs(Number(document.querySelector('[data-test=found] [data-value]')?.dataset.value) - w) < 1e-5, best[0].weight); // prettier-ignore
      await soon.equal(async () => (await results(page))[0][0], `${best[0].layer}.${best[0].head}`);
      await page.keyboard.press('Enter');
      await soon.equal(() => field(page, 'h'), `${best[0].layer}.${best[0].head}`);
      await page.keyboard.press('Escape');
      await page.waitForSelector('[data-test=found]', { state: 'detached' });
      await page.keyboard.press('Escape');
    }
    await search(page, 'it→cat');
    await page.waitForSelector('[data-test=found]');
    await page.click('[data-test=found] li:nth-child(2) button');
    await soon.equal(() => page.textContent('.strip .chip.query > span'), 'it');
    await soon.equal(() => page.textContent('.strip .chip.key > span'), 'cat');
    await search(page, '1.1');
    await page.keyboard.press('Enter');
    await soon.equal(() => field(page, 'h'), '1.1');
    await search(page, '9.9');
    await page.keyboard.press('Enter');
    await soon.match(() => page.textContent('[data-test=search-problem]'), /layers 0 to 1/);
    await search(page, 'the');
    await page.keyboard.press('Enter');
    await soon.equal(() => page.textContent('.strip .chip.query > span'), 'the');
    const first = await field(page, 'q');
    await page.keyboard.press('Enter');
    await soon.notEqual(() => field(page, 'q'), first);
    await search(page, 'zebra');
    await page.keyboard.press('Enter');
    await soon.match(() => page.textContent('[data-test=search-problem]'), /not in the text/);
    await search(page, 'zebra→cat');
    await page.waitForSelector('[data-test=search-problem]:has-text("zebra")');
    // i goes to the text.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.keyboard.press('i');
    await inPage(page, () => document.activeElement.id === 'text');
  },

  async 'A19 labels: score and lift of the program, a filter, a sort, what they mean'() {
    const server = await serve(['--model', join(SOURCE, 'models/headlight-en'), '--threads', '1']);
    const page = await open({ server, at: `t=${encodeURIComponent(text)}&h=0.0&q=2` });
    const said = JSON.parse(program('heads', text, '--model', join(SOURCE, 'models/headlight-en'), '--json')).heads;
    await page.click('[data-test=label]');
    await page.waitForSelector('[data-test=labels]', { timeout: 6 * patience });
    // One label of each kind, by its score.
    const best = said.find((h) => h.battery.labels.includes('previous')) ?? said[0];
    await search(page, `${best.layer}.${best.head}`);
    await page.keyboard.press('Enter');
    const name = best.battery.labels[0];
    await soon.match(
      () => page.textContent(`[data-test=labels] p:nth-of-type(2) [data-label="${name}"]`),
      new RegExp(`^${name}`),
    );
    // The heads most like it are those that the command line finds; one of them opens with a click.
    const like = JSON.parse(program('heads', '--like', `${best.layer}.${best.head}`, '--model', join(SOURCE, 'models/headlight-en'), '--json')).heads; // prettier-ignore
    const similar = page.locator('[data-test=similar]');
    await soon.equal(() => similar.count(), 3);
    await soon.deepEqual(
      async () => (await similar.allTextContents()).map((t) => t.trim()),
      like.slice(0, 3).map((h) => `${h.layer}.${h.head} ${h.cosine.toFixed(2)}`),
    );
    await similar.nth(1).click();
    await soon.equal(() => field(page, 'h'), `${like[1].layer}.${like[1].head}`);
    await search(page, `label:${name}`);
    const count = said.filter((h) => h.battery.labels.includes(name) || h.text.labels.includes(name)).length;
    await inPage(
      page,
      (n) => document.querySelector('[data-test=matching]')?.textContent.startsWith(`${n} head`),
      count,
    );
    await page.selectOption('[data-test=order]', 'label');
    await page.click('[data-test=labels] summary');
    await soon.match(() => page.textContent('[data-test=labels] dl'), /induction/);
    await page.click('[data-test=repeat]');
    await inPage(page, (t) => document.querySelector('#text').value === `${t} ${t}`, text);
    await page.waitForSelector('html[data-state=ready]');
    await page.close();
    await server.stop();
    return `${count} of ${said.length} heads are “${name}”`;
  },
};
