// How the page behaves: first view, links, keys, themes, troubles.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import {
  cellPoint,
  closeDialog,
  colors,
  field,
  hover,
  main,
  open,
  pixels,
  program,
  require,
  serve,
  settled,
  soon,
  theBrowser,
  until,
} from './pages.mjs';

const { PNG } = require('pngjs');
const pixelmatch = require('pixelmatch');
const text = 'the cat sat on the mat because it was too tired';
const at = (model, more = '') => `m=${model}&t=${encodeURIComponent(text)}${more}`;
const chip = (page, i) => page.locator(`.strip [data-token="${i}"]`);

const nonUniform = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector('[data-test=atlas]'),
      data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data,
      seen = new Set();
    for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return seen.size;
  });

export default {
  async 'A1 first view: the sentence computed, a word pinned, a finding in words'() {
    const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
    const painted = (p) =>
      p.evaluate(
        () =>
          new Promise((done) => {
            const look = () => {
              const found = performance.getEntriesByName('first-contentful-paint')[0];
              if (found) done(found.startTime);
              else setTimeout(look, 10);
            };
            look();
          }),
      );
    const fresh = [],
      again = [],
      bare = []; // the smallest document of the same server, opened the same way: what the browser itself takes
    let page;
    // The budget is 150 ms. On a machine where an empty document takes longer, the page may add a third of that. Other
    // work on the machine only ever adds time, so a round that is too slow is tried again, twice.
    const budget = () => Math.max(150, median(bare) + 50);
    for (let i = 0; i < 5 || (i < 15 && (i % 5 !== 0 || median(fresh) > budget())); ++i) {
      if (i % 5 === 0) for (const times of [fresh, again, bare]) times.length = 0;
      page = await open();
      fresh.push(await painted(page));
      await page.reload();
      await page.waitForSelector('html[data-state=ready]');
      again.push(await painted(page));
      const other = await open({ url: `${main().origin}/api/v1/health`, wait: '' });
      bare.push(await painted(other));
    }
    await soon.equal(() => page.textContent('h1'), 'Headlight');
    await soon.match(() => page.title(), /Headlight/);
    await soon.ok(async () => (await nonUniform(page)) > 10);
    await soon.equal(() => page.inputValue('#text'), "The animal didn't cross the street because it was too tired.");
    await soon.match(() => field(page, 'q'), /^\d+(,\d+)*$/);
    await soon.match(() => page.textContent('[data-test=finding]'), /^Layer \d+ head \d+ sends [\d.e−]+ of /);
    await soon.match(() => page.textContent('[data-test=uniform]'), /Spread evenly over the \d+ tokens/);
    assert.doesNotMatch(page.url(), /token/);
    const cookies = await page.context().cookies();
    assert.equal(cookies.length, 1);
    assert.ok(cookies[0].httpOnly && cookies[0].sameSite === 'Strict');
    // Times mean something on an idle machine only: they are held to the budget when this check is asked for by name.
    const alone = process.argv.slice(2).length > 0;
    assert.ok(!alone || median(fresh) <= budget(), `first paint after ${median(fresh)} ms; ${budget()} ms are allowed`);
    return `first paint, median of 5: ${median(fresh).toFixed(0)} ms in a new browser window, ${median(again).toFixed(0)} ms when loaded again; an empty document in a new window takes ${median(bare).toFixed(0)} ms`;
  },

  async 'A2 one small document, then the API'() {
    const page = await open();
    const before = page.requests.findIndex((r) => r.url().includes('/api/'));
    assert.equal(before, 1);
    const sizes = await page.requests[0].sizes();
    assert.ok(sizes.responseBodySize <= 90000, `${sizes.responseBodySize}`);
    const policy = (await page.requests[0].response()).headers()['content-security-policy'];
    assert.match(policy, /default-src 'none'/);
    return `${sizes.responseBodySize} bytes`;
  },

  async 'A3 a new sentence: its tokens, its picture'() {
    const page = await open({ at: at('bert') });
    const before = await page.locator('[data-test=atlas]').screenshot();
    await page.fill('#text', 'harry potter lives here , tired !');
    await page.press('#text', 'Enter');
    await page.waitForSelector('.chip:has-text("potter")');
    const tokens = JSON.parse(
      program('show', 'harry potter lives here , tired !', '--model', 'bert', '--head', '0.0', '--json', '-'),
    ).tokens;
    await soon.deepEqual(
      () => page.locator('.strip .chip > span').allTextContents(),
      tokens.map((t) => t.text),
    );
    await soon.deepEqual(
      () => page.locator('.strip .chip').evaluateAll((list) => list.map((e) => e.classList.contains('added'))),
      tokens.map((t) => t.special),
    );
    await soon.ok(async () => !before.equals(await page.locator('[data-test=atlas]').screenshot()));
  },

  async 'A8 hover: tokens and live region follow, nothing moves'() {
    const page = await open({ at: at('bert', '&h=0.0') });
    await page.evaluate(() => {
      window.shift = 0;
      new PerformanceObserver((l) => {
        for (const e of l.getEntries()) {
          window.shift += e.value;
          for (const s of e.sources)
            (window.shifted ??= []).push(
              s.node?.nodeName + '.' + (s.node?.className ?? s.node?.parentElement?.className),
            );
        }
      }).observe({ type: 'layout-shift' });
    });
    const size = await page.locator('.pattern').boundingBox();
    for (const [i, j] of [
      [3, 5],
      [7, 2],
      [0, 0],
    ]) {
      await hover(page, i, j);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
      await soon.ok(async () => (await chip(page, i).getAttribute('class')).includes('query'));
      await soon.ok(async () => (await chip(page, j).getAttribute('class')).includes('key'));
      await soon.match(
        () => page.textContent('[data-test=live]'),
        /^from .+ to .+, weight [\d.e-]+, rank \d+ of \d+, layer 0 head 0$/,
      );
      await soon.equal(() => page.locator('.label.row.hover').count(), 1);
    }
    await soon.deepEqual(() => page.locator('.pattern').boundingBox(), size);
    // Words within a line may make room for each other; no box moves.
    const boxes = (await page.evaluate(() => window.shifted ?? [])).filter((name) => !name.startsWith('#text'));
    assert.deepEqual(boxes, []);
    // The bars below a map stand under its columns.
    const left = (name) => page.locator(name).boundingBox().then((box) => box.x); // prettier-ignore
    await soon.equal(() => left('.margin canvas'), await left('[data-test=map]'));
    await soon.ok(async () => (await page.evaluate(() => window.shift)) < 0.03);
  },

  async 'A9 hover speed at 1,024 tokens (reported)'() {
    const long = Array.from({ length: 1022 }, (_, i) => ['the', 'cat', 'sat', 'on', 'mat'][(i * i) % 5]).join(' ');
    const page = await open({ at: `m=long&t=${encodeURIComponent(long)}` });
    await page.waitForSelector('[data-test=grid][aria-rowcount="1024"]');
    const { x, y } = await cellPoint(page, 0, 0),
      end = await cellPoint(page, 1000, 1000);
    const measure = () =>
      page.evaluate(() => {
        window.gaps = [];
        window.long = [];
        new PerformanceObserver((list) => window.long.push(...list.getEntries().map((e) => e.duration))).observe({
          type: 'longtask',
        });
        let last = performance.now();
        const step = (now) => {
          window.gaps.push(now - last);
          last = now;
          if (!window.halted) requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      });
    await page.waitForSelector('[data-test=steps]');
    await page.waitForTimeout(500); // the first picture is not what is measured
    await measure();
    for (let i = 0; i < 120; ++i)
      await page.mouse.move(x + ((end.x - x) * i) / 120, y + ((end.y - y) * ((i * 37) % 120)) / 120);
    const { gaps, tasks, nodes } = await page.evaluate(() => {
      window.halted = true;
      return { gaps: window.gaps, tasks: window.long, nodes: document.querySelectorAll('*').length };
    });
    gaps.sort((a, b) => a - b);
    assert.ok(nodes <= 3000, `${nodes} nodes`); // A10
    const ms = (share) => gaps[Math.floor(gaps.length * share)].toFixed(1);
    return `120 moves, p50 ${ms(0.5)} ms, p95 ${ms(0.95)} ms, ${tasks.length} tasks above 50 ms (longest ${Math.max(0, ...tasks).toFixed(0)} ms), ${nodes} nodes`;
  },

  async 'A10 144 heads at once'() {
    const page = await open({ at: at('many') });
    await soon.match(() => page.textContent('.heads header'), /12 layers × 12 heads/);
    await soon.ok(async () => (await nonUniform(page)) > 50);
    const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
    assert.ok(nodes <= 3000);
    // From another scale to the painted atlas: every thumbnail is drawn anew.
    // Other work on the machine only adds time: the fastest of several counts.
    const times = await page.evaluate(async () => {
      const out = [];
      for (let i = 1; i <= 6; ++i)
        out.push(
          await new Promise((done) => {
            const from = performance.now();
            document.querySelectorAll('.scales button')[i % 3].click();
            requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - from)));
          }),
        );
      return out;
    });
    const time = Math.min(...times);
    // As in A1: a budget when asked for by name.
    assert.ok(process.argv.length === 2 || time <= 100, `${times}`);
    return `painted in ${time.toFixed(0)} ms, ${nodes} nodes`;
  },

  async 'A11 pin, add, unpin, clear, solo'() {
    const page = await open({ at: at('bert', '&h=0.0&q=') });
    await soon.equal(() => field(page, 'q'), '');
    await chip(page, 3).click();
    await soon.equal(() => field(page, 'q'), '3');
    await chip(page, 5).click({ modifiers: ['Shift'] });
    await soon.equal(() => field(page, 'q'), '3,5');
    await chip(page, 5).click({ modifiers: ['Shift'] });
    await soon.equal(() => field(page, 'q'), '3');
    await chip(page, 3).click();
    await soon.equal(() => field(page, 'q'), '');
    const p = await cellPoint(page, 4, 6);
    await page.mouse.click(p.x, p.y);
    await soon.deepEqual(async () => [await field(page, 'q'), await field(page, 'k')], ['4', '6']);
    await page.mouse.click(p.x, p.y);
    await soon.deepEqual(async () => [await field(page, 'q'), await field(page, 'k')], ['4', null]);
    await page.mouse.click(p.x, p.y);
    await page.mouse.move(2, 2);
    await page.keyboard.press('Escape');
    await soon.deepEqual(async () => [await field(page, 'q'), await field(page, 'k')], ['4', null]);
    await page.keyboard.press('Escape');
    await soon.equal(() => field(page, 'q'), '');
    const atlas = await settled(page.locator('[data-test=atlas]'));
    await page.mouse.dblclick(atlas.x + atlas.width - 12, atlas.y + atlas.height - 12);
    await soon.deepEqual(async () => [await field(page, 'h'), await field(page, 'f')], ['1.1', 'solo']);
    await page.mouse.dblclick(atlas.x + atlas.width - 12, atlas.y + atlas.height - 12);
    await soon.equal(() => field(page, 'f'), null);
    for (const [key, name, expected] of [
      ['s', 's', 'log'],
      ['s', 's', 'linear'],
      ['s', 's', null],
      ['m', 'f', 'first'],
      ['w', 'f', 'first,words'],
      ['[', 'h', '1.0'],
      [']', 'h', '1.1'],
    ]) {
      await page.keyboard.press(key);
      await soon.equal(() => field(page, name), expected, key);
    }
  },

  async 'A12 a link opens the same view'() {
    const page = await open({ at: at('en-fr', '&p=cross&h=1.0&q=2&k=3&s=log&th=dark') });
    await page.mouse.move(2, 2);
    const link = page.url(),
      first = await page.context().newPage();
    await page.waitForTimeout(200);
    const a = PNG.sync.read(await page.screenshot());
    await first.setViewportSize({ width: 1360, height: 900 });
    await first.goto(link);
    await first.waitForSelector('html[data-state=ready]');
    await first.waitForSelector('[data-test=steps]');
    await first.mouse.move(2, 2);
    await first.waitForTimeout(200);
    const b = PNG.sync.read(await first.screenshot());
    assert.equal(first.url(), link);
    const different = pixelmatch(a.data, b.data, null, a.width, a.height, { threshold: 0.1 });
    assert.ok(different <= (a.width * a.height) / 1000, `${different} pixels differ`);
  },

  async 'A13 keyboard alone'() {
    const page = await open({ at: at('en', '&h=0.0&q=3&k=1') });
    const reached = new Set();
    for (let i = 0; i < 80; ++i) {
      await page.keyboard.press('Tab');
      const name = await page.evaluate(() => {
        const e = document.activeElement,
          style = getComputedStyle(e);
        if (e === document.body) return 'end';
        if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2)
          return `no ring on ${e.outerHTML.slice(0, 80)}`;
        return e.dataset.test ?? e.textContent.slice(0, 20).trim();
      });
      assert.doesNotMatch(name, /^no ring/);
      reached.add(name);
      if (name === 'end') break;
    }
    const controls = ['palette', 'scale-log', 'range-auto', 'mute', 'order'];
    for (const name of ['run', 'share', 'export', 'theme', 'atlas', 'grid', 'Write one token', ...controls])
      assert.ok(reached.has(name), `${name} not in ${[...reached]}`);
    await page.focus('[data-test=grid]');
    await page.keyboard.press('ArrowDown');
    await soon.match(() => page.textContent('#map-cell'), /^from /);
    await page.keyboard.press('Enter');
    await soon.equal(() => field(page, 'q'), '4');
    await page.focus('[data-test=atlas]');
    await page.keyboard.press('ArrowRight');
    await soon.equal(() => field(page, 'h'), '0.1');
    await page.waitForSelector('#step-3');
    await page.keyboard.press('3');
    await page.waitForSelector('#step-3:focus');
    await page.keyboard.press('e');
    await closeDialog(page);
    await page.keyboard.press('?');
    await page.waitForSelector('dl.keys');
  },

  async 'A14 axe finds nothing serious'() {
    const source = readFileSync(require.resolve('axe-core'), 'utf8');
    for (const look of [
      { colorScheme: 'light' },
      { colorScheme: 'dark' },
      { viewport: { width: 680, height: 450 }, deviceScaleFactor: 2 },
      { viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
    ]) {
      const page = await open({ at: at('en-fr', '&h=1.1&q=3&k=1&c=magma&r=auto&o=focus&f=special,whole'), ...look });
      await page.waitForTimeout(150);
      await page.evaluate(source);
      for (const view of ['', 'tour', 'share', 'knock-out', 'labels', 'compare']) {
        if (view === 'tour') await page.click('nav >> text=Tour');
        if (view === 'share') {
          await page.click('[aria-label="End the tour"]');
          await page.click('[data-test=share]');
        }
        if (view === 'knock-out') {
          await closeDialog(page);
          await page.keyboard.press('x');
          await page.keyboard.press('/'); // where panels are tabs, the heads
          await page.waitForSelector('[data-test=divergence]', { state: 'attached' });
        }
        if (view === 'labels') {
          await page.click('[data-test=label]');
          await page.waitForSelector('[data-test=labels]');
        }
        if (view === 'compare') {
          await page.click('[data-test=compare]');
          await page.waitForSelector('[data-test=map-difference]');
        }
        const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
        const serious = violations.filter((v) => ['serious', 'critical'].includes(v.impact));
        assert.deepEqual(
          serious.map((v) => `${v.id}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`),
          [],
          JSON.stringify(look) + view,
        );
      }
      await soon.ok(
        () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1),
        'no sideways scrolling',
      );
    }
  },

  async 'A15 what a screen reader hears'() {
    const page = await open({ at: at('bert', '&h=1.0') });
    await hover(page, 2, 4);
    await soon.match(
      () => page.getAttribute('#map-cell', 'aria-label'),
      /from cat to on, weight [\d.e-]+, rank \d+ of \d+, layer 1 head 0/,
    );
    await soon.equal(() => page.getAttribute('[data-test=grid]', 'role'), 'grid');
    await page.mouse.move(2, 2);
    await chip(page, 2).click();
    await page.click('text=As table');
    await soon.equal(() => page.locator('[data-test=row-table] tbody tr').count(), 14);
  },

  async 'A16 the scale is told apart without colours'() {
    const luminance = ([r, g, b]) => {
      const f = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
      return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
    };
    const page = await open({ at: at('bert', '&q=') });
    const cdp = await page.context().newCDPSession(page);
    for (const type of ['deuteranopia', 'protanopia', 'tritanopia', 'none']) {
      await cdp.send('Emulation.setEmulatedVisionDeficiency', { type });
      await page.mouse.move(2, 2);
      const image = PNG.sync.read(await page.locator('.ramp canvas').screenshot()),
        y = image.height >> 1;
      let last = Infinity;
      for (let x = 6; x < image.width - 6; x += 4) {
        const at = 4 * (y * image.width + x),
          l = luminance(image.data.subarray(at, at + 3));
        assert.ok(l <= last + 0.004, `${type} at ${x}: ${l} after ${last}`);
        last = l;
      }
    }
    for (const name of ['weightLight', 'weightDark']) {
      const all = colors(name).map(luminance),
        sign = Math.sign(all[255] - all[0]);
      for (let i = 1; i < 256; ++i) assert.ok(sign * (all[i] - all[i - 1]) > 0, `${name} ${i}`);
    }
    // The two ends of signed numbers are far apart, for everybody (CIE 1976 distance).
    const lab = ([r, g, b]) => {
      const f = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
      const [R, G, B] = [f(r), f(g), f(b)],
        h = (t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
      const X = h((0.4124 * R + 0.3576 * G + 0.1805 * B) / 0.9505),
        Y = h(0.2126 * R + 0.7152 * G + 0.0722 * B),
        Z = h((0.0193 * R + 0.1192 * G + 0.9505 * B) / 1.089);
      return [116 * Y - 16, 500 * (X - Y), 200 * (Y - Z)];
    };
    await page.click('[data-test=mode-scores]');
    for (const type of ['deuteranopia', 'protanopia', 'tritanopia', 'none']) {
      await cdp.send('Emulation.setEmulatedVisionDeficiency', { type });
      const image = PNG.sync.read(await page.locator('.ramp canvas').screenshot()),
        row = 4 * (image.height >> 1) * image.width,
        end = (x) => lab(image.data.subarray(row + 4 * x, row + 4 * x + 3));
      const [a, b] = [end(6), end(image.width - 7)];
      assert.ok(Math.hypot(...a.map((v, i) => v - b[i])) >= 40, type);
    }
  },

  async 'Touch: a tap looks, a second one pins, a long press has a menu'() {
    const page = await open({
      at: at('bert', '&h=0.0&q='),
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await page.locator('[data-test=map]').scrollIntoViewIfNeeded();
    const tap = async (i, j) => {
      const { x, y } = await cellPoint(page, i, j);
      await page.touchscreen.tap(x, y);
    };
    await tap(3, 5);
    await page.waitForSelector('[data-test=value]');
    await soon.match(() => page.textContent('[data-test=live]'), /^from sat to the,/);
    await soon.equal(() => field(page, 'q'), '');
    await tap(3, 5);
    await soon.deepEqual(async () => [await field(page, 'q'), await field(page, 'k')], ['3', '5']);
    const cdp = await page.context().newCDPSession(page),
      { x, y } = await cellPoint(page, 2, 2);
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
    await page.waitForSelector('[data-test=menu]');
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await soon.deepEqual(async () => [await field(page, 'q'), await field(page, 'k')], ['3', '5']);
    await page.tap('[data-test=menu] >> text=Why this weight');
    await soon.deepEqual(async () => [await field(page, 'q'), await field(page, 'k')], ['2', '2']);
    await page.waitForSelector('#view-why [data-test=steps]');
    await soon.ok(() => page.isVisible('#view-why'));
    // Words: the same.
    await page.locator('.strip [data-token="4"]').tap();
    await soon.equal(() => field(page, 'q'), '2');
    await soon.ok(async () => (await chip(page, 4).getAttribute('class')).includes('query'));
    await page.locator('.strip [data-token="4"]').tap();
    await soon.equal(() => field(page, 'q'), '4');
    // Heads: the same.
    await page.tap('#tab-heads');
    // As a thumb does, until all of it is there and in sight.
    await until(async () => {
      await page.locator('[data-test=atlas]').evaluate((e) => e.scrollIntoView({ block: 'end' }));
      const { y, height } = await settled(page.locator('[data-test=atlas]'));
      assert.ok(y + height <= 845, `${y + height}`);
    });
    const tapLast = async () => {
      const atlas = await settled(page.locator('[data-test=atlas]'));
      await page.touchscreen.tap(atlas.x + atlas.width - 14, atlas.y + atlas.height - 14);
    };
    const before = await settled(page.locator('[data-test=atlas]'));
    await tapLast();
    await soon.match(() => page.textContent('.statistics'), /1\.1/);
    await soon.equal(() => field(page, 'h'), '0.0');
    assert.deepEqual(await settled(page.locator('[data-test=atlas]')), before, 'the heads stay under the finger');
    await tapLast();
    await soon.equal(() => field(page, 'h'), '1.1');
  },

  async 'Menu: right button and keyboard'() {
    const page = await open({ at: at('bert', '&h=0.0&q=') });
    const { x, y } = await cellPoint(page, 4, 6);
    await page.mouse.click(x, y, { button: 'right' });
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await soon.deepEqual(async () => [await field(page, 'q'), await field(page, 'k')], ['4', null]);
    await page.focus('[data-test=grid]');
    await page.keyboard.press('Shift+F10');
    await page.waitForSelector('[data-test=menu] button:focus');
    await page.keyboard.press('Escape');
    await page.waitForSelector('[data-test=menu]', { state: 'detached' });
    await page.waitForSelector('[data-test=grid]:focus');
    // Dragging along the words pins them all.
    const label = (i) => page.locator('.label.row').nth(i);
    await label(2).hover();
    await page.mouse.down();
    await label(3).hover();
    await label(4).hover();
    await page.mouse.up();
    await soon.equal(() => field(page, 'q'), '2,3,4');
  },

  async 'Depth hides numbers and changes none'() {
    const page = await open({ at: at('bert', '&h=0.0&q=3&k=5') });
    const number = await page.textContent('[data-test=value]');
    await soon.ok(() => page.isVisible('.statistics'));
    await page.selectOption('[data-test=depth]', 'learner');
    await soon.ok(async () => !(await page.isVisible('.statistics')));
    await soon.equal(() => page.textContent('[data-test=value]'), number);
    await soon.equal(() => field(page, 'n'), 'learner');
    await page.selectOption('[data-test=depth]', 'researcher');
    await page.waitForSelector('.vector[open] .numbers');
  },

  async 'A24 text is text'() {
    const evil = '</script><img src=x onerror=window.p=1>"\'&';
    const page = await open({ at: `m=bert&t=${encodeURIComponent(evil)}` });
    await page.click('[data-test=share]');
    await soon.equal(() => page.evaluate(() => window.p), undefined);
    await soon.equal(() => page.inputValue('#text'), evil);
    await soon.equal(() => page.locator('img').count(), 0);
  },

  async 'A31 theme and motion follow the system'() {
    const page = await open({ colorScheme: 'dark', reducedMotion: 'reduce' });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await soon.equal(() => page.getAttribute('html', 'data-theme'), 'dark');
    const dark = await background();
    await page.emulateMedia({ colorScheme: 'light' });
    await page.waitForSelector('html[data-theme=light]');
    await soon.notEqual(() => background(), dark);
    await page.click('[data-test=theme]');
    await soon.equal(() => field(page, 'th'), 'dark');
    await soon.equal(() => page.evaluate(() => document.getAnimations().length), 0);
  },

  async 'A32 other scripts'() {
    const mixed = 'שלום עולם 猫が座った 🐈‍⬛ cafe\u0301 the cat';
    const page = await open({ at: `m=bert&t=${encodeURIComponent(mixed)}` });
    await soon.equal(() => page.evaluate(() => getComputedStyle(document.querySelector('.chips')).direction), 'rtl'); // as the text, [CLS] or not
    const clipped = await page
      .locator('.strip .chip')
      .evaluateAll((list) => list.filter((e) => e.scrollWidth > e.clientWidth + 1).length);
    assert.equal(clipped, 0);
    await soon.equal(() => page.inputValue('#text'), mixed);
    await page.keyboard.press('Escape');
    await page.keyboard.press('w');
    // Words joined again are the text, byte for byte, but for the spaces between them.
    await soon.equal(
      async () => {
        const words = await page.locator('.strip .chip:not(.added)').evaluateAll((list) => list.map((e) => e.title));
        return words.map((title) => JSON.parse(/^"(?:[^"\\]|\\.)*"/.exec(title)[0])).join('');
      },
      mixed.replaceAll(' ', ''),
    );
  },

  async 'A33 troubles are told, and the picture stays'() {
    const server = await serve(['--model', 'en', '--threads', '1']);
    const page = await open({ server, at: at('en'), errors: true });
    await page.fill('#text', '   ');
    await page.press('#text', 'Enter');
    await soon.match(() => page.textContent('[data-test=banner]'), /empty/);
    await page.fill('#text', 'cat '.repeat(400));
    await page.press('#text', 'Enter');
    await page.waitForSelector('[data-test=banner]:has-text("tokens")');
    const before = await nonUniform(page);
    await server.stop();
    await page.fill('#text', 'the mat');
    await page.press('#text', 'Enter');
    await page.waitForSelector('[data-test=banner]:has-text("does not answer")');
    await soon.equal(() => nonUniform(page), before);
    await soon.equal(() => page.locator('[data-test=banner] >> text=Try again').count(), 1);
    const unknown = await open({ at: 'm=gpt9' });
    await soon.match(() => unknown.textContent('[data-test=banner]'), /no model/);
    const stranger = await theBrowser().newContext();
    const lost = await stranger.newPage();
    await lost.goto(main().origin);
    await lost.waitForSelector('[data-test=banner]');
    await soon.match(() => lost.textContent('[data-test=banner]'), /open the link/);
    await stranger.close();
  },

  async 'A35 print: white, with legend and caption'() {
    const page = await open({ at: at('en', '&h=1.1'), colorScheme: 'dark' });
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    await page.waitForSelector('html[data-theme=light]');
    await soon.equal(() => page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
    await soon.ok(() => page.isVisible('.legend'));
    await soon.match(() => page.textContent('.caption'), /Model en\. “the cat.+head 1\.1.+Headlight \d/s);
    await soon.ok(() => page.isVisible('.caption'));
  },

  async 'Tour: guess first, then look'() {
    const page = await open({ at: at('en', '&h=0.0&q=3&k=1') });
    await page.keyboard.press('Escape');
    const before = await pixels(page, [[3, 1]]);
    await page.click('nav >> text=Tour');
    for (let i = 0; i < 8; ++i) {
      if (i === 1) {
        await page.click('.predict .chip >> nth=2');
        await page.click('.predict >> text=Reveal');
        await soon.match(() => page.textContent('.predict'), /Yes: 0.55 × 0.57/);
      }
      await page.click('.tour footer .primary');
    }
    await page.waitForSelector('.tour-body button:has-text("Reveal")');
    await soon.notDeepEqual(() => pixels(page, [[3, 1]]), before); // hatched
    const hidden = await pixels(page, [[3, 1]]);
    await page.click('.tour-body button:has-text("Reveal")');
    await soon.notDeepEqual(() => pixels(page, [[3, 1]]), hidden);
    await soon.match(() => page.textContent('[data-test=tour]'), /Most of it/);
  },
};
