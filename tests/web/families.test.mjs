// Attention as other families compute it: grouped keys, rotations, softcaps, sinks, slopes, learned distances, experts.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { field, hover, open, reference, serve, soon, SOURCE, until, value } from './pages.mjs';

const golden = (name) => join(SOURCE, 'tests/golden', name),
  ids = '3 1 4 1 5 9 2 6 5 3';

export default {
  async 'A4, A7 grouped keys with rotations: values, groups in the atlas, the key head that queries share'() {
    const server = await serve(['--model', golden('llama'), '--threads', '1']);
    const page = await open({ server, at: `t=${encodeURIComponent(ids)}&h=1.3&q=6&k=2` });
    const args = ['--ids', ids.replaceAll(' ', ','), '--model', golden('llama')];
    await soon.match(() => page.textContent('.heads header'), /4 heads, 2 for keys and values/);
    for (const head of [3, 0]) {
      await page.fill('#search', `1.${head}`);
      await page.press('#search', 'Enter');
      await soon.equal(() => field(page, 'h'), `1.${head}`);
      const ref = reference(args, 'decoder', 1, { causal: true });
      for (let n = 0; n < 25; ++n) {
        const i = 1 + ((n * 7) % 9),
          j = (n * 5 + 1) % (i + 1);
        await hover(page, i, j);
        await until(async () =>
          assert.ok(Math.abs((await value(page)) - ref.at(head, i, j)) < 1e-5, `${head} ${i} ${j}`),
        );
      }
      await page.mouse.move(2, 2);
      await soon.match(() => page.textContent('[data-test=steps]'), new RegExp(`of key head ${head >> 1}, which 2 query heads share`)); // prettier-ignore
    }
    await page.waitForSelector('[data-test=rope]');
    await page.close();
    await server.stop();
  },

  async 'A7 every family: what Why computes is what the kernel returned'() {
    const names = [
        'llama',
        'gemma2',
        'qwen3',
        'gpt_oss',
        'bloom',
        'mpt',
        'falcon',
        'deepseek_v2',
        'mixtral',
        'modernbert',
      ],
      server = await serve([...names.flatMap((name) => ['--model', golden(name)]), '--threads', '1']);
    const page = await open({ server, at: `m=${names[0]}&t=${encodeURIComponent(ids)}` });
    for (const name of names) {
      if (name !== names[0]) await page.selectOption('[aria-label=Model]', name);
      await soon.equal(() => field(page, 'm'), name);
      await page.waitForSelector('html[data-state=ready]');
      await soon.equal(() => page.inputValue('#text'), ids);
      for (const link of ['h=0.0&q=7&k=2', 'h=1.1&q=9&k=8']) {
        await page.evaluate((at) => (location.hash = location.hash.replace(/&h=.*$/, `&${at}`)), link);
        await soon.ok(async () => (await page.evaluate(() => location.hash)).includes(link));
        await page.waitForSelector('[data-test=output]');
        const steps = await page.textContent('[data-test=steps]');
        assert.equal(await page.locator('.cross-mark').count(), 0, `${name} ${link}: ${steps}`);
        assert.ok((await page.locator('.tick').count()) >= 3, `${name}: weights, z, output`);
      }
    }
    await page.close();
    await server.stop();
  },

  async 'Latent attention: only the end of a head turns, and Why says where its matrices are'() {
    const server = await serve(['--model', golden('deepseek_v2'), '--threads', '1']);
    const page = await open({ server, at: `t=${encodeURIComponent(ids)}&h=1.1&q=6&k=2` });
    await page.waitForSelector('[data-test=output]');
    await soon.equal(() => page.locator('[data-test=latent]').count(), 2); // q and k
    const numbers = (name) => page.locator(`.numbers span[title^="${name}["]`).allTextContents(),
      after = await numbers('q'),
      before = await numbers('q before');
    assert.equal(after.length, 8);
    assert.deepEqual(before.slice(0, 4), after.slice(0, 4)); // four of eight do not turn
    assert.notDeepEqual(before.slice(4), after.slice(4));
    await page.close();
    await server.stop();
  },

  async 'Experts of a mixture: which ones each layer used for the token'() {
    const server = await serve(['--model', golden('mixtral'), '--threads', '1']);
    const page = await open({ server, at: `t=${encodeURIComponent(ids)}&h=0.0&q=6&k=2` });
    await page.check('[data-test=lens]');
    const layers = page.locator('[data-test=where] button.stop');
    await soon.match(() => layers.first().textContent(), /experts \d \d/);
    const seen = async () =>
      (await layers.evaluateAll((list) => list.map((e) => e.title))).map((title) => {
        const shares = [...title.matchAll(/(\d) \(([\d.]+)\)/g)].map((m) => Number(m[2]));
        assert.equal(shares.length, 2, title);
        assert.ok(Math.abs(shares[0] + shares[1] - 1) < 0.02, title);
        return title;
      });
    const here = await seen();
    assert.equal(here.length, 2);
    // Another token has others, in some layer.
    await page.locator('.strip .chip').nth(2).click();
    await soon.notDeepEqual(seen, here);
    await page.close();
    await server.stop();
  },
};
