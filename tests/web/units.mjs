// Unit tests of the page's modules that know nothing of the page.
//   node tests/web/units.mjs NODE_MODULES
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const source = join(dirname(fileURLToPath(import.meta.url)), '../../web/src');
const esbuild = createRequire(join(resolve(process.argv[2]), 'x.js'))('esbuild');
const built = mkdtempSync(join(tmpdir(), 'units-'));
process.on('exit', () => rmSync(built, { recursive: true, force: true }));
const names = [
  'address',
  'align',
  'arithmetic',
  'byte_cache',
  'checkpoints',
  'collapse',
  'counterpart',
  'format',
  'grown',
  'links',
  'plan',
  'query',
  'tiles',
  'tokens',
  'words',
];
await esbuild.build({
  entryPoints: names.map((name) => join(source, `${name}.ts`)),
  outdir: built,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  format: 'esm',
  logLevel: 'error',
});
const load = (name) => import(pathToFileURL(join(built, `${name}.mjs`)));
const { parseAddress, writeAddress } = await load('address');
const { align, difference, distance, placed } = await load('align');
const { stepsOf, unturned } = await load('arithmetic');
const { ByteCache } = await load('byte_cache');
const { checkpointsOf, runOf } = await load('checkpoints');
const { grown } = await load('grown');
const { counterpart } = await load('counterpart');
const { clipped, digits, share, shown, small, weight } = await load('format');
const { endsOf, howJoined, isFar, linkChance, linkScore, linkWeight, seen } = await load('links');
const { cut, parsePlan, planText, toggled } = await load('plan');
const { parseQuery, passes } = await load('query');
const { collapsed } = await load('collapse');
const { copyTile, fitLevel, tilesOf, tokensOf, windowAt } = await load('tiles');
const { directionOf, leftToRight, readable } = await load('tokens');
const { columnsOf, cropped, joined, renormalised } = await load('words');

const near = (a, b, e = 1e-9) => assert.ok(Math.abs(a - b) <= e, `${a} is not ${b}`);

test('addresses: what is written is read again', () => {
  const full = {
    model: 'a/b c',
    text: 'x=1&y, “ü” 100%\nline',
    second: 'B',
    target: 'T',
    more: [3, 14],
    temperature: 0.7,
    top_k: 5,
    seed: 9,
    part: 'cross',
    place: { layer: 11, head: 3 },
    queries: [1, 2],
    keys: [4],
    block: 'AB',
    mode: 'scores',
    depth: 'learner',
    scale: 'log',
    theme: 'dark',
    palette: 'magma',
    autoRange: true,
    order: 'focus',
    muted: 'special',
    renormalise: true,
    words: true,
    linkMap: true,
    plan: { part: 'cross', change: 'zero', heads: [{ layer: 1, head: 0 }], factor: 0.5, links: [] },
    solo: true,
    lines: true,
    overlay: [
      { layer: 2, head: 1 },
      { layer: 0, head: 3 },
    ],
    derived: 'mean',
    compared: 't:other, text',
    views: undefined,
    eye: undefined,
  };
  assert.deepEqual(parseAddress(writeAddress(full)), full);
  assert.equal(parseAddress('q=1&e=softmax').eye, 'softmax'); // read, never written
});
test('addresses: a list of views leaves out what they share with it', () => {
  const here = { model: 'm', text: 'a, b & c', place: { layer: 0, head: 1 }, queries: [] },
    views = [
      writeAddress({ ...here, place: { layer: 1, head: 0 } }),
      writeAddress({ ...here, text: 'another', queries: [3] }),
    ],
    hash = writeAddress({ ...here, views });
  assert.deepEqual(parseAddress(hash).views, views);
  assert.equal(hash.match(/another/g).length, 1);
  assert.equal(hash.match(/t=a/g).length, 1); // once, not once for each view
  assert.match(hash, /^[\w.~%=&,-]+$/); // what --at takes
  assert.deepEqual(parseAddress('l=%E0%A4%A').views, undefined);
});

