// What tools/measure-page prints. Nothing is asked for here: figures depend on the machine, and ./test skips them.
import { cpus } from 'node:os';
import { open, theBrowser } from './pages.mjs';

const words = ['the', 'cat', 'sat', 'on', 'mat', 'because', 'it', 'was', 'too', 'the'];
const textOf = (count) => Array.from({ length: count }, (_, i) => words[(i * 7) % 10]).join(' ');
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

// From the key to the frame in which the map of the other head is drawn.
const change = (page, key) =>
  page.evaluate(async (k) => {
    const pixels = () => {
      const map = document.querySelector('[data-test=map]');
      return map
        ? map
            .getContext('2d')
            .getImageData(0, 0, map.width, map.height)
            .data.reduce((s, x, i) => (s * 31 + x * (i & 255)) | 0, 7)
        : 0;
    };
    const before = pixels(),
      from = performance.now();
    dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true }));
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

export default process.env.HEADLIGHT_MEASURE
  ? {
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
