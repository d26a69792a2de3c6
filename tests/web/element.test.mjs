// Several viewers in one document: <headlight-view> of web/headlight-view.js.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { folder, open, PAGE, program, soon, SOURCE } from './pages.mjs';

// A folder as other people's servers give it out.
async function publish(place) {
  const types = { html: 'text/html; charset=utf-8', js: 'text/javascript' };
  const server = createServer((request, answer) => {
    const file = join(place, new URL(request.url, 'http://x').pathname);
    if (!existsSync(file)) return answer.writeHead(404).end();
    answer.writeHead(200, { 'Content-Type': types[file.split('.').at(-1)] }).end(readFileSync(file));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { origin: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}
// Saved by the program, with the page that is tried where that is another one.
function save(file, ...args) {
  program('show', ...args, '--model', 'en', '--html', file);
  if (!PAGE) return;
  const data = /id="data">([^<]*)</.exec(readFileSync(file, 'utf8'))[1];
  writeFileSync(file, readFileSync(PAGE, 'utf8').replace('id="data"></script>', `id="data">${data}</script>`));
}

export default {
  async 'A34 two viewers in one document, without frames: each has its own state, keys and style'() {
    const place = folder();
    copyFileSync(join(SOURCE, 'web/headlight-view.js'), join(place, 'headlight-view.js'));
    save(join(place, 'one.html'), 'the cat sat on the mat', '--head', '0.0');
    save(join(place, 'two.html'), 'the cat was too tired', '--head', '1.1');
    const style = 'p { color: red } .card { display: none }'; // of the document: nothing to a viewer
    writeFileSync(
      join(place, 'index.html'),
      `<!doctype html><meta charset="utf-8"><title>two</title><style>${style}</style><script src="headlight-view.js"></script>
       <h1>Two viewers</h1><headlight-view id="a" src="one.html" at="h=0.1&q=3&k=1"></headlight-view>
       <headlight-view id="b" src="two.html" height="500" style="width:520px"></headlight-view>
       <headlight-view id="c" src="none.html"></headlight-view>`,
    );
    const server = await publish(place);
    try {
      const page = await open({ url: `${server.origin}/index.html`, wait: null, errors: true }); // none.html
      const a = page.locator('#a'),
        b = page.locator('#b');
      const title = (view, words) => view.locator(`#pattern-title:has-text("${words}")`).waitFor({ state: 'attached' });
      await title(a, 'Layer 0 · head 1');
      await title(b, 'Layer 1 · head 1');
      assert.equal(await page.locator('iframe').count(), 0);
      await soon.match(
        () => page.locator('#c #page').textContent(),
        /cannot show "none.html": the server answered 404/,
      );
      // Keys are meant for the viewer that has the focus; the address is the attribute, and the document keeps its own.
      await a.locator('[data-test=grid]').focus();
      await page.keyboard.press(']');
      await title(a, 'Layer 1 · head 0');
      await title(b, 'Layer 1 · head 1');
      await soon.match(() => a.getAttribute('at'), /h=1\.0/);
      assert.equal(new URL(page.url()).hash, '');
      assert.equal(await page.title(), 'two');
      // A click in one leaves the other; a value at the pointer, and the menu where it was asked for.
      await b.locator('#tab-heads').click();
      await b.locator('.strip [data-token="2"]').click();
      await soon.match(() => b.getAttribute('at'), /q=2(&|$)/);
      await soon.match(() => a.getAttribute('at'), /q=3&k=1/);
      await a.locator('.over').click({ button: 'right', position: { x: 30, y: 30 } });
      const menu = await a.locator('[data-test=menu]').boundingBox(),
        map = await a.locator('.over').boundingBox();
      assert.ok(Math.abs(menu.x - map.x - 30) < 3 && Math.abs(menu.y - map.y - 30) < 3, JSON.stringify([menu, map]));
      await page.keyboard.press('Escape');
      await a.locator('[data-test=menu]').waitFor({ state: 'detached' });
      // Each is as wide as its element: the narrow one has tabs, the wide one has not.
      await soon.ok(() => b.locator('.tabs').isVisible());
      await soon.ok(async () => !(await a.locator('.tabs').isVisible()));
      await soon.equal(async () => Math.round((await b.boundingBox()).height), 500);
      await b.locator('[data-test=theme]').click();
      await soon.equal(() => b.locator('.frame').getAttribute('data-theme'), 'dark');
      await soon.equal(() => a.locator('.frame').getAttribute('data-theme'), 'light');
      // From outside.
      await page.evaluate(() => document.getElementById('a').setAttribute('at', 'h=1.1&q=2'));
      await title(a, 'Layer 1 · head 1');
      await soon.equal(() => a.locator('.strip [aria-pressed=true]').count(), 1);
      const left = await page.evaluate(() =>
        Object.keys(window).filter((name) => /headlight|embedded|signal/i.test(name)),
      );
      assert.deepEqual(left, []);
    } finally {
      server.stop();
    }
  },

  async 'A viewer in a document that is a file says why it shows nothing'() {
    const place = folder();
    copyFileSync(join(SOURCE, 'web/headlight-view.js'), join(place, 'headlight-view.js'));
    writeFileSync(
      join(place, 'index.html'),
      '<!doctype html><title>x</title><script src="headlight-view.js"></script><headlight-view src="one.html"></headlight-view>',
    );
    const page = await open({ url: pathToFileURL(join(place, 'index.html')).href, wait: null, errors: true });
    await soon.match(
      () => page.locator('#page').textContent(),
      /a file cannot read another one; open this page from a server/,
    );
  },
};