test('tiles: levels, windows, and what is copied', () => {
  assert.deepEqual([fitLevel(512, 512), fitLevel(513, 10), fitLevel(4096, 4096), fitLevel(4097, 1)], [0, 1, 3, 4]);
  const all = windowAt(0, 0, 0, 4000, 3000);
  assert.deepEqual(all, { level: 3, row: 0, column: 0, rows: 500, columns: 375 });
  assert.deepEqual(tilesOf(all), [{ level: 3, i: 0, j: 0 }]);
  const end = windowAt(3, 9999, -5, 4000, 3000); // stays inside
  assert.deepEqual(end, { level: 0, row: 3488, column: 0, rows: 512, columns: 512 });
  assert.deepEqual(
    tilesOf(end).map((t) => [t.i, t.j]),
    [
      [6, 0],
      [7, 0],
    ],
  );
  assert.deepEqual(tokensOf(7, 0, 4000), [3584, 4000]);
  const close = windowAt(7, 10, 10, 4000, 3000);
  assert.deepEqual([close.level, close.rows], [0, 32]);
  // Every cell of a window comes from the tile that has it.
  const w = windowAt(3, 300, 700, 1300, 1400),
    out = new Float32Array(w.rows * w.columns).fill(NaN);
  for (const t of tilesOf(w)) {
    const [r0, r1] = tokensOf(t.i, t.level, 1300),
      [c0, c1] = tokensOf(t.j, t.level, 1400),
      size = 2 ** t.level,
      columns = Math.ceil((c1 - c0) / size),
      values = new Float32Array(Math.ceil((r1 - r0) / size) * columns);
    values.forEach((_, i) => (values[i] = (r0 / size + Math.floor(i / columns)) * 10000 + c0 / size + (i % columns)));
    copyTile(out, w, t, values, 1300, 1400);
  }
  out.forEach((x, i) => assert.equal(x, (w.row + Math.floor(i / w.columns)) * 10000 + w.column + (i % w.columns)));
});

test('long lists: gaps between what is near', () => {
  const list = collapsed(1000, [500, -1, 2000], 10);
  assert.deepEqual(list, [
    { from: 0, end: 11, hidden: false },
    { from: 11, end: 490, hidden: true },
    { from: 490, end: 511, hidden: false },
    { from: 511, end: 989, hidden: true },
    { from: 989, end: 1000, hidden: false },
  ]);
  assert.equal(collapsed(30, [], 14).length, 1); // a gap of a few is no gap
});
test('addresses: nonsense is left out', () => {
  const a = parseAddress('h=x.1&q=1,-2,3.5,z,7&m=%E0%A4%A&p=nowhere&te=-1&=5&s=log&&');
  assert.deepEqual(
    [a.place, a.model, a.part, a.temperature, a.scale],
    [undefined, undefined, undefined, undefined, 'log'],
  );
  assert.deepEqual(a.queries, [1, 7]);
  assert.deepEqual(parseAddress('q=').queries, []);
  assert.equal(parseAddress('').queries, undefined);
});

test('numbers as text', () => {
  assert.deepEqual([digits(-0.5), digits(1e-5, 2), digits(NaN), digits(-Infinity)], ['−0.5000', '1.0e−5', '–', '−∞']);
  assert.deepEqual([weight(0), weight(1), weight(0.12345), weight(0.00001)], ['0', '1.000', '0.123', '1.0e−5']);
  assert.deepEqual([share(0.996), share(0.5), share(0.0123)], ['0.996', '0.50', '0.012']);
  assert.deepEqual([small(1), small(0.25), small(1e-6), small(0)], ['1', '.250', '<.001', '0']);
  assert.deepEqual(
    [shown(' cat'), shown('Ġcat'), shown(' '), shown(''), shown('\n'), shown('\t')],
    ['cat', 'cat', '␣', '∅', '⏎', '⇥'],
  );
  assert.equal(clipped('🐈🐈🐈🐈', 3), '🐈🐈…');
});

test('links: weight, chance, score', () => {
  const map = Float32Array.from([1, NaN, NaN, 0.25, 0.75, NaN, 0.5, 0.25, 0.25]);
  assert.equal(seen(map, 1, 3), 2);
  near(linkWeight(map, [1, 2], [0, 1], 3), (1 + 0.75) / 2);
  near(linkChance(map, [1, 2], [0, 1], 3), (1 + 2 / 3) / 2);
  assert.equal(linkChance(map, [0], [2], 3), 0);
  near(linkScore(0.8, 0.1), 0.8 * Math.log(8));
  near(linkScore(0.05, 0.1), -0.05);
  assert.ok(linkScore(0.82, 0.12) > linkScore(0.95, 0.9), 'a lift counts more than a large weight');
  assert.deepEqual(
    [howJoined(1, 1), howJoined(2, 1), howJoined(1, 3)],
    ['', 'mean over 2 tokens', 'sum over 3 tokens'],
  );
});
test('links: neighbours, the word itself, the first token and marks are left out', () => {
  const words = ['The', 'animal', 'it', ',', 'tired'].map((text, i) => ({ text, begin: i, end: i + 1 })),
    tokens = words.map((w, i) => ({ id: i, text: w.text, begin: 0, end: 0, added: false })),
    ends = endsOf({ text: '', second: 0, tokens, words });
  assert.deepEqual(
    ends.map((e) => e.word),
    [0, 1, 2, 4],
  );
  const far = (i, j, between = false) => isFar(ends[i], ends[j], between);
  assert.deepEqual([far(2, 2), far(2, 1), far(3, 0), far(3, 1), far(2, 1, true)], [false, false, false, true, true]);
});

