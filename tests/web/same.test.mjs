// The page, the command line and the C++ library are asked the same, and answer with the same numbers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { closeDialog, NUMBERS, open, program, soon, until, WORK } from './pages.mjs';

const text = 'the cat sat on the mat because it was too tired',
  from = 'it',
  to = 'cat',
  head = '1.1';
const number = (words) => Number(words.replace('−', '-'));
// Relative to the larger of both, with room for the digits that a table prints.
const close = (a, b, digits, what) =>
  assert.ok(Math.abs(a - b) <= 10 ** -digits * Math.max(1e-9, Math.abs(a), Math.abs(b)), `${what}: ${a}, ${b}`);
const told = (...args) => JSON.parse(program(...args, '--json'));
const byHead = (list, of) => Object.fromEntries(list.map((h) => [`${h.layer}.${h.head}`, of(h)]));
const same = (a, b, digits, what) => {
  assert.deepEqual(Object.keys(a).sort(), Object.keys(b).sort(), what);
  for (const name of Object.keys(a)) close(a[name] ?? 0, b[name] ?? 0, digits, `${what} ${name}`);
};

export default {
  async 'Same numbers: the page, the command line, C++'() {
    for (const model of ['en', 'rotary']) {
      const cpp = JSON.parse(execFileSync(NUMBERS, [join(WORK, 'models', model), text, from, to, head]));
      const page = await open({ at: `m=${model}&t=${encodeURIComponent(text)}&h=${head}&q=8&k=2` });
      const read = (name) => page.getAttribute(`[data-test=${name}]`, 'data-value').then(Number);

      // One weight.
      const steps = told('explain', text, '--model', model, '--head', head, '--query', from, '--key', to);
      close(steps.weight, cpp.weight, 5, 'weight');
      await until(async () => close(await read('value'), cpp.weight, 7, 'weight on the page'));

      // Predictions there, before and without the head.
      await until(async () => {
        const rows = await page
          .locator('[data-test=next] tr')
          .evaluateAll((list) => list.map((row) => Number(/p (\S+)$/.exec(row.title)[1])));
        cpp.next.forEach((p, i) => close(rows[i], p, 7, `next ${i}`));
      });
      await page.keyboard.press('Escape');
      await page.keyboard.press('x');
      await page.waitForSelector('[data-test=knockout][aria-busy=false] [data-test=divergence]');
      const ablated = told('ablate', text, '--model', model, '--head', head, '--position', from);
      const shown = await page
        .locator('[data-test=effects] tbody tr')
        .evaluateAll((list) =>
          Object.fromEntries(list.map((row) => [row.dataset.id, Number(row.querySelectorAll('[data-value]')[1].dataset.value)])),
        ); // prettier-ignore
      same(shown, cpp.without, 7, 'without the head');
      same(Object.fromEntries(ablated.tokens.map((t) => [t.id, t.after])), cpp.without, 4, 'ablate');
      close(Number(await page.getAttribute('[data-test=divergence] b', 'data-value')), cpp.kl, 7, 'divergence');
      await page.click('[data-test=put-back]');

      // Every head: by the link, by its removal, by what it does.
      await page.fill('#search', `${from}→${to}`);
      await page.waitForSelector('[data-test=found] li');
      const found = await page
        .locator('[data-test=found] li')
        .evaluateAll((list) =>
          Object.fromEntries(list.map((row) => [row.querySelector('b').textContent, Number(row.querySelector('[data-value]').dataset.value)])),
        ); // prettier-ignore
      const links = told('heads', text, '--model', model, '--link', `${from}->${to}`).heads;
      same(found, cpp.links, 7, 'search');
      same(byHead(links, (h) => h.weight), cpp.links, 5, 'heads --link'); // prettier-ignore
      await page.fill('#search', '');
      await page.click('[data-test=sweep]');
      await page.waitForSelector('[data-test=sweep-line]:not(:has(progress))');
      await page.click('[data-test=export]');
      const [saved] = await Promise.all([page.waitForEvent('download'), page.click('[data-test=export-heads]')]);
      await closeDialog(page);
      const table = readFileSync(await saved.path(), 'utf8').trim().split('\n').slice(1); // prettier-ignore
      const swept = Object.fromEntries(table.map((line) => line.split('\t')).map((l) => [`${l[0]}.${l[1]}`, Number(l[3])])); // prettier-ignore
      same(swept, cpp.sweep, 6, 'sweep');
      const all = told('ablate', text, '--model', model, '--sweep', '--position', from).heads;
      same(byHead(all, (h) => h.kl), cpp.sweep, 4, 'ablate --sweep'); // prettier-ignore
      await page.click('[data-test=label]');
      await page.waitForSelector('[data-test=labels] p:nth-of-type(2)');
      const labels = byHead(told('heads', text, '--model', model).heads, (h) => h.battery.patterns[h.battery.labels[0]]?.score ?? null); // prettier-ignore
      same(labels, cpp.labels, 4, 'heads');
      await soon.match(
        () => page.textContent('[data-test=labels] p:nth-of-type(2)'),
        cpp.labels[head] === null ? /none/ : new RegExp(` ${cpp.labels[head].toFixed(2)}`),
      );

      // What each layer would predict.
      await page.check('[data-test=lens]');
      await page.waitForSelector('[data-test=where] small');
      await soon.equal(() => page.locator('[data-test=where] small').count(), cpp.lens.length);
      const lens = await page.locator('[data-test=where] small').evaluateAll((list) => list.map((e) => e.title));
      lens.forEach((title, i) => close(number(/^p ([^,]+),/.exec(title)[1]), cpp.lens[i], 7, `lens ${i}`));
    }
  },
};
