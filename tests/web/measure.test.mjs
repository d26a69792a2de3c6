// What tools/measure-page prints. Nothing is asked for here: figures depend on the machine, and ./test skips them.
import { cpus } from 'node:os';
import { inPage, open, serve, theBrowser } from './pages.mjs';

const words = ['the', 'cat', 'sat', 'on', 'mat', 'because', 'it', 'was', 'too', 'the'];
const textOf = (count) => Array.from({ length: count }, (_, i) => words[(i * 7) % 10]).join(' ');
const median = (list) => {
  const known = list.filter((x) => !Number.isNaN(x)).sort((a, b) => a - b);
  return known[known.length >> 1];
};

// From the key to the frame in which the map of the other head is drawn.
const change = (page, key) =>
  page.evaluate(async (k) => {
    // A few of its rows: reading all of a large canvas in every frame would be what is measured.
    const pixels = () => {
      const map = document.querySelector('[data-test=map]');
      if (!map) return 0;
      let sum = 7;
      for (let i = 1; i < 6; ++i) {
        const { data } = map.getContext('2d').getImageData(0, Math.floor((i * map.height) / 6), map.width, 1);
        for (let at = 0; at < data.length; at += 4) sum = (sum * 31 + data[at]) | 0;
      }
      return sum;
    };
    const before = pixels(),
      from = performance.now();
    document.querySelector('[data-test=grid]').dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true }));
    for (;;) {
      await new Promise((done) => requestAnimationFrame(done));
      const spent = performance.now() - from;
      if (spent > 2000) return NaN; // this head looks like the one before
      if (pixels() !== before) return spent;
    }
  }, key);
// What a tab takes: objects, what the browser keeps for them, and arrays.
async function memory(page) {
  const session = await page.context().newCDPSession(page);
  for (let i = 0; i < 3; ++i) {
    await session.send('HeapProfiler.collectGarbage');
    await page.waitForTimeout(300);
  }
  const { usedSize, embedderHeapUsedSize, backingStorageSize } = await session.send('Runtime.getHeapUsage');
  const { nodes } = await session.send('Memory.getDOMCounters');
  return `${((usedSize + embedderHeapUsedSize + backingStorageSize) / 1e6).toFixed(0)} MB, ${nodes} nodes`;
}
// Seven heads that nobody has looked at, and the same ones back; then all of them.
async function measure(model, count) {
  const server = await serve(['--model', model, '--threads', '2']),
    page = await open({ server, at: 'h=0.0&q=5&t=' + encodeURIComponent(textOf(count)) });
  await inPage(page, () => Boolean(document.querySelector('[data-test=map]')));
  await page.waitForTimeout(1500);
  await page.locator('[data-test=grid]').focus();
  const fresh = [],
    cached = [];
  for (let i = 0; i < 7; ++i) fresh.push(await change(page, ']'));
  for (let i = 0; i < 7; ++i) cached.push(await change(page, '['));
  const said = `${count} words: a head's map after ${median(fresh).toFixed(0)} ms new, ${median(cached).toFixed(0)} ms cached`;
  const heads = await page.evaluate(() =>
    document.querySelector('.heads header').textContent.match(/\d+/g).map(Number),
  );
  const all = heads[0] * heads[1];
  // One after the other, each until it is drawn, with nothing here that would keep an element of the page alive.
  for (let i = 0; i < all; ++i) {
    const name = `Layer ${Math.floor(i / heads[1])} · head ${i % heads[1]}`;
    if (i > 0) await page.keyboard.press(']');
    await inPage(
      page,
      (title) =>
        document.querySelector('#pattern-title').textContent === title &&
        Boolean(document.querySelector('[data-test=map]')),
      name,
    );
  }
  await page.waitForTimeout(1000);
  return `${said}; ${await memory(page)} after all ${all} heads`;
}