const token = (text, begin, end) => ({ id: 0, text, begin, end, added: false });
test('tokens: parts of a character are bytes', () => {
  const tokens = [token('a', 0, 1), ...['ð', 'Ł', 'Ĳ', 'Ī'].map((t) => token(t, 1, 5)), token('<0x0A>', 5, 6)];
  const out = readable({ text: 'a🐈\n', second: 0, words: [], tokens });
  assert.deepEqual(
    out.tokens.map((t) => t.text),
    ['a', '⟨F0⟩', '⟨9F⟩', '⟨90⟩', '⟨88⟩', '⟨0A⟩'],
  );
  assert.equal(out.tokens[1].whole, '🐈');
  // Two letters made of one: not bytes of it.
  const two = readable({ text: 'ﬁ', second: 0, words: [], tokens: [token('f', 0, 3), token('i', 0, 3)] });
  assert.deepEqual(
    two.tokens.map((t) => t.text),
    ['f', 'i'],
  );
});
test('tokens: what runs left to right in a text that does not', () => {
  const runs = (text) => leftToRight(text.split('|')).map(([from, end]) => text.split('|').slice(from, end).join(''));
  assert.deepEqual(runs('של|ום| |1|2|3| |עולם| (|ab|c|)| |4|5|%|.'), ['123', 'abc) 45%']);
  assert.deepEqual(runs('שלום| The| cat|, |sat|.'), [' The cat, sat']);
  assert.deepEqual(runs('א|−|3|.|5|ב|+|ג'), ['−3.5']);
  assert.deepEqual(runs('א|ab|\n|cd'), ['ab', 'cd']);
});

test('tokens: which way a text runs', () => {
  assert.deepEqual(['שלום abc', '12 مرحبا', 'abc שלום', '123', ''].map(directionOf), [
    'rtl',
    'rtl',
    'ltr',
    'ltr',
    'ltr',
  ]);
});

test('words: rows are averaged, columns summed, rows sum to one', () => {
  const tokens = [token('a', 0, 1), token('b', 1, 2), token('c', 2, 3)],
    reading = {
      text: 'abc',
      second: 0,
      tokens,
      words: [
        { text: 'a', begin: 0, end: 1 },
        { text: 'bc', begin: 1, end: 3 },
      ],
    };
  const d = joined(Float32Array.from([1, NaN, NaN, 0.5, 0.5, NaN, 0.25, 0.25, 0.5]), reading, reading, true);
  assert.deepEqual(Array.from(d.values), [1, NaN, 0.375, 0.625]);
  assert.ok(d.derived);
  assert.deepEqual(columnsOf(d, new Set([1])), [false, false]);
  assert.deepEqual(columnsOf(d, new Set([1, 2])), [false, true]);
  const whole = renormalised(d, new Set([0]));
  near(whole.values[3], 1);
  near(whole.values[2], 0.375);
});
test('words: a part of two texts keeps its values', () => {
  const tokens = [token('a', 0, 1), token('b', 1, 2), token('c', 2, 3)],
    reading = { text: 'abc', second: 1, tokens, words: [] };
  const d = cropped(joined(Float32Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9]), reading, reading, false), 'BA');
  assert.deepEqual([d.rows, d.columns, Array.from(d.values), d.rowOf], [2, 1, [4, 7], [-1, 0, 1]]);
});

