// What tools/measure-page prints. Nothing is asked for here: figures depend on the machine, and ./test skips them.
import { cpus } from 'node:os';
import { open, serve, theBrowser } from './pages.mjs';

const words = ['the', 'cat', 'sat', 'on', 'mat', 'because', 'it', 'was', 'too', 'the'];
const textOf = (count) => Array.from({ length: count }, (_, i) => words[(i * 7) % 10]).join(' ');
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

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
      if (spent > 20000 || pixels() !== before) return spent;
    }
  }, key);
async function memory(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const buffers = await session.send('Memory.getDOMCounters').catch(() => null);
  return `${(usedSize / 1e6).toFixed(0)} MB of heap${buffers ? `, ${buffers.nodes} nodes` : ''}`;
}
async function measure(model, count) {
  const page = await open({ at: `m=${model}&h=0.0&t=` + encodeURIComponent(textOf(count)) });
  await page.waitForSelector('[data-test=map]');
  await page.waitForTimeout(1500);
  await page.locator('[data-test=grid]').focus();
  const fresh = [],
    cached = [];
  for (let i = 0; i < 3; ++i) fresh.push(await change(page, ']'));
  for (let i = 0; i < 3; ++i) cached.push(await change(page, '['));
  return `head change at ${count} tokens: ${median(fresh).toFixed(0)} ms new, ${median(cached).toFixed(0)} ms cached; ${await memory(page)}`;
}

// The playground's budgets, with 2 layers of 4 heads: the first map, maps a second, and the share of its speed that training
// keeps while a page draws it. Unwatched, nobody asks for frames and only the time inside training steps counts.
async function measureTraining() {
  const server = await serve(['--model', 'en', '--threads', '2']);
  const page = await open({ server, at: 'train' });
  await page.waitForSelector('[data-test=start]');
  const settings = { layers: 2, heads: 4, width: 32, steps: 5000 };
  const unwatched = await page.evaluate(async (wanted) => {
    const json = { method: 'POST', headers: { 'Content-Type': 'application/json' } };
    const { id } = await (await fetch('/api/v1/train', { ...json, body: JSON.stringify(wanted) })).json();
    for (;;) {
      await new Promise((done) => setTimeout(done, 2000));
      const run = (await (await fetch('/api/v1/train')).json()).runs.find((r) => r.id === id);
      if (run.state !== 'running') return run.step / run.seconds;
    }
  }, settings);
  await page.reload();
  await page.waitForSelector('[data-test=start]:not([disabled])');
  for (const [name, value] of Object.entries(settings))
    await page.fill(`label:has-text("${name[0].toUpperCase() + name.slice(1)}") input`, String(value));
  const seen = await page.evaluate(async () => {
    const maps = () => {
      const last = [...document.querySelectorAll('[data-test=run-view]')].at(-1);
      const canvas = last?.querySelector('.head-map:not(:disabled) canvas');
      return canvas ? canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.join() : '';
    };
    const old = maps(),
      from = performance.now();
    document.querySelector('[data-test=start]').click();
    let first = 0,
      pictures = 0,
      last = old;
    for (;;) {
      await new Promise((done) => requestAnimationFrame(done));
      const now = maps();
      if (now !== last) {
        if (!first) first = performance.now() - from;
        ++pictures;
        last = now;
      }
      const views = [...document.querySelectorAll('[data-test=run-view]')];
      if (first && views.at(-1)?.dataset.state === 'finished') break;
    }
    const seconds = (performance.now() - from) / 1000;
    return { first, seconds, pictures };
  });
  await page.close();
  await server.stop();
  const watched = settings.steps / seen.seconds;
  return (
    `first map after ${seen.first.toFixed(0)} ms, ${(seen.pictures / seen.seconds).toFixed(1)} maps a second, ` +
    `${watched.toFixed(0)} steps a second watched, ${unwatched.toFixed(0)} unwatched: ${((100 * watched) / unwatched).toFixed(0)} %`
  );
}

export default process.env.HEADLIGHT_MEASURE
  ? {
      'Measure playground': measureTraining,
      'Measure 1,000 tokens': () => measure('long', 1000),
      'Measure 4,000 tokens': () => measure('longer', 4000),
      'Measure first pixels of 4,000 tokens': async () => {
        const page = await open({ at: 'm=longer' }),
          text = textOf(4000);
        await page.fill('#text', text);
        const from = Date.now();
        await page.keyboard.press('Enter');
        await page.waitForSelector('[data-test=minimap]', { timeout: 60000 });
        await page.waitForSelector('[data-test=map]');
        return `${Date.now() - from} ms from Enter, ${cpus()[0].model}, Chromium ${theBrowser().version()}`;
      },
    }
  : {};
