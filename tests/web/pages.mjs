// A server, a browser, and pages that watch themselves.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const { MODULES, PROGRAM, WORK, BROWSER, SOURCE, PAGE, NUMBERS } = process.env;
// Milliseconds that a check may take to come true: many, since machines are slow and busy; PATIENCE is shorter where tests
// are expected to fail.
export const patience = Number(process.env.PATIENCE ?? 45000);
export const require = createRequire(join(MODULES, 'x.js'));
const { chromium } = require('playwright-core');

let browser, served;
const contexts = [],
  complaints = [],
  running = new Set(); // servers; none outlives the tests, however they end
process.on('exit', () => running.forEach((server) => server.child.kill('SIGKILL')));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

export async function serve(args, environment = {}) {
  const child = spawn(PROGRAM, ['serve', '--no-open', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  let out = '',
    err = '';
  child.stderr.on('data', (data) => {
    err += data;
  });
  const link = await new Promise((found, lost) => {
    child.stdout.on('data', (data) => {
      out += data;
      const m = /http:\S+/.exec(out);
      if (m) found(m[0]);
    });
    child.on('exit', (code) => lost(new Error(`serve ended with ${code}: ${err}`)));
  });
  const server = {
    child,
    link,
    origin: new URL(link).origin,
    stop: () =>
      new Promise((done) => {
        running.delete(server);
        child.removeAllListeners('exit');
        child.on('exit', (code) => done(code));
        child.kill('SIGTERM');
      }),
  };
  running.add(server);
  return server;
}

// A browser that limits how often a page changes its address; the one that most tests share does not.
export const launched = (options = { ignoreDefaultArgs: ['--disable-ipc-flooding-protection'] }) =>
  chromium.launch({
    executablePath: BROWSER,
    args: ['--no-sandbox', '--disable-3d-apis', '--disable-dev-shm-usage'],
    ...options,
  });
export async function launch() {
  browser = await launched({});
  return browser;
}
export async function start() {
  const names = ['en', 'bert', 'en-fr', 'many', 'long', 'longer', 'rotary'];
  served = await serve([...names.flatMap((name) => ['--model', name]), '--threads', '2']);
  await launch();
}
export async function close() {
  await browser.close();
  assert.equal(await served.stop(), 143);
}
export const main = () => served;
export const theBrowser = () => browser;

// Options: at, server, url, errors (console errors are expected), and those of a browser context.
export async function open({
  at = '',
  server = served,
  url,
  errors = false,
  wait = 'ready',
  browser: own = browser,
  ...options
} = {}) {
  const context = await own.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  contexts.push(context);
  context.setDefaultTimeout(2 * patience);
  const page = await context.newPage();
  page.requests = [];
  const origin = url ? new URL(url).origin : server.origin;
  page.on('console', (message) => {
    if (!errors && ['error', 'warning'].includes(message.type()) && !message.text().includes('willReadFrequently'))
      complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`thrown: ${error.stack}`));
  page.on('request', (request) => {
    page.requests.push(request);
    const to = new URL(request.url());
    if (!['data:', 'blob:', 'about:', 'file:'].includes(to.protocol) && to.origin !== origin)
      complaints.push(`asked ${request.url()}`);
  });
  if (PAGE && !url) {
    // a page that is not in the program yet
    const html = readFileSync(PAGE, 'utf8'),
      policy = /Security-Policy" content="([^"]+)"/.exec(html)[1];
    await context.route(
      (to) => to.pathname === '/',
      (route) =>
        route.fulfill({
          body: html,
          contentType: 'text/html; charset=utf-8',
          headers: { 'Content-Security-Policy': policy },
        }),
    );
  }
  await page.goto(url ?? server.link + (at ? '&' + at : ''));
  if (wait) await page.waitForSelector(`html[data-state=${wait}]`, { timeout: 2 * Math.max(patience, 45000) });
  return page;
}
export async function closePages() {
  for (const context of contexts.splice(0)) await context.close();
  const list = complaints.splice(0);
  assert.deepEqual(list, []);
}
export async function finish() {
  for (const server of running) if (server !== served) await server.stop(); // of a test that failed
  await closePages();
}

export function program(...args) {
  return execFileSync(PROGRAM, args, { stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28 });
}
export const folder = () => mkdtempSync(join(WORK, 'x-'));

export function npy(path) {
  const bytes = typeof path === 'string' ? readFileSync(path) : path;
  const length = bytes.readUInt16LE(8),
    header = bytes.subarray(10, 10 + length).toString();
  const shape = /'shape': \(([^)]*)\)/
    .exec(header)[1]
    .split(',')
    .filter((x) => x.trim())
    .map(Number);
  assert.match(header, /'<f4'/);
  const data = new Float32Array(bytes.buffer.slice(bytes.byteOffset + 10 + length, bytes.byteOffset + bytes.length));
  return { shape, data };
}

// One head's weights as the program writes them: at(query, key).
export function headWeights(text, model, part, layer, head) {
  const out = folder();
  program('show', text, '--model', model, '--npy', out, '--what', 'weights');
  const { shape, data } = npy(join(out, `${part}_${layer}.npy`)),
    n = shape[2];
  return { n, at: (i, j) => data[(head * shape[1] + i) * n + j] };
}

// Weights of all heads in float64, from the program's q and k: a softmax written down once more.
export function reference(args, part, layer, { causal }) {
  const out = folder();
  program('show', ...args, '--npy', out, '--what', 'q,k,weights');
  const q = npy(join(out, `${part}_${layer}_q.npy`)),
    k = npy(join(out, `${part}_${layer}_k.npy`));
  const [heads, rows, dim] = q.shape,
    [kvHeads, columns] = k.shape;
  return {
    heads,
    rows,
    columns,
    at(head, i, j) {
      const kv = Math.floor((head * kvHeads) / heads);
      const score = (c) => {
        let x = 0;
        for (let d = 0; d < dim; ++d) x += q.data[(head * rows + i) * dim + d] * k.data[(kv * columns + c) * dim + d];
        return x / Math.sqrt(dim);
      };
      const last = causal ? i : columns - 1;
      if (j > last) return NaN;
      let sum = 0;
      for (let c = 0; c <= last; ++c) sum += Math.exp(score(c) - score(j));
      return 1 / sum;
    },
  };
}

// A page answers a click, a tap or a key when it can: a check is repeated until it throws nothing, or for too long.
export async function until(check, milliseconds = patience) {
  for (const end = Date.now() + milliseconds; ; await new Promise((done) => setTimeout(done, 30))) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}
// assert's functions for a value that is read until it is as expected: await soon.equal(() => field(page, 'h'), '1.1').
export const soon = Object.fromEntries(
  ['equal', 'notEqual', 'deepEqual', 'notDeepEqual', 'match', 'doesNotMatch', 'ok'].map((name) => [
    name,
    (read, ...expected) => until(async () => assert[name](await read(), ...expected)),
  ]),
);
// Until a function is true inside the page. Its policy forbids eval, which Playwright's waitForFunction needs.
export const inPage = (page, test, argument) =>
  soon.ok(() => page.evaluate(test, argument), `never true: ${test}, ${argument}, at ${page.url()}`);

// A dialog hears keys only once it is open, and gives the page back only once it is gone.
export async function closeDialog(page) {
  await page.waitForSelector('dialog[open]');
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
}
export const hash = (page) => page.evaluate(() => location.hash.slice(1));
// Where something is, once it has stopped moving: a panel that was just opened is laid out, then drawn.
export async function settled(locator) {
  for (let last = ''; ; ) {
    const box = await locator.boundingBox(),
      now = JSON.stringify(box);
    if (box && now === last) return box;
    last = now;
    await new Promise((done) => setTimeout(done, 150));
    await locator.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))); // on a busy machine
  }
}