test('a cache of bytes: what was used last stays', () => {
  let cache = new ByteCache(10);
  for (const name of ['a', 'b', 'c']) cache = cache.with(name, name, 4);
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.bytes], [undefined, 'b', 8]);
  cache = cache.with('d', 'd', 4); // b was used after c
  assert.deepEqual([cache.get('c'), cache.get('b'), cache.get('d')], [undefined, 'b', 'd']);
  cache = cache.with('b', 'B', 9);
  assert.deepEqual([cache.get('b'), cache.size, cache.bytes], ['B', 1, 9]);
  assert.equal(cache.with('huge', 'h', 99).get('huge'), 'h');
});

test('arithmetic: a weight from q and k, and a rotation undone', () => {
  const rows = 2,
    dim = 2,
    info = { part: 'encoder', layer: 0, head: 0, kv_head: 0, group: 1, rows, columns: 2, dim, value_dim: 2, scale: 0.5, softcap: 0, slope: null, sink: null, has_bias: false, head_norm: false, offset: 0, rope: null }; // prettier-ignore
  const q = Float32Array.from([1, 2, 3, 4]),
    k = Float32Array.from([1, 0, 0, 1]),
    v = Float32Array.from([1, 0, 0, 1]);
  const a = 1 / (1 + Math.exp(0.5)); // scores 0.5 and 1
  const head = { info, first: 0, q, k, v, weights: Float32Array.from([a, 1 - a, 0.5, 0.5]), z: Float32Array.from([a, 1 - a, 0, 0]), lse: new Float32Array(2), bias: null }; // prettier-ignore
  const s = stepsOf(head, 0, 1);
  near(s.dot, 2);
  near(s.scaled, 1);
  near(s.weight, 1 - a);
  assert.ok(s.difference < 1e-6 && s.zDifference < 1e-6);
  assert.equal(s.seen, 2);
  const rope = { first: 0, dims: 2, interleaved: true, factor: 1, angles: [0.3] };
  const turned = [Math.cos(0.9), Math.sin(0.9)];
  const back = unturned(turned, 3, rope);
  near(back[0], 1);
  near(back[1], 0);
  const end = unturned([7, 8, ...turned], 3, { ...rope, first: 2 }); // what does not turn comes first
  assert.deepEqual(end.slice(0, 2), [7, 8]);
  near(end[2], 1);
});

test('plans: heads go out and come back; what is written is read again', () => {
  const one = toggled(null, 'decoder', [{ layer: 4, head: 0 }]);
  assert.deepEqual(one, { part: 'decoder', change: 'zero', heads: [{ layer: 4, head: 0 }], factor: 0.5, links: [] });
  const two = toggled({ ...one, change: 'mean' }, 'decoder', [{ layer: 1, head: 2 }]);
  assert.deepEqual(two.heads, [
    { layer: 1, head: 2 },
    { layer: 4, head: 0 },
  ]);
  assert.equal(two.change, 'mean');
  assert.equal(toggled(one, 'decoder', [{ layer: 4, head: 0 }]), null);
  assert.equal(toggled(one, 'encoder', [{ layer: 4, head: 0 }]).part, 'encoder');
  const layer = [0, 1].map((head) => ({ layer: 4, head }));
  assert.equal(toggled(one, 'decoder', layer).heads.length, 2); // the rest of the layer
  const link = cut('cut-mask', 'cross', { layer: 0, head: 1 }, [3, 4, 7], [2]);
  assert.deepEqual(link.links, [
    [3, 5, 2, 3],
    [7, 8, 2, 3],
  ]);
  assert.equal(toggled(link, 'cross', [{ layer: 0, head: 0 }]).change, 'zero'); // a cut makes room
  for (const plan of [one, two, link, { ...one, change: 'scale', factor: 1.5 }])
    assert.deepEqual(parsePlan(planText(plan)), plan);
  for (const bad of [
    '',
    'x~zero~0.0',
    'decoder~off~0.0',
    'decoder~zero~0',
    'decoder~zero~0.0~-1',
    'decoder~cut-mask~0.0~1',
    'decoder~zero~0.0~1~1-2-3-4',
    'decoder~cut-mask~0.0~1~1-2-3',
  ])
    assert.equal(parsePlan(bad), null, bad);
});

