// The page as a file: the same views without a server, without a network.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  cellPoint,
  colors,
  field,
  folder,
  hover,
  npy,
  open,
  pixels,
  place,
  program,
  PROGRAM,
  reference,
  soon,
  until,
  value,
} from './pages.mjs';

const text = 'the cat sat on the mat because it was too tired';
function saved(...more) {
  const path = join(folder(), 'page.html');
  const done = spawnSync(PROGRAM, ['show', text, '--html', path, ...more], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  return { path, url: 'file://' + path, note: done.stderr };
}

export default {
  async 'A23 a saved page: values, pixels, hover, pins, links'() {
    const { path, url, note } = saved('--model', 'en', '--head', '1.1', '--query', 'sat');
    const printed = Number(/, ([\d.]+) MB/.exec(note)[1]);
    assert.ok(Math.abs(printed - statSync(path).size / 1e6) <= 0.01);
    const page = await open({ url, offline: true });
    await soon.deepEqual(async () => [await field(page, 'h'), await field(page, 'q')], ['1.1', '3']);
    const ref = reference([text, '--model', 'en'], 'decoder', 1, { causal: true });
    for (let n = 0; n < 12; ++n) {
      const i = 4 + (n % 8),
        j = n % 4;
      await hover(page, i, j);
      await soon.ok(async () => Math.abs((await value(page)) - ref.at(1, i, j)) < 1e-5);
    }
    await soon.match(() => page.textContent('[data-test=live]'), /^from /);
    await page.mouse.move(2, 2);
    const out = folder();
    program('show', text, '--model', 'en', '--npy', out);
    const weights = npy(join(out, 'decoder_1.npy')),
      n = weights.shape[1],
      table = colors('weightLight');
    const found = await pixels(page, [
      [5, 2],
      [8, 8],
      [11, 0],
    ]);
    [
      [5, 2],
      [8, 8],
      [11, 0],
    ].forEach(([i, j], x) =>
      assert.deepEqual(found[x].slice(0, 3), table[place(weights.data[(n + i) * n + j], 'sqrt')]),
    );
    const p = await cellPoint(page, 6, 2);
    await page.mouse.click(p.x, p.y);
    await soon.deepEqual(async () => [await field(page, 'q'), await field(page, 'k')], ['6', '2']);
    await page.waitForSelector('[data-test=output]');
    await soon.equal(() => page.locator('.cross-mark').count(), 0);
    await page.keyboard.press('['); // the same layer has its matrices too, the one before has not
    await page.waitForSelector('.why header :text("1.0")');
    await page.waitForSelector('[data-test=output]');
    await page.keyboard.press('[');
    await page.waitForSelector('.why :text("matrices of one layer only")');
    const second = await open({ url: page.url(), offline: true });
    await soon.deepEqual(async () => [await field(second, 'q'), await field(second, 'k')], ['6', '2']);
    await second.waitForSelector('[data-test=next]');
    return `${printed} MB`;
  },

  async 'A25 a saved page draws its own SVG'() {
    const page = await open({ url: saved('--model', 'bert').url, offline: true, acceptDownloads: true });
    await page.click('[data-test=export]');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('[data-test=export-svg]')]);
    const svg = readFileSync(await download.path(), 'utf8');
    assert.match(svg, /<text[^>]*>cat<\/text>/);
    await page.evaluate((source) => {
      if (new DOMParser().parseFromString(source, 'image/svg+xml').querySelector('parsererror'))
        throw new Error('no XML');
    }, svg);
  },

  async 'A24 saved text is text'() {
    const evil = '</script><img src=x onerror=window.p=1>';
    const path = join(folder(), 'evil.html');
    execFileSync(PROGRAM, ['show', evil, '--model', 'bert', '--html', path], { stdio: 'pipe' });
    const page = await open({ url: 'file://' + path, offline: true });
    await soon.equal(() => page.evaluate(() => window.p), undefined);
    await soon.equal(() => page.inputValue('#text'), evil);
  },

  async 'A34 two saved pages inside another page'() {
    const html = readFileSync(saved('--model', 'en-fr', '--part', 'cross', '--head', '0.1').path, 'utf8');
    const outer = join(folder(), 'outer.html');
    const frame = `<iframe sandbox="allow-scripts" width="1300" height="800" srcdoc="${html.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></iframe>`;
    writeFileSync(outer, `<!doctype html><meta charset="utf-8"><title>x</title>${frame}${frame}`);
    const page = await open({
      url: 'file://' + outer,
      offline: true,
      wait: '',
      viewport: { width: 1360, height: 1700 },
    });
    const frames = page.frames().slice(1);
    assert.equal(frames.length, 2);
    for (const f of frames) await f.waitForSelector('html[data-state=ready]');
    await frames[0].locator('.strip [data-token="1"]').first().click();
    await soon.equal(() => frames[0].locator('.chip[aria-pressed=true]').count(), 1);
    await until(async () =>
      assert.notEqual(
        await frames[0].textContent('[data-test=finding]'),
        await frames[1].textContent('[data-test=finding]'),
      ),
    );
    await frames[1].locator('.over').hover({ position: { x: 30, y: 30 } });
    await soon.match(() => frames[1].textContent('[data-test=live]'), /^from /);
  },

  async 'A saved file has a limit'() {
    const done = spawnSync(
      PROGRAM,
      ['show', text, '--model', 'en', '--html', join(folder(), 'x.html'), '--max-size', '0.1MB'],
      { encoding: 'utf8' },
    );
    assert.equal(done.status, 5);
    assert.match(done.stderr, /the limit is 0.1 MB/);
  },
};
