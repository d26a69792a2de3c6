// What can be chosen about the looks: colours, their range, muted keys, the order of heads. Exports follow.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import {
  closeDialog,
  colors,
  field,
  folder,
  hover,
  npy,
  open,
  pixels,
  place,
  program,
  saved,
  settled,
  shared,
  soon,
  until,
  value,
} from './pages.mjs';

const text = 'the cat sat on the mat because it was too tired';
const at = (model, more = '') => `m=${model}&t=${encodeURIComponent(text)}${more}`;
const arrays = (model) => {
  const out = folder();
  program('show', text, '--model', model, '--npy', out);
  return out;
};
// One head's weights as rows; 0 where nothing is visible.
function headOf(model, part, layer, head) {
  const { shape, data } = npy(join(arrays(model), `${part}_${layer}.npy`)),
    [, rows, columns] = shape;
  return Array.from({ length: rows }, (_, i) =>
    data.subarray((head * rows + i) * columns, (head * rows + i + 1) * columns),
  );
}
const lower = (rows) => rows.flatMap((row, i) => Array.from(row.subarray(0, i + 1)));
const number = async (page, name) => Number(await page.getAttribute(`[data-test=${name}]`, 'data-value'));

export default {
  async 'Colours: every palette, and a range that ends at the largest weight'() {
    const page = await open({ at: at('bert', '&h=1.1&q='), colorScheme: 'light' }),
      rows = headOf('bert', 'encoder', 1, 1),
      top = Math.max(...rows.flatMap((row) => Array.from(row))),
      cells = rows.flatMap((row, i) => Array.from(row, (_, j) => [i, j]));
    assert.ok(top < 0.9, 'a map whose largest weight is well below 1');
    const check = async (table, scale, end) => {
      await page.mouse.move(2, 2);
      await until(async () => {
        const found = await pixels(page, cells);
        cells.forEach(([i, j], n) =>
          assert.deepEqual(found[n].slice(0, 3), table[place(rows[i][j], scale, end)], `${scale} ${end} ${i} ${j}`),
        );
      });
    };
    for (const theme of ['Light', 'Dark']) {
      await page.emulateMedia({ colorScheme: theme.toLowerCase() });
      for (const palette of ['viridis', 'magma', 'grey', 'cividis']) {
        await page.selectOption('[data-test=palette]', palette);
        await check(colors(`${palette === 'cividis' ? 'weight' : palette}${theme}`), 'sqrt', 1);
        await soon.equal(() => field(page, 'c'), palette === 'cividis' ? null : palette);
      }
    }
    await soon.match(() => page.getAttribute('[data-test=legend]', 'aria-label'), /cividis, sqrt, from 0 to 1.00$/);
    await page.click('[data-test=range-auto]');
    for (const scale of ['linear', 'log']) {
      await page.click(`[data-test=scale-${scale}]`);
      await check(colors('weightDark'), scale, top);
    }
    await soon.equal(() => field(page, 'r'), 'auto');
    await soon.equal(
      async () => (await page.locator('.ticks span').last().textContent()).trim(),
      `max ${top.toPrecision(3)}`,
    );
    await soon.match(
      () => page.getAttribute('[data-test=legend]', 'aria-label'),
      new RegExp(`to ${top.toPrecision(3)}, the largest`),
    );
    // Keys do the same, and a link opens it again.
    await page.focus('[data-test=grid]');
    await page.keyboard.press('c');
    await soon.equal(() => field(page, 'c'), 'viridis');
    await page.keyboard.press('a');
    await soon.equal(() => field(page, 'r'), null);
    const other = await open({ at: at('bert', '&h=1.1&q=&c=grey&r=auto&s=linear'), colorScheme: 'light' });
    await soon.equal(() => other.inputValue('[data-test=palette]'), 'grey');
    await other.mouse.move(2, 2);
    await soon.deepEqual(
      async () => (await pixels(other, [[2, 3]]))[0].slice(0, 3),
      colors('greyLight')[place(rows[2][3], 'linear', top)],
    );
  },

  async 'A21 mute: numbers stay; renormalised ones say that they are derived'() {
    const page = await open({ at: at('en', '&h=1.1&q=&r=auto&s=linear'), colorScheme: 'light' }),
      rows = headOf('en', 'decoder', 1, 1);
    await page.selectOption('[data-test=mute]', 'first');
    await soon.equal(() => field(page, 'f'), 'first');
    await hover(page, 7, 3);
    await soon.ok(async () => Math.abs((await value(page)) - rows[7][3]) < 1e-7);
    await soon.match(() => page.textContent('[data-test=origin]'), /exact/);
    const rest = 1 - rows[7][0];
    await soon.ok(async () => Math.abs(Number(await page.textContent('[data-test=unmuted]')) - rest) < 1e-3);
    // The muted column is faint, and the range ends at the largest of the others.
    const top = Math.max(...rows.flatMap((row, i) => Array.from(row.subarray(1, i + 1))));
    assert.notEqual(
      top.toPrecision(3),
      Math.max(...lower(rows)).toPrecision(3),
      'the first column has the largest weight',
    );
    await soon.equal(
      async () => (await page.locator('.ticks span').last().textContent()).trim(),
      `max ${top.toPrecision(3)}`,
    );
    await page.mouse.move(2, 2);
    await until(async () => {
      const [faint, full] = await pixels(page, [[7, 0], [7, 3]]); // prettier-ignore
      assert.notDeepEqual(faint.slice(0, 3), colors('weightLight')[place(rows[7][0], 'linear', top)]);
      assert.deepEqual(full.slice(0, 3), colors('weightLight')[place(rows[7][3], 'linear', top)]);
    });
    await page.check('[data-test=renormalise]');
    await soon.match(() => page.textContent('[data-test=origin]'), /derived/);
    await soon.ok(() => page.isVisible('[data-test=origin]'));
    for (const [i, j] of [
      [7, 3],
      [10, 10],
      [4, 1],
    ]) {
      await hover(page, i, j);
      await soon.ok(async () => Math.abs((await value(page)) - rows[i][j]) < 1e-7, 'the raw number stays');
      await soon.ok(async () => Math.abs((await number(page, 'whole')) - rows[i][j] / (1 - rows[i][0])) < 1e-5);
      await soon.equal(() => page.textContent('[data-test=unmuted]'), '1.0000');
    }
    await soon.equal(() => field(page, 'f'), 'first,whole');
    await page.selectOption('[data-test=mute]', 'none');
    await soon.match(() => page.textContent('[data-test=origin]'), /exact/);
    // BERT's own tokens; a text without any has none to mute.
    const other = await open({ at: at('bert', '&h=0.0&q=&f=special,whole') }),
      all = headOf('bert', 'encoder', 0, 0),
      n = all.length;
    await hover(other, 3, 4);
    await soon.ok(
      async () => Math.abs((await number(other, 'whole')) - all[3][4] / (1 - all[3][0] - all[3][n - 1])) < 1e-5,
    );
    const added = JSON.parse(program('show', text, '--model', 'en', '--head', '0.0', '--json', '-')).tokens.some(
      (t) => t.special,
    );
    await soon.equal(() => page.$eval('[data-test=mute] option[value=special]', (e) => e.disabled), !added);
  },

  async 'Atlas: sorted by link, entropy, and share of the first token'() {
    const page = await open({ at: at('many', '&h=3.2&q=4&k=2') }),
      out = arrays('many'),
      heads = [];
    for (let layer = 0; layer < 12; ++layer) {
      const { shape, data } = npy(join(out, `encoder_${layer}.npy`)),
        [count, rows, columns] = shape;
      for (let head = 0; head < count; ++head) {
        const w = (i, j) => data[(head * rows + i) * columns + j];
        let entropy = 0,
          first = 0;
        for (let i = 0; i < rows; ++i) {
          first += w(i, 0);
          for (let j = 0; j < columns; ++j) entropy -= w(i, j) > 0 ? w(i, j) * Math.log2(w(i, j)) : 0;
        }
        heads.push({ name: `${layer}.${head}`, link: w(4, 2), focus: -entropy, first });
      }
    }
    await page.focus('[data-test=atlas]');
    for (const order of ['link', 'focus', 'first']) {
      await page.selectOption('[data-test=order]', order);
      await soon.equal(() => field(page, 'o'), order);
      await soon.match(() => page.getAttribute('[data-test=atlas]', 'aria-label'), /sorted by /);
      const sorted = heads.slice().sort((a, b) => b[order] - a[order]);
      // The first, the second, the one below it: by mouse and by keys.
      await page.evaluate(() => scrollTo(0, 0));
      const box = await settled(page.locator('[data-test=atlas]'));
      await page.mouse.click(box.x + 12, box.y + 12);
      await soon.equal(() => field(page, 'h'), sorted[0].name, order);
      await page.focus('[data-test=atlas]');
      await page.keyboard.press('ArrowRight');
      await soon.equal(() => field(page, 'h'), sorted[1].name, order);
      await page.keyboard.press('ArrowDown'); // as many further as there are in a row: 12, or a part where there is less room
      await soon.notEqual(() => field(page, 'h'), sorted[1].name);
      const name = await field(page, 'h'),
        below = sorted.findIndex((head) => head.name === name);
      assert.ok(below > 2 && 12 % (below - 1) === 0, `${order}: ${below}`);
      await page.keyboard.press(']');
      await soon.equal(() => field(page, 'h'), sorted[below + 1].name, order);
    }
    // Nothing pinned: no link to sort by.
    const other = await open({ at: at('many', '&h=3.2&q=&o=link') });
    await soon.equal(() => other.inputValue('[data-test=order]'), 'layer');
    await soon.ok(() => other.$eval('[data-test=order] option[value=link]', (e) => e.disabled));
  },

  async 'A25 exports are what is shown: numbers, colours, range, muted keys, words'() {
    for (const [model, view, options] of [
      ['en', '&d=scores', /--of scores --color-scale linear/],
      ['en', '&d=values&c=magma&s=log', /--of values --color-scale log --palette magma/],
      ['en', '&c=grey&r=auto&f=first,whole', /--mute-first --renormalize --palette grey --color-range auto/],
      ['bert', '&f=special,words&th=dark', /--words --mute-special --theme dark/],
    ]) {
      const page = await open({ at: at(model, `&h=1.0&q=${view}`), acceptDownloads: true, colorScheme: 'light' }),
        { command, bytes } = await shared(page);
      assert.match(command, options);
      assert.ok(bytes.equals(await saved(page, 'png')), view);
      const plain = await open({ at: at(model, '&h=1.0&q='), acceptDownloads: true, colorScheme: 'light' });
      assert.ok(!bytes.equals(await saved(plain, 'png')), `${view} looks like the usual figure`);
    }
    const page = await open({ at: at('en', '&h=1.0&q=&d=scores'), acceptDownloads: true }),
      out = folder();
    program('show', text, '--model', 'en', '--npy', out, '--what', 'scores');
    const all = npy(join(out, 'decoder_1_scores.npy')),
      one = npy(await saved(page, 'npy'));
    assert.deepEqual(Array.from(one.data), Array.from(all.data.subarray(0, one.data.length)));
    // What the program cannot draw is not offered, and it is said why.
    await page.click('[data-test=as-lines]');
    await page.click('[data-test=export]');
    await soon.match(() => page.textContent('[data-test=export-problem]'), /choose Map/);
    await soon.ok(() => page.locator('[data-test=export-png]').isDisabled());
    await closeDialog(page);
    await page.click('[data-test=share]');
    await soon.match(() => page.textContent('[data-test=no-command]'), /choose Map/);
  },
};
