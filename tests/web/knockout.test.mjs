// Heads and links knocked out, one head after the other, and all of them once.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cellPoint, field, folder, inPage, open, patience, pixels, program, PROGRAM, settled, soon } from './pages.mjs';

const text = 'the cat sat on the mat because it was too tired';
const at = (model, more = '') => `m=${model}&t=${encodeURIComponent(text)}${more}`;
const count = (page, name) => page.locator(name).count();
const rows = (page) =>
  page.locator('[data-test=effects] tbody tr').evaluateAll((list) =>
    list.map((row) => ({
      id: Number(row.dataset.id),
      cells: [...row.querySelectorAll('td[data-value]')].map((cell) => Number(cell.dataset.value)),
    })),
  );
// Once the numbers on the page belong to what is asked for.
const settledEffect = (page) => page.waitForSelector('[data-test=knockout][aria-busy=false] [data-test=divergence]');
// What the command that the page offers says.
async function commanded(page) {
  const command = await page.getAttribute('.caveat button', 'title');
  const out = execFileSync('sh', ['-c', `headlight() { "${PROGRAM}" "$@"; }; ${command} --json`], { cwd: folder() });
  return JSON.parse(out);
}

export default {
  async 'A17 knock-out: the program’s numbers, before and after; b flips, undo goes back'() {
    const page = await open({ at: at('en', '&h=0.1&q=10&k=1') });
    await page.focus('[data-test=grid]');
    await page.keyboard.press('x');
    await settledEffect(page);
    await soon.equal(() => field(page, 'z'), 'decoder~zero~0.1~0.5');
    await soon.equal(() => page.getAttribute('[data-test=knock-out]', 'aria-pressed'), 'true');
    const zeroed = await rows(page);
    const { tokens } = await commanded(page);
    assert.ok(zeroed.length >= 5);
    for (const one of zeroed) {
      const same = tokens.find((t) => t.id === one.id),
        [before, after, difference] = one.cells;
      assert.ok(Math.abs(before - same.before) < 1e-5, JSON.stringify(same));
      assert.ok(Math.abs(after - same.after) < 1e-5, JSON.stringify(same));
      assert.ok(Math.abs(after - before - difference) < 1e-9);
    }
    await soon.ok(async () => Number(await page.getAttribute('[data-test=divergence] b', 'data-value')) > 0);
    await soon.match(() => page.textContent('.caveat'), /outside its training distribution/);
    // Layer 1 now looks elsewhere; b shows the model as it is.
    await page.keyboard.press(']');
    await page.keyboard.press(']');
    await page.waitForSelector('#pattern-title:has-text("Layer 1 · head 1")');
    await page.waitForSelector('[data-test=changed]');
    const shown = [[9, 2], [10, 4], [8, 8]]; // prettier-ignore
    const changed = await pixels(page, shown);
    await page.keyboard.press('b');
    await page.waitForSelector('[data-test=changed]', { state: 'detached' });
    await soon.notDeepEqual(() => pixels(page, shown), changed);
    const base = await pixels(page, shown);
    await page.keyboard.press('b');
    await page.waitForSelector('[data-test=changed]');
    await soon.deepEqual(() => pixels(page, shown), changed);
    // Another head with it, the mean in its place, half of it; undo, step by step.
    await page.keyboard.press('x');
    await page.waitForSelector('.tag:has-text("1.1")');
    await settledEffect(page);
    await soon.notDeepEqual(() => rows(page), zeroed);
    await page.selectOption('[data-test=change]', 'mean');
    await settledEffect(page);
    await soon.match(() => page.textContent('.caveat'), /Means over 20 plain sentences/);
    await page.selectOption('[data-test=change]', 'scale');
    await page.waitForSelector('[data-test=factor]');
    await page.fill('[data-test=factor]', '1');
    await page.press('[data-test=factor]', 'Tab');
    await inPage(page, () => Number(document.querySelector('[data-test=divergence] b')?.dataset.value ?? 1) < 1e-9);
    for (let i = 0; i < 4; ++i) await page.click('[data-test=undo]');
    await inPage(page, () => new URLSearchParams(location.hash.slice(1)).get('z') === 'decoder~zero~0.1~0.5');
    await settledEffect(page);
    await soon.deepEqual(() => rows(page), zeroed);
    await page.click('.tag');
    await page.waitForSelector('[data-test=next]');
    await soon.equal(() => field(page, 'z'), null);
    await soon.deepEqual(() => pixels(page, shown), base);
  },

  async 'Knock-out: a link cut from the menu, a text typed meanwhile, a link opened'() {
    const page = await open({ at: at('en', '&h=0.0&q=9&k=3') });
    const { x, y } = await cellPoint(page, 9, 3);
    await page.mouse.click(x, y, { button: 'right' });
    await page.click('[data-test=menu] >> text=renormalise the others');
    await settledEffect(page);
    await soon.equal(() => field(page, 'z'), 'decoder~cut-mask~0.0~1~9-10-3-4');
    const masked = await rows(page);
    await page.selectOption('[aria-label="How the link is cut"]', 'cut-weight');
    await inPage(page, (was) => document.querySelector('[data-test=divergence] b')?.dataset.value !== was,
      await page.getAttribute('[data-test=divergence] b', 'data-value')); // prettier-ignore
    await soon.notDeepEqual(() => rows(page), masked);
    // A head stays out while another text is typed; a cut is of one text and goes.
    await page.click('#text');
    await page.keyboard.press('End');
    await page.keyboard.type(' and sat', { delay: 30 });
    await inPage(page, () => !location.hash.includes('z='));
    await page.waitForSelector('[data-test=next]');
    await page.click('[data-test=knock-out]');
    await settledEffect(page);
    await page.click('#text');
    await page.keyboard.press('End');
    await page.keyboard.type(' on it', { delay: 30 });
    await inPage(page, () => decodeURIComponent(location.hash).includes('and sat on it'));
    await settledEffect(page);
    await soon.equal(() => field(page, 'z'), 'decoder~zero~0.0~0.5');
    const here = await rows(page);
    const other = await open({ at: (await page.evaluate(() => location.hash)).slice(1) });
    await settledEffect(other);
    await soon.deepEqual(() => rows(other), here);
    // Another model has other heads.
    await page.selectOption('[aria-label=Model]', 'rotary');
    await inPage(page, () => location.hash.includes('m=rotary') && !location.hash.includes('z='));
  },

  async 'Knock-out: of a translator’s cross-attention; encoders without an output have none'() {
    const page = await open({ at: at('en-fr', '&p=cross&h=1.0&q=1&k=1') });
    await page.click('[data-test=knock-out]');
    await settledEffect(page);
    const { tokens } = await commanded(page);
    for (const one of await rows(page)) {
      const same = tokens.find((t) => t.id === one.id);
      assert.ok(Math.abs(one.cells[1] - same.after) < 1e-5, JSON.stringify(same));
    }
    await page.click('[data-test=part-encoder]');
    await page.waitForSelector('[data-test=part-encoder][aria-pressed=true]');
    await soon.equal(() => count(page, '[data-test=changed]'), 1);
  },

  async 'A18 sweep: every head once, painted as it goes, stopped at once'() {
    const page = await open({ at: at('many', '&h=0.0&q=7') });
    let asked = 0;
    await page.route('**/sweep', async (route) => {
      if (++asked < 3) await route.continue().catch(() => {});
    }); // the third is never answered: the sweep is under way however fast or slow the machine is
    await page.click('[data-test=sweep]');
    await page.waitForSelector('[data-test=sweep-line] progress');
    await soon.equal(() => asked, 3);
    let gone = false;
    page.on('requestfailed', (request) => (gone ||= request.url().endsWith('/sweep')));
    await page.click('[data-test=sweep]:has-text("Stop")');
    await page.waitForSelector('[data-test=sweep]:has-text("Sweep")');
    await soon.match(() => page.textContent('[data-test=sweep-line]'), /\d+ of 144 heads/);
    await soon.ok(() => gone, 'the request under way is taken back');
    await page.waitForTimeout(700);
    assert.equal(asked, 3, 'nothing is asked after the stop');
    await page.unroute('**/sweep');
    await page.click('[data-test=sweep]');
    await page.waitForSelector('[data-test=sweep-line]:not(:has(progress))', { timeout: 6 * patience });
    // Sorted, the first head is the one that the program finds.
    await page.selectOption('[data-test=order]', 'effect');
    const swept = JSON.parse(program('ablate', text, '--model', 'many', '--sweep', '--position', '@7', '--json'));
    const heads = swept.heads.sort((a, b) => b.kl - a.kl);
    const box = await settled(page.locator('[data-test=atlas]'));
    await page.mouse.click(box.x + 20, box.y + 20);
    await soon.equal(() => field(page, 'h'), `${heads[0].layer}.${heads[0].head}`);
    return `${asked} requests`;
  },
};