test('search: links, heads, conditions, words', () => {
  assert.deepEqual(parseQuery(' it → animal '), { kind: 'link', link: 'it->animal' });
  assert.deepEqual(parseQuery('it->?'), { kind: 'link', link: 'it->?' });
  assert.deepEqual(parseQuery('4.0'), { kind: 'head', layer: 4, head: 0 });
  assert.deepEqual(parseQuery(''), { kind: 'none' });
  assert.deepEqual(parseQuery('street'), { kind: 'word', word: 'street' });
  assert.deepEqual(parseQuery('label:induction what'), { kind: 'word', word: 'label:induction what' });
  const { conditions } = parseQuery('label:ind entropy<1.5 layer:3');
  const facts = { layer: 3, labels: ['induction'], entropy: 1, first: null, distance: 2, effect: null };
  assert.ok(passes(facts, conditions));
  assert.ok(!passes({ ...facts, entropy: 2 }, conditions));
  assert.ok(!passes({ ...facts, labels: null }, conditions));
  assert.ok(!passes({ ...facts, layer: 2 }, conditions));
  assert.ok(!passes(facts, parseQuery('first>0.1').conditions)); // not known is not passed
});

test('the word opposite in a translation', () => {
  const text = (...list) => ({
    text: list.join(' '),
    second: 0,
    tokens: list.map((t) => ({ text: t, added: t.startsWith('<') })),
    words: list.map((t, i) => ({ text: t, begin: i, end: i + 1 })),
  });
  const part = (name, rows, columns) => ({ part: name, layers: 1, heads: 2, rows, columns });
  const info = {
    source: text('the', 'cat', '<e>'),
    written: text('le', 'chat', '<e>'),
    parts: [part('encoder', 3, 3), part('decoder', 3, 3), part('cross', 3, 3)],
  };
  const map = [0.8, 0.1, 0.1, 0.1, 0.7, 0.2, 0.0, 0.1, 0.9];
  const cross = { weights: Float32Array.from([...map, ...map]) };
  assert.deepEqual(counterpart(info, 'encoder', 'cross', [1], cross), [1]);
  assert.deepEqual(counterpart(info, 'encoder', 'decoder', [1], cross), [2]); // read one place later
  assert.deepEqual(counterpart(info, 'cross', 'encoder', [0], cross), [0]);
  assert.deepEqual(counterpart(info, 'decoder', 'encoder', [2], cross), [1]);
  assert.deepEqual(counterpart(info, 'cross', 'decoder', [1], null), [2]);
  assert.deepEqual(counterpart(info, 'decoder', 'cross', [0, 1], null), [0]);
  assert.equal(counterpart(info, 'encoder', 'cross', [1], { weights: null }), null);
});

test('two texts side by side', () => {
  assert.deepEqual(align(['a', 'b', 'c'], ['a', 'c', 'd']), [
    [0, 0],
    [1, -1],
    [2, 1],
    [-1, 2],
  ]);
  assert.deepEqual(align([], ['x']), [[-1, 0]]);
  const map = (values, columns) => ({ values: Float32Array.from(values), columns });
  const rows = [
      [0, 0],
      [1, -1],
    ],
    columns = [
      [0, 0],
      [-1, 1],
    ];
  const a = placed(map([1, 0.5], 1), rows, columns, 0),
    b = placed(map([0.25, 0.75], 2), rows, columns, 1);
  assert.deepEqual([...a], [1, NaN, 0.5, NaN]);
  assert.deepEqual([...b], [0.25, 0.75, NaN, NaN]);
  assert.deepEqual([...difference(a, b)], [-0.75, NaN, NaN, NaN]);
  near(distance(a, b, rows, 2), 0.75);
  near(distance(a, a, rows, 2), 0);
});

test('maps grow by a row and a column; earlier queries do not see the new key', () => {
  const maps = Float32Array.from([1, NaN, 0.25, 0.75, 1, NaN, 0.5, 0.5]), // two heads, two tokens
    row = Float32Array.from([0.1, 0.2, 0.7, 0.3, 0.3, 0.4]);
  assert.deepEqual(
    Array.from(grown(maps, 2, 2, row), (x) => (Number.isNaN(x) ? null : Number(x.toFixed(3)))),
    [1, null, null, 0.25, 0.75, null, 0.1, 0.2, 0.7, 1, null, null, 0.5, 0.5, null, 0.3, 0.3, 0.4],
  );
});

test('checkpoints of a run, in the order of their steps', () => {
  const names = ['story@200', 'en', 'story@30', 'other@5', 'a@b', 'story@1000'];
  assert.deepEqual(
    checkpointsOf(names, 'story@30').map((c) => c.step),
    [30, 200, 1000],
  );
  assert.deepEqual(checkpointsOf(names, 'en'), []);
  assert.equal(runOf('a@b'), null);
  assert.equal(runOf('x@y@7'), 'x@y');
});
