// Every number on the screen is the model's number.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
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
  reference,
  saved,
  shared,
  soon,
  until,
  value,
} from './pages.mjs';

const text = 'the cat sat on the mat because it was too tired';
const at = (model, more = '') => `m=${model}&t=${encodeURIComponent(text)}${more}`;

async function checkValues(page, ref, part, layer, head, count) {
  for (let n = 0; n < count; ++n) {
    const i = (n * 7 + 3) % ref.rows,
      j = (n * 5 + 1) % ref.columns,
      expected = ref.at(head, i, j);
    await hover(page, i, j);
    if (Number.isNaN(expected)) await soon.match(() => page.textContent('[data-test=readout]'), /not visible/);
    else {
      await until(async () =>
        assert.ok(
          Math.abs((await value(page)) - expected) < 1e-5,
          `${part} ${layer}.${head} ${i} ${j}: ${await value(page)} and ${expected}`,
        ),
      );
      await soon.ok(async () => Math.abs(Number(await page.textContent('[data-test=margin]')) - 1) < 1e-4);
    }
  }
}

export default {
  async 'A4 tooltips are the weights of a float64 softmax'() {
    const page = await open({ at: at('en', '&h=1.1') });
    await checkValues(page, reference([text, '--model', 'en'], 'decoder', 1, { causal: true }), 'decoder', 1, 1, 25);
    const other = await open({ at: at('bert', '&h=0.1') });
    await checkValues(
      other,
      reference([text, '--model', 'bert'], 'encoder', 0, { causal: false }),
      'encoder',
      0,
      1,
      25,
    );
  },

  async 'A5 pixels are entries of the table'() {
    const page = await open({ at: at('bert', '&h=1.0&q='), colorScheme: 'light' });
    const ref = npy(join(weightsOf('bert'), 'encoder_1.npy'));
    const [, rows, columns] = ref.shape,
      cells = [];
    for (let i = 0; i < rows; ++i) for (let j = 0; j < columns; ++j) cells.push([i, j]);
    for (const theme of ['light', 'dark']) {
      const table = colors(theme === 'light' ? 'weightLight' : 'weightDark');
      await page.emulateMedia({ colorScheme: theme });
      for (const scale of ['sqrt', 'log', 'linear']) {
        await page.click(`[data-test=scale-${scale}]`);
        await page.mouse.move(2, 2);
        await until(async () => {
          const found = await pixels(page, cells);
          cells.forEach(([i, j], n) =>
            assert.deepEqual(
              found[n].slice(0, 3),
              table[place(ref.data[i * columns + j], scale)],
              `${theme} ${scale} ${i} ${j}`,
            ),
          );
        });
      }
    }
  },

  async 'A6 masked cells are hatched, and are no weights'() {
    const page = await open({ at: at('en', '&h=0.0&q=') });
    // A hatched cell has its lines and nothing else: two colours. A weight has one.
    const all = await cellColors(page);
    for (let i = 0; i < all.length; ++i)
      for (let j = 0; j < all.length; ++j)
        if (j > i) assert.deepEqual(all[i][j], [...all[0][5]], `masked ${i} ${j}`);
        else assert.equal(all[i][j].length, 1, `visible ${i} ${j}: ${all[i][j]}`);
    assert.ok(all[0][5].length >= 2, `no lines: ${all[0][5]}`);
    await hover(page, 0, 5);
    await soon.match(() => page.textContent('[data-test=readout]'), /not visible/);
    await soon.match(() => page.textContent('[data-test=live]'), /not visible/);
  },

  async 'A7 steps: every intermediate is the reference’s'() {
    const page = await open({ at: at('en', '&h=1.0&q=6&k=2') });
    await page.waitForSelector('[data-test=steps]');
    const out = folder();
    program('show', text, '--model', 'en', '--npy', out, '--what', 'q,k,v,scores,weights,z');
    const q = npy(join(out, 'decoder_1_q.npy')),
      k = npy(join(out, 'decoder_1_k.npy')),
      scores = npy(join(out, 'decoder_1_scores.npy'));
    const dim = q.shape[2],
      n = q.shape[1];
    let dot = 0;
    for (let d = 0; d < dim; ++d) dot += q.data[6 * dim + d] * k.data[2 * dim + d];
    const number = (s) => Number(s.replace('−', '-'));
    const close = (a, b) => assert.ok(Math.abs(a - b) <= 6e-4 * Math.max(1e-3, Math.abs(b)), `${a} and ${b}`);
    close(number(await page.textContent('[data-test=dot]')), dot);
    const scale = (await page.textContent('[data-test=scale]')).split(/[×=]/).map((s) => number(s.trim()));
    close(scale[1], 1 / Math.sqrt(dim));
    close(scale[2], scores.data[6 * n + 2]);
    await soon.match(() => page.textContent('[data-test=mask]'), /sees 7 of/);
    await soon.equal(() => page.textContent('[data-test=row-sum]'), '1.0000');
    await page.waitForSelector('[data-test=output]');
    for (const name of ['q', 'k']) {
      await page.click(`.from-x summary:has-text("${name} = W")`);
      await page.waitForSelector(`[data-test=from-${name}]`);
    }
    await soon.equal(() => page.locator('.tick').count(), 5); // q, k, weights, z, output
    await soon.equal(() => page.locator('.cross-mark').count(), 0);
    await soon.equal(() => page.locator('[data-test=rope]').count(), 0);
    // What the head adds is what the terminal's explanation says.
    const told = JSON.parse(
      program('explain', text, '--model', 'en', '--head', '1.0', '--query', '@6', '--key', '@2', '--json').toString(),
    );
    const output = told.output,
      most = output.reduce((best, x, i) => (Math.abs(x) > Math.abs(output[best]) ? i : best), 0);
    close(Number(await page.getAttribute('[data-test=output]', 'title')), output[most]);
    await soon.match(() => page.textContent('[data-test=output-share]'), /of the layer’s output/);
    const x = npy(join(out, 'decoder_1_q.npy')); // the largest number of q, made from x
    const row = Array.from(x.data.subarray(6 * dim, 7 * dim)).sort((a, b) => Math.abs(b) - Math.abs(a));
    close(Number(await page.getAttribute('[data-test=from-q]', 'title')), row[0]);
    const full = await page.locator('[data-test=dot]').getAttribute('title');
    assert.ok(Math.abs(Number(full) - dot) < 1e-5);
  },

  async 'A7 steps: turned positions are a step of their own'() {
    const page = await open({ at: at('rotary', '&h=1.1&q=6&k=2') });
    await page.waitForSelector('[data-test=rope]');
    await page.waitForSelector('[data-test=output]');
    for (const name of ['q', 'k']) {
      await page.click(`.from-x summary:has-text("${name} = W")`);
      await page.waitForSelector(`[data-test=from-${name}]`);
    }
    await soon.equal(() => page.locator('.tick').count(), 5); // q, k, weights, z, output: turned, and equal to the model's
    await soon.equal(() => page.locator('.cross-mark').count(), 0);
    const out = folder();
    program('show', text, '--model', 'rotary', '--npy', out, '--what', 'q,k');
    const q = npy(join(out, 'decoder_1_q.npy')),
      k = npy(join(out, 'decoder_1_k.npy')),
      [, n, dim] = q.shape;
    let dot = 0; // of the second head, after the rotation
    for (let d = 0; d < dim; ++d) dot += q.data[(n + 6) * dim + d] * k.data[(n + 2) * dim + d];
    const full = Number(await page.locator('[data-test=dot]').getAttribute('title'));
    assert.ok(Math.abs(full - dot) < 1e-5, `${full} and ${dot}`);
  },

  async 'Scores and weighted values are those of the program'() {
    const page = await open({ at: at('en', '&h=1.0&q=') });
    const out = folder();
    program('show', text, '--model', 'en', '--npy', out, '--what', 'v,scores,weights');
    const scores = npy(join(out, 'decoder_1_scores.npy')),
      weights = npy(join(out, 'decoder_1.npy')),
      v = npy(join(out, 'decoder_1_v.npy')),
      n = scores.shape[1],
      dim = v.shape[2];
    const other = async () => Number(await page.getAttribute('[data-test=other]', 'data-value'));
    const table = colors('signedLight'),
      top = Math.max(
        ...Array.from(scores.data.subarray(0, n * n))
          .filter(Number.isFinite)
          .map(Math.abs),
      );
    await page.click('[data-test=mode-scores]');
    await soon.match(() => page.textContent('.pattern .badge'), /derived/);
    await page.waitForSelector('.pattern .badge.derived');
    const cells = [
      [6, 2],
      [9, 4],
      [5, 5],
    ];
    for (const [i, j] of cells) {
      const s = scores.data[i * n + j];
      await page.mouse.move(2, 2);
      await soon.deepEqual(
        async () => (await pixels(page, [[i, j]]))[0].slice(0, 3),
        table[Math.round(255 * (0.5 + (0.5 * s) / top))],
      );
      await hover(page, i, j);
      await soon.ok(async () => Math.abs((await other()) - s) < 1e-4);
    }
    await page.click('[data-test=mode-values]');
    await hover(page, 7, 3);
    let length = 0;
    for (let d = 0; d < dim; ++d) length += v.data[3 * dim + d] ** 2;
    const expected = weights.data[7 * n + 3] * Math.sqrt(length);
    await soon.ok(async () => Math.abs((await other()) - expected) < 1e-4);
  },

  async 'A28 two texts: a border, and parts of the map'() {
    const page = await open({ at: `m=bert&t=${encodeURIComponent('the cat sat')}&h=1.0`, acceptDownloads: true });
    await page.click('[data-test=pair]');
    await page.fill('#second', 'it was too tired');
    await page.press('#second', 'Enter');
    await page.waitForSelector('[data-test=block-AB]');
    const args = ['the cat sat', '--second', 'it was too tired', '--model', 'bert'];
    const map = JSON.parse(program('show', ...args, '--head', '1.0', '--json', '-')).maps[0];
    const border = map.keys.indexOf('[SEP]') + 1,
      count = map.keys.length;
    await soon.deepEqual(
      () => page.locator('.strip-row').evaluateAll((list) => list.map((e) => e.querySelectorAll('.chip').length)),
      [border, count - border],
    );
    const size = () =>
      page
        .locator('[data-test=grid]')
        .evaluate((e) => [Number(e.getAttribute('aria-rowcount')), Number(e.getAttribute('aria-colcount'))]);
    await soon.deepEqual(() => size(), [count, count]);
    for (const [name, top, left, rows, columns] of [
      ['AB', 0, border, border, count - border],
      ['BA', border, 0, count - border, border],
      ['BB', border, border, count - border, count - border],
      ['AA', 0, 0, border, border],
    ]) {
      await page.click(`[data-test=block-${name}]`);
      await soon.deepEqual(() => size(), [rows, columns], name);
      await soon.equal(() => field(page, 'x'), name);
      await hover(page, 1, 2);
      await soon.ok(async () => Math.abs((await value(page)) - map.weights[top + 1][left + 2]) < 1e-6, name);
      const sum = map.weights[top + 1].slice(border).reduce((a, b) => a + b, 0);
      await soon.match(() => page.textContent('[data-test=to-second]'), new RegExp(`to B ${sum.toFixed(3)}`));
      await page.mouse.move(2, 2);
    }
    await page.click('[data-test=block-AB]');
    // Share writes the same part.
    await page.click('[data-test=share]');
    const command = await page.textContent('[data-test=command]');
    assert.match(command, new RegExp(`--second 'it was too tired'.*--from 0:${border} --to ${border}:${count}`));
    await closeDialog(page);
    const file = join(folder(), 'part.png');
    program('show', ...args, '--head', '1.0', '--from', `0:${border}`, '--to', `${border}:${count}`, '--png', file);
    await page.click('[data-test=export]');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('[data-test=export-png]')]);
    await soon.ok(async () => readFileSync(file).equals(readFileSync(await download.path())));
    await closeDialog(page);
    const link = page.url(),
      other = await page.context().newPage();
    await other.goto(link);
    await other.waitForSelector('html[data-state=ready]');
    await soon.equal(() => other.inputValue('#second'), 'it was too tired');
    assert.equal(other.url(), link);
    await page.click('[data-test=pair]');
    await page.waitForSelector('[data-test=block-AB]', { state: 'detached' });
  },

  async 'A22 lines are the links that hold most of the weight'() {
    const page = await open({ at: at('bert', '&h=1.1&q=&f=lines') });
    const ref = npy(join(weightsOf('bert'), 'encoder_1.npy')),
      [, rows, columns] = ref.shape;
    let expected = 0;
    for (let i = 0; i < rows; ++i) {
      const row = Array.from(ref.data.subarray((rows + i) * columns, (rows + i + 1) * columns)).sort((a, b) => b - a),
        all = row.reduce((a, b) => a + b, 0);
      for (let j = 0, sum = 0; j < columns && sum < 0.9 * all; ++j) {
        sum += row[j];
        ++expected;
      }
    }
    const found = Number(await page.getAttribute('[data-test=lines]', 'data-links'));
    assert.equal(found, expected);
    assert.ok(found <= 2000);
    await page.click('.lines .from button >> nth=3');
    await soon.equal(() => field(page, 'q'), '3');
  },

  async 'A29 writing appends rows that a full run has too'() {
    const page = await open({ at: 'm=en&t=the%20cat&h=0.1' });
    const rows = () => page.getAttribute('[data-test=grid]', 'aria-rowcount').then(Number);
    const before = await rows();
    for (let i = 1; i <= 3; ++i) {
      await page.click('text=Write one token');
      await page.waitForSelector(`[data-test=grid][aria-rowcount="${before + i}"]`);
    }
    const written = async () => (await field(page, 'g')).split(',').map(Number);
    await soon.equal(async () => (await written()).length, 3);
    const more = await written();
    const ids = JSON.parse(program('show', 'the cat', '--model', 'en', '--head', '0.0', '--json', '-'))
      .tokens.map((t) => t.id)
      .concat(more);
    const full = JSON.parse(
      program('show', '--ids', ids.join(','), '--model', 'en', '--head', '0.1', '--json', '-'),
    ).maps[0].weights.at(-1);
    const last = before + 2;
    for (let j = 0; j <= last; j += 2) {
      await hover(page, last, j);
      await soon.ok(async () => Math.abs((await value(page)) - full[j]) < 1e-5);
    }
  },

  async 'A28 cross: as many rows as written, as many columns as read'() {
    const page = await open({ at: at('en-fr') });
    await page.click('[data-test=part-cross]');
    await page.waitForSelector('html[data-state=ready]');
    const map = JSON.parse(program('show', text, '--model', 'en-fr', '--part', 'cross', '--head', '1.1', '--json', '-'))
      .maps[0];
    await soon.equal(
      async () => Number(await page.getAttribute('[data-test=grid]', 'aria-rowcount')),
      map.queries.length,
    );
    await soon.equal(async () => Number(await page.getAttribute('[data-test=grid]', 'aria-colcount')), map.keys.length);
    const names = await page.locator('.labels.columns .label').allTextContents();
    let next = 0; // where cells are small, every other word has a label
    for (const name of names) {
      next = map.keys.indexOf(name.trim(), next) + 1;
      assert.ok(next > 0, name);
    }
    await page.focus('[data-test=atlas]');
    for (const key of ['Home', 'PageUp', 'ArrowRight', 'PageDown']) await page.keyboard.press(key);
    await hover(page, 1, 2);
    await soon.ok(async () => Math.abs((await value(page)) - map.weights[1][2]) < 1e-6);
    for (const part of ['decoder', 'encoder']) {
      await page.click(`[data-test=part-${part}]`);
      await page.waitForSelector('html[data-state=ready]');
    }
  },

  async 'A25 exports are the command line’s bytes'() {
    const page = await open({ at: at('en-fr', '&h=1.1'), acceptDownloads: true });
    const out = folder();
    for (const format of ['png', 'svg', 'pdf']) {
      program(
        'show',
        text,
        '--model',
        'en-fr',
        '--part',
        'encoder',
        '--head',
        '1.1',
        `--${format}`,
        join(out, `x.${format}`),
      );
      assert.ok(readFileSync(join(out, `x.${format}`)).equals(await saved(page, format)), format);
    }
    const svg = (await saved(page, 'svg')).toString();
    assert.match(svg, /<text[^>]*>[^<]*cat/);
    await page.evaluate((source) => {
      if (new DOMParser().parseFromString(source, 'image/svg+xml').querySelector('parsererror'))
        throw new Error('no XML');
    }, svg);
    const array = npy(await saved(page, 'npy')),
      whole = npy(join(weightsOf('en-fr'), 'encoder_1.npy')),
      n = array.shape[0] * array.shape[1];
    assert.deepEqual(Array.from(array.data), Array.from(whole.data.subarray(n, 2 * n)));
    assert.equal(JSON.parse((await saved(page, 'json')).toString()).maps[0].head, 1);
    // Share says how to write the same picture; a shell does it.
    assert.ok((await shared(page)).bytes.equals(readFileSync(join(out, 'x.png'))));
    await page.click('[data-test=share]');
    await soon.doesNotMatch(() => page.textContent('[data-test=link]'), /token/);
  },
};

// The colours inside each cell of the map, sorted; what anti-aliasing mixes counts as the line it belongs to.
function cellColors(page) {
  return page.evaluate(() => {
    const canvas = document.querySelector('[data-test=map]'),
      grid = document.querySelector('[data-test=grid]');
    const n = Number(grid.getAttribute('aria-rowcount')),
      context = canvas.getContext('2d'),
      width = canvas.width / n,
      height = canvas.height / n;
    return Array.from({ length: n }, (_, i) =>
      Array.from({ length: n }, (_, j) => {
        const { data } = context.getImageData(
          Math.ceil(j * width) + 1,
          Math.ceil(i * height) + 1,
          Math.floor(width) - 3,
          Math.floor(height) - 3,
        );
        const found = new Set();
        for (let p = 0; p < data.length; p += 4) found.add(data[p + 3] === 0 ? 'clear' : data.slice(p, p + 4).join());
        return [...found].sort();
      }),
    );
  });
}

function weightsOf(model) {
  const out = folder();
  program('show', text, '--model', model, '--npy', out);
  return out;
}
