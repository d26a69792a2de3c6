// Learn and Train in a browser.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { field, folder, open, patience, program, require, serve, soon, SOURCE, until } from './pages.mjs';

const axe = async (page) => {
  await page.evaluate(readFileSync(require.resolve('axe-core'), 'utf8'));
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  assert.deepEqual(
    found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`),
    [],
  );
};
const small = async (page) => {
  await page.selectOption('[data-test=task]', 'agreement');
  for (const [name, value] of [
    ['Layers', 1],
    ['Heads', 2],
    ['Width', 16],
    ['Steps', 60],
  ])
    await page.fill(`label:has-text("${name}") input`, String(value));
};

// The view that a chapter names: headlight serve --model en --at "t=…&h=4.6&q=5".
const views = readdirSync(join(SOURCE, 'docs/learn'))
  .filter((name) => /^\d\d-.*\.md$/.test(name))
  .sort()
  .map((name) => {
    const text = readFileSync(join(SOURCE, 'docs/learn', name), 'utf8'),
      [, model, at] = /^headlight serve --model (\S+) --at "([^"]+)"$/m.exec(text);
    return { model, at, fields: new URLSearchParams(at) };
  });
// Waits until the viewer shows it: model and head in the title, the text, the query pinned, the part, the numbers.
async function isShown(page, { model, fields }) {
  const head = fields.get('h'),
    query = fields.get('q'),
    part = fields.get('p'),
    mode = fields.get('d');
  await page.waitForSelector('html[data-state=ready] [data-test=map]', { state: 'attached' }); // seen or not
  await soon.ok(
    () =>
      page.evaluate(
        ([title, text]) => document.title.includes(title) && document.querySelector('#text').value === text,
        [`${head ?? ''} headlight-${model} `, fields.get('t')],
      ),
    `the viewer does not show ${fields}`,
  );
  if (query !== null) await page.waitForSelector(`.chip[data-token="${query}"][aria-pressed=true]`);
  if (part)
    await page.waitForSelector(
      `[data-test=part-${part}][aria-pressed=true], [data-test=part-${part}][aria-selected=true]`,
    );
  if (mode) await soon.equal(() => field(page, 'd'), mode);
  // The step of Why, or the panel, that the chapter is about.
  const eye = fields.get('e'),
    heading = {
      q: 'The query asks',
      turn: 'Positions rotate both',
      qk: 'How well they match',
      scale: 'Scale',
      mask: 'Mask',
      softmax: 'Softmax',
      sum: 'Weighted sum',
      out: 'Into the residual stream',
    }[eye];
  if (!heading) return;
  await soon.ok(
    () =>
      page.evaluate((title) => {
        const step = document.activeElement;
        if (!step?.matches('.step') || !step.querySelector('h3').textContent.includes(title)) return false;
        const { top, bottom } = step.querySelector('h3').getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      }, heading),
    `Why is not at ${heading}`,
  );
}

export default {
  async 'Learn: the link of every chapter opens the viewer at its place'() {
    const models = { HEADLIGHT_MODELS: join(SOURCE, 'models') };
    const server = await serve(['--model', 'en', '--model', 'en-fr', '--threads', '2'], models);
    const page = await open({ server, at: 'learn=1' });
    assert.equal(views.length, 16);
    for (const [i, view] of views.entries()) {
      await page.evaluate((n) => {
        location.hash = `#learn=${n}`;
      }, i + 1);
      await page.waitForSelector(`#chapter-title:has-text("${i + 1}. ")`);
      await soon.equal(() => page.locator('a.view-link').count(), 1);
      await page.click('a.view-link');
      await isShown(page, view);
    }
    await page.close();
    const phone = await open({ server, at: `m=headlight-en&${views[2].at}`, viewport: { width: 390, height: 800 } });
    await isShown(phone, views[2]);
    await phone.close();
    assert.equal(await server.stop(), 143);
    // The command itself leads there, too.
    const { model, at } = views[10],
      direct = await serve(['--model', model, '--at', at, '--threads', '2'], models);
    const shown = await open({ server: direct });
    await isShown(shown, views[10]);
    await shown.close();
    assert.equal(await direct.stop(), 143);
  },

  async 'Learn: View has its address again after a chapter, and Back leads to the chapter'() {
    const page = await open();
    const address = page.url();
    await page.click('nav >> text=Learn');
    await page.waitForSelector('[data-test=learn]');
    await page.click('nav >> text=View');
    await page.waitForSelector('[data-test=map]');
    await soon.equal(() => page.url(), address);
    await page.goBack();
    await page.waitForSelector('[data-test=learn]');
    await page.goForward();
    await page.waitForSelector('[data-test=map]');
    await soon.equal(() => page.url(), address);
  },

  async 'Learn: a link that is pressed before the first run is there is followed'() {
    const page = await open({ at: 'learn=1' });
    await page.waitForSelector('a.view-link');
    await page.route('**/api/v1/run', async (route) => {
      await new Promise((done) => setTimeout(done, 2000)); // a slow server
      await route.continue().catch(() => {}); // the page may have given it up
    });
    await page.reload();
    await page.click('a.view-link');
    await page.waitForSelector('[data-test=map]');
    await soon.equal(() => page.inputValue('#text'), views[0].fields.get('t'));
    await soon.equal(() => field(page, 'h'), views[0].fields.get('h'));
  },

  async 'Learn: the temperature is changed by hand, on paper everything is open'() {
    const page = await open({ at: 'learn=3' });
    const weights = () => page.locator('[data-test=slider-weight]').allTextContents();
    await page.waitForSelector('[data-test=slider-weight]');
    await soon.deepEqual(weights, ['0.1385', '0.2379', '0.2333', '0.1240', '0.1082', '0.1581']);
    await page.locator('[data-test=temperature-slider]').fill('-1');
    await page.waitForSelector('[data-test=temperature]:has-text("0.10")');
    await soon.deepEqual(async () => (await weights()).slice(1, 3), ['0.5420', '0.4455']);
    await axe(page);
    await page.emulateMedia({ media: 'print' });
    await page.waitForSelector('.learn nav', { state: 'hidden' });
    await soon.equal(() => page.isVisible('.chapter-text pre.python'), true);
    await soon.equal(() => page.isVisible('.answer'), false);
  },

  async 'Train: residual connections can be taken away, colours chosen, motion reduced'() {
    const server = await serve(['--model', 'en', '--threads', '2']);
    const page = await open({ server, at: 'train', reducedMotion: 'reduce', errors: true }); // it cannot be saved
    await page.waitForSelector('[data-test=start]');
    await page.selectOption('[data-test=preset]', 'residual');
    await page.waitForSelector('.train-controls .hint:has-text("Measured with five seeds")');
    await page.selectOption('[data-test=preset]', '');
    await small(page);
    await page.fill('label:has-text("Steps") input', '600'); // two pictures or more, however fast the machine is
    await page.uncheck('label:has-text("Residual connections") input');
    await page.click('[data-test=start]');
    await page.waitForSelector('[data-test=run-view][data-state=finished]');
    await page.waitForSelector('.run header:has-text("without residual connections")');
    const color = () =>
      page.evaluate(() =>
        Array.from(document.querySelector('.head-map canvas').getContext('2d').getImageData(0, 0, 1, 1).data).join(),
      );
    const before = await color();
    await page.selectOption('[data-test=train-palette]', 'grey');
    await soon.ok(async () => (await color()) !== before, 'the colours stay');
    await soon.match(() => page.getAttribute('a:has-text("Strip SVG")', 'href'), /palette=grey/);
    // One picture a second at most, by the page's own clock.
    await until(async () => {
      const times = await page.evaluate(() =>
        performance
          .getEntriesByType('resource')
          .filter((e) => e.name.includes('/frames'))
          .map((e) => e.startTime),
      );
      assert.ok(times.length >= 2 && times.slice(1).every((t, i) => t - times[i] > 990), `pictures at ${times}`);
    });
    await page.click('[data-test=save]');
    await page.waitForSelector('.player [role=status]:has-text("without residual connections cannot be saved")');
    await page.close();
    assert.equal(await server.stop(), 143);
  },

  async 'Learn: a chapter, its picture, a checked answer, and the viewer at that step'() {
    const page = await open({ at: 'learn=4' });
    await page.waitForSelector('.chapter-text figure img');
    await soon.match(() => page.textContent('#chapter-title'), /^4\. The weighted sum/);
    await soon.ok(() => page.evaluate(() => document.querySelector('figure img').naturalWidth > 100));
    await soon.equal(() => page.isVisible('text=Much larger: 0.5931'), false);
    await page.fill('[aria-label="Your prediction"]', 'larger');
    await page.keyboard.press('Enter');
    await soon.equal(() => page.isVisible('text=Much larger: 0.5931'), true);
    await soon.equal(() => page.textContent('[data-test=said]'), 'You said: larger');
    const field = page.locator('[data-exercise="1"] input');
    await field.fill('0.4317 0.5833');
    await field.press('Enter');
    await soon.match(() => page.textContent('[data-exercise="1"] [data-test=verdict]'), /Expected form: 3 numbers/);
    await field.fill('0.4317, 0.5833, 0.1');
    await field.press('Enter');
    await soon.match(() => page.textContent('[data-exercise="1"] [data-test=verdict]'), /^Not yet\./);
    await field.fill('0.4317, 0.5833, 0.5283');
    await field.press('Enter');
    await soon.equal(() => page.textContent('[data-exercise="1"] [data-test=verdict]'), 'Right.');
    await axe(page);
    await page.click('a:has-text("Next ›")');
    await page.waitForSelector('#chapter-title:has-text("5.")');
    assert.match(page.url(), /#learn=5$/);
    await page.goBack();
    await page.waitForSelector('#chapter-title:has-text("4.")');
  },

  async 'Learn: slides by arrow keys, in the dark, on a phone, and in a file'() {
    const file = join(folder(), 'course.html');
    program('learn', '--html', file);
    const page = await open({
      url: `file://${file}#learn=2`,
      wait: null,
      colorScheme: 'dark',
      viewport: { width: 390, height: 800 },
    });
    await page.waitForSelector('#chapter-title:has-text("2.")');
    await axe(page);
    await soon.ok(
      () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      'no sideways scrolling',
    );
    await page.click('[data-test=slides]');
    await page.evaluate(() => document.activeElement.blur());
    await page.waitForSelector('h3:has-text("Predict first")', { state: 'hidden' });
    for (let i = 0; i < 2; ++i) await page.keyboard.press('ArrowRight');
    await page.waitForSelector('h3:has-text("Predict first")');
    await soon.equal(() => page.isVisible('h3:has-text("The idea")'), false);
    await page.keyboard.press('Escape');
    await page.waitForSelector('h3:has-text("The idea")');
  },

  async 'Learn: every slide of a long chapter fits the window'() {
    const page = await open({ at: 'learn=6', viewport: { width: 1280, height: 720 } });
    await page.waitForSelector('.chapter-text figure img');
    await page.click('[data-test=slides]');
    await page.evaluate(() => document.activeElement.blur());
    const size = () => page.evaluate(() => parseFloat(document.querySelector('article').style.fontSize));
    const sizes = [];
    for (const heading of ['The idea', 'Predict first', 'By hand', 'In C++', 'In Python']) {
      await page.keyboard.press('ArrowRight');
      await page.waitForSelector(`h3:has-text("${heading}")`);
      await soon.ok(() => page.evaluate(() => document.documentElement.scrollHeight <= innerHeight), heading);
      sizes.push(await size());
    }
    assert.ok(sizes[0] >= 16 && sizes[0] < sizes[1], `the long one is smaller: ${sizes}`);
    await page.keyboard.press('Escape');
    await soon.ok(async () => Number.isNaN(await size()));
  },

  async 'Train: heads form, a reload finds the run, a head is knocked out, the model opens'() {
    const server = await serve(['--model', 'en', '--threads', '2', '--save-to', folder()]);
    const page = await open({ server, at: 'train', errors: true }); // a probe is refused
    await page.waitForSelector('[data-test=start]');
    await small(page);
    const began = Date.now();
    await page.click('[data-test=start]');
    await page.waitForSelector('.head-map canvas');
    const first = Date.now() - began;
    await page.waitForSelector('[data-test=run-view][data-state=finished]');
    const frames = Number(await page.getAttribute('[data-test=run-view]', 'data-frames'));
    assert.ok(frames >= 2);
    await axe(page);
    await page.reload();
    await page.waitForSelector('[data-test=run-view][data-state=finished]');
    await soon.equal(async () => Number(await page.getAttribute('[data-test=run-view]', 'data-frames')), frames);
    await page.click('.head-map >> nth=0');
    await page.waitForSelector('[data-test=run-numbers]:has-text("without 0.0")');
    await page.click('.head-map >> nth=0');
    await page.fill('[data-test=probe]', 'the zebra');
    await page.click('button:has-text("Probe")');
    await page.waitForSelector('.player [role=status]:has-text("does not know")');
    await page.fill('[data-test=probe]', 'the dogs near the car now');
    await page.click('button:has-text("Probe")');
    await page.waitForSelector('.probe-line:has-text("dogs")');
    await page.locator('[data-test=scrub]').fill('0');
    await page.waitForSelector('[data-test=run-numbers]:has-text("Step 0 ")');
    await page.click('[data-test=save]');
    await soon.match(() => page.title(), /agreement-1/);
    await page.close();
    assert.equal(await server.stop(), 143);
    return `first map after ${first} ms`;
  },

  async 'Train: a run goes on while the page is loaded again; another tab sees it and cannot begin one'() {
    const server = await serve(['--model', 'en', '--threads', '2']);
    const page = await open({ server, at: 'train' });
    await page.waitForSelector('[data-test=start]');
    for (const [name, value] of [['Layers', 4], ['Heads', 8], ['Width', 128], ['Steps', 5000]]) // longer than this test
      await page.fill(`label:has-text("${name}") input`, String(value)); // prettier-ignore
    const step = (p) => p.textContent('[data-test=run-numbers] b').then(Number);
    await page.click('[data-test=start]');
    await soon.ok(async () => (await step(page)) > 0);
    const before = await step(page);
    await page.reload();
    await page.waitForSelector('[data-test=run-view][data-state=running] .head-map canvas');
    await soon.ok(async () => (await step(page)) > before);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.waitForSelector('[data-test=run-view][data-state=running]');
    assert.ok(await other.isDisabled('[data-test=start]'));
    await other.close();
    await page.click('text=Pause');
    await page.waitForSelector('[data-test=run-view][data-state=paused]');
    const paused = await step(page);
    await page.reload();
    await page.waitForSelector('[data-test=run-view][data-state=paused]');
    await soon.ok(async () => (await step(page)) >= paused);
    await page.click('text=Stop');
    await page.waitForSelector('[data-test=run-view][data-state=stopped]');
    await page.waitForSelector('[data-test=start]:not([disabled])');
    await page.close();
    assert.equal(await server.stop(), 143);
  },

  async 'Train: a chapter leads to its story, whose models learn one after the other'() {
    const server = await serve(['--model', 'en', '--threads', '2']);
    const page = await open({ server, at: 'learn=8' });
    await page.click('a.story-link');
    await page.waitForSelector('[data-test=train]');
    await soon.equal(() => page.inputValue('[data-test=preset]'), 'mask');
    await soon.equal(() => page.inputValue('[data-test=task]'), 'copy');
    await page.goBack();
    await page.waitForSelector('#chapter-title:has-text("8.")');
    await page.goForward();
    await small(page);
    await page.click('[data-test=start]');
    await page.waitForSelector('[data-test=run-view][data-state=finished]');
    await page.selectOption('[data-test=preset]', 'order');
    await page.click('[data-test=start]');
    await page.waitForSelector('[data-test=run-view] h2:has-text("reverse")');
    const tasks = await page.locator('[data-test=run-view] h2').allTextContents(); // at once: later runs push it out
    assert.ok(!tasks.some((task) => task.includes('agreement')), `${tasks}`);
    await page.waitForSelector(':nth-match([data-test=run-view][data-state=finished], 3)', { timeout: 6 * patience });
    const said = await page
      .locator('[data-test=run-view]')
      .evaluateAll((list) =>
        list.map((run) => [
          run.querySelector('h2').textContent,
          Number(/unseen cases\s*(\d+) %/.exec(run.textContent)[1]),
        ]),
      );
    assert.deepEqual(
      said.map(([task, right]) => [task, right > 60]),
      [
        ['reverse', true],
        ['reverse', false],
        ['sort', true],
      ],
      `${said}`,
    );
    await page.close();
    assert.equal(await server.stop(), 143);
  },

  async 'Train: two runs side by side, on a phone, in the dark'() {
    const server = await serve(['--model', 'en', '--threads', '2']);
    const page = await open({ server, at: 'train', colorScheme: 'dark', viewport: { width: 390, height: 800 } });
    await page.waitForSelector('[data-test=start]');
    await small(page);
    for (let i = 1; i <= 2; ++i) {
      await page.waitForSelector('[data-test=start]:not([disabled])');
      await page.click('[data-test=start]');
      await page.waitForSelector(`:nth-match([data-test=run-view][data-state=finished], ${i})`);
    }
    await axe(page);
    await soon.ok(
      () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      'no sideways scrolling',
    );
    await page.uncheck('label:has-text("Beside earlier runs") input');
    await soon.equal(() => page.locator('[data-test=run-view]').count(), 1);
    await page.close();
    assert.equal(await server.stop(), 143);
  },
};
