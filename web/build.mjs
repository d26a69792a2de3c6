// Builds the page: one HTML file with its script and style inside, named by their hashes in its own policy.
//   node web/build.mjs NODE_MODULES OUTPUT
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
const modules = resolve(process.argv[2]),
  output = resolve(process.argv[3]);
const esbuild = createRequire(join(modules, 'x.js'))('esbuild');
const common = {
  bundle: true,
  minify: true,
  write: false,
  legalComments: 'none',
  charset: 'utf8',
  absWorkingDir: here,
  nodePaths: [modules],
};

const script = await esbuild.build({
  ...common,
  entryPoints: ['src/main.tsx'],
  format: 'iife',
  target: ['chrome110', 'firefox113', 'safari16.4'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  tsconfigRaw: '{}',
});
const style = await esbuild.build({
  ...common,
  entryPoints: ['src/style.css'],
  target: ['chrome110', 'firefox113', 'safari16.4'],
});

const clean = (text) => text.trim().replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
const js = clean(script.outputFiles[0].text),
  css = style.outputFiles[0].text.trim();
// Before anything is painted: light or dark.
const early = "document.documentElement.dataset.theme=matchMedia('(prefers-color-scheme:dark)').matches?'dark':'light'";
// The page's head is in the document already and is painted first; then the program starts. Where nothing is painted, as in
// a tab behind others, it does not wait.
const start =
  "{let on=0;const go=()=>{if(on++)return;const s=document.createElement('script');s.textContent=document.getElementById('program').textContent;document.body.append(s)};requestAnimationFrame(()=>setTimeout(go));setTimeout(go,document.hidden?0:400)}";
const hash = (text) => `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(early)} ${hash(start)} ${hash(js)}`,
  `style-src ${hash(css)}`,
  "connect-src 'self'",
  'img-src data: blob:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const parts = { '@POLICY@': policy, '@EARLY@': early, '@STYLE@': css, '@START@': start, '@SCRIPT@': js };
const page = readFileSync(join(here, 'page.template.html'), 'utf8').replace(/@[A-Z]+@/g, (name) => parts[name] ?? name);
writeFileSync(output, page);
const size = gzipSync(page, { level: 9 }).length;
console.log(`${output}: ${page.length} characters, ${size} bytes with gzip`);
if (size > 90_000) {
  console.error('more than 90,000 bytes');
  process.exit(1);
}