export const field = async (page, name) => new URLSearchParams(await hash(page)).get(name);

// Where the middle of a cell is on the screen.
export async function cellPoint(page, row, column) {
  return page.evaluate(
    ([i, j]) => {
      const grid = document.querySelector('[data-test=grid]'),
        map = document.querySelector('[data-test=map]').getBoundingClientRect();
      return {
        x: map.left + ((j + 0.5) * map.width) / Number(grid.getAttribute('aria-colcount')),
        y: map.top + ((i + 0.5) * map.height) / Number(grid.getAttribute('aria-rowcount')),
      };
    },
    [row, column],
  );
}
export async function hover(page, row, column) {
  const { x, y } = await cellPoint(page, row, column);
  await page.mouse.move(x, y);
}
export const value = async (page) => Number(await page.getAttribute('[data-test=value]', 'data-value'));

// What Export saves, and what the command that Share shows writes.
export async function saved(page, format) {
  await page.click('[data-test=export]');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(`[data-test=export-${format}]`)]);
  await closeDialog(page);
  return readFileSync(await download.path());
}
export async function shared(page) {
  await page.click('[data-test=share]');
  const command = await page.textContent('[data-test=command]'),
    out = folder();
  await closeDialog(page);
  execFileSync('sh', ['-c', `headlight() { "${PROGRAM}" "$@"; }; ${command}`], { cwd: out, stdio: 'pipe' });
  return { command, bytes: readFileSync(join(out, 'figure.png')) };
}

// The colour of the middles of cells, as the canvas has them.
export const pixels = (page, cells) =>
  page.evaluate((list) => {
    const canvas = document.querySelector('[data-test=map]'),
      grid = document.querySelector('[data-test=grid]');
    const rows = Number(grid.getAttribute('aria-rowcount')),
      columns = Number(grid.getAttribute('aria-colcount')),
      context = canvas.getContext('2d');
    return list.map(([i, j]) =>
      Array.from(
        context.getImageData(
          Math.floor(((j + 0.5) * canvas.width) / columns),
          Math.floor(((i + 0.5) * canvas.height) / rows),
          1,
          1,
        ).data,
      ),
    );
  }, cells);

const tableText = readFileSync(join(SOURCE, 'web/src/tables.ts'), 'utf8');
export function colors(name) {
  const steps = new RegExp(`${name} =\\s*'([0-9a-z]+)'`).exec(tableText)[1],
    list = [[0, 2, 4].map((c) => parseInt(steps.slice(c, c + 2), 16))];
  for (let i = 1; i < 256; ++i)
    list.push(list[i - 1].map((v, c) => v + steps.charCodeAt(5 + 255 * c + i) - 'm'.charCodeAt(0)));
  return list;
}
export function place(w, scale, top = 1) {
  w /= top;
  const y = scale === 'sqrt' ? Math.sqrt(w) : scale === 'log' ? (w <= 1e-4 ? 0 : 1 - Math.log10(w) / -4) : w;
  return Math.round(255 * Math.min(1, y));
}
