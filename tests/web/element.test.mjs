// Several viewers in one document: <headlight-view> of web/headlight-view.js.
import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { folder, open, program, soon, SOURCE } from './pages.mjs';

export default {
  async 'A34 two viewers in one document do not disturb each other'() {
    const place = folder();
    copyFileSync(join(SOURCE, 'web/headlight-view.js'), join(place, 'headlight-view.js'));
    program('show', 'the cat sat on the mat', '--model', 'en', '--head', '0.0', '--html', join(place, 'one.html'));
    program('show', 'the cat was too tired', '--model', 'en', '--head', '1.1', '--html', join(place, 'two.html'));
    writeFileSync(
      join(place, 'index.html'),
      `<!doctype html><meta charset="utf-8"><title>two</title><script src="headlight-view.js"></script>
       <headlight-view id="a" src="one.html" at="h=0.1&q=3&k=1"></headlight-view><headlight-view id="b" src="two.html" height="500"></headlight-view>`,
    );
    const page = await open({ url: pathToFileURL(join(place, 'index.html')).href, wait: null });
    const a = page.frameLocator('#a iframe'),
      b = page.frameLocator('#b iframe');
    const title = (frame, words) => frame.locator(`#pattern-title:has-text("${words}")`).waitFor();
    await title(a, 'Layer 0 · head 1');
    await title(b, 'Layer 1 · head 1');
    await soon.equal(() => page.locator('#b iframe').getAttribute('height'), '500');
    await b.locator('[data-test=grid]').focus();
    await page.keyboard.press('[');
    await title(b, 'Layer 1 · head 0');
    await title(a, 'Layer 0 · head 1');
    await page.evaluate(() => document.getElementById('a').setAttribute('at', 'h=1.0&q=2'));
    await title(a, 'Layer 1 · head 0');
    await soon.equal(() => a.locator('.strip [aria-pressed=true]').count(), 1);
    await soon.equal(() => b.locator('h1').count(), 1);
  },
};