// One run from the page: the first map, maps a second, and steps a second between the first map and the last before the end,
// which the page may learn of some time later. Listens to the page's changes instead of looking at every frame, which would
// itself keep a core busy.
const watch = (page) =>
  page.evaluate(async () => {
    const last = () => [...document.querySelectorAll('[data-test=run-view]')].at(-1);
    const step = () => Number(last().querySelector('[data-test=run-numbers] b').textContent);
    const from = performance.now(),
      old = last(),
      maps = [];
    await new Promise((done) => {
      new MutationObserver((_, observer) => {
        if (last() === old || !last().querySelector('.head-map:not(:disabled) canvas')) return;
        if (last().dataset.state !== 'finished') return maps.push({ time: performance.now(), step: step() });
        observer.disconnect();
        done();
      }).observe(document.body, { subtree: true, childList: true, attributeFilter: ['data-frames', 'data-state'] });
      document.querySelector('[data-test=start]').click();
    });
    const seconds = (maps.at(-1).time - maps[0].time) / 1000;
    return {
      first: maps[0].time - from,
      maps: (maps.length - 1) / seconds,
      rate: (maps.at(-1).step - maps[0].step) / seconds,
    };
  });
// The same run when nobody asks for frames: only the time inside training steps counts.
const leave = (page, settings) =>
  page.evaluate(async (wanted) => {
    const json = { method: 'POST', headers: { 'Content-Type': 'application/json' } };
    const { id } = await (await fetch('/api/v1/train', { ...json, body: JSON.stringify(wanted) })).json();
    for (;;) {
      await new Promise((done) => setTimeout(done, 1000));
      const run = (await (await fetch('/api/v1/train')).json()).runs.find((r) => r.id === id);
      if (run.state !== 'running') return run.step / run.seconds;
    }
  }, settings);

// The playground's budgets, with 2 layers of 4 heads: the first map, maps a second, and the share of its speed that training
// keeps while a page draws it. Five pairs of runs: other work on the machine changes single ones.
async function measureTraining(steps) {
  const server = await serve(['--model', 'en', '--threads', '2']);
  const page = await open({ server, at: 'train' });
  const settings = { layers: 2, heads: 4, width: 32, steps };
  const seen = [],
    shares = [];
  for (let pair = 0; pair < 5; ++pair) {
    const alone = await leave(page, settings);
    await page.reload();
    await page.waitForSelector('[data-test=run-view]'); // the run before, with its map
    await page.waitForSelector('[data-test=start]:not([disabled])');
    for (const [name, value] of Object.entries(settings))
      await page.fill(`label:has-text("${name[0].toUpperCase() + name.slice(1)}") input`, String(value));
    seen.push(await watch(page));
    shares.push((100 * seen.at(-1).rate) / alone);
  }
  await page.close();
  await server.stop();
  const middle = (name) => median(seen.map((x) => x[name]));
  return (
    `${steps} steps: first map after ${middle('first').toFixed(0)} ms, ${middle('maps').toFixed(1)} maps a second, ` +
    `${middle('rate').toFixed(0)} steps a second watched; share of the speed without watching: ` +
    `${shares.map((x) => x.toFixed(0)).join(', ')} %, median ${median(shares).toFixed(0)} %`
  );
}

export default process.env.HEADLIGHT_MEASURE
  ? {
      'Measure playground, a short run': () => measureTraining(1500),
      'Measure playground, a long run': () => measureTraining(5000),
      'Measure 1,018 tokens': () => measure('every', 1018),
      'Measure 4,096 tokens': () => measure('every', 4096),
      'Measure first pixels of 4,096 tokens': async () => {
        const times = [];
        for (let i = 0; i < 5; ++i) {
          const page = await open({ at: 'm=longer' });
          await page.fill('#text', textOf(4094 - i));
          const from = Date.now();
          await page.keyboard.press('Enter');
          await page.waitForSelector('[data-test=minimap]');
          await page.waitForSelector('[data-test=map]');
          times.push(Date.now() - from);
          await page.close();
        }
        return `${median(times)} ms from Enter, median of ${times.join(', ')}; ${cpus()[0].model}, Chromium ${theBrowser().version()}`;
      },
    }
  : {};
