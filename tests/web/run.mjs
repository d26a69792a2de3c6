// Runs every *.test.mjs here in one browser. Each test gets fresh pages; afterwards nothing may have been said on the
// console, thrown, or asked of any other origin. Environment: see tools/test-page.
import { readdirSync } from 'node:fs';
import { close, finish, start } from './pages.mjs';

const names = process.argv.slice(2);
const tests = [];
for (const file of readdirSync(new URL('.', import.meta.url))
  .filter((f) => f.endsWith('.test.mjs'))
  .sort())
  tests.push(...Object.entries((await import(new URL(file, import.meta.url))).default));

let failed = 0,
  passed = 0;
const began = Date.now();
await start();
for (const [name, test] of tests) {
  if (names.length > 0 && !names.some((part) => name.includes(part))) continue;
  const from = Date.now();
  try {
    const said = await test();
    await finish();
    ++passed;
    console.log(`ok    ${name}${said ? `: ${said}` : ''} (${Date.now() - from} ms)`);
  } catch (error) {
    ++failed;
    console.log(`FAIL  ${name}: ${error.stack ?? error}`);
    await finish().catch(() => {});
  }
}
await close();
console.log(`${passed} passed, ${failed} failed in ${((Date.now() - began) / 1000).toFixed(1)} s`);
process.exit(failed === 0 ? 0 : 1);
