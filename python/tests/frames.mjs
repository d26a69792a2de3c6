// Opens an HTML file in Chromium and prints what its frames show, as JSON, once none of them is still computing.
//
//   node frames.mjs FILE FRAMES FOLDER
import { spawn } from 'node:child_process';

const [file, frames, folder] = process.argv.slice(2);
const browser = spawn(
  'chromium',
  ['--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', `--user-data-dir=${folder}`, `file://${file}`],
  { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
);
let received = '',
  count = 0;
const answers = new Map();
browser.stdio[4].on('data', (data) => {
  received += data;
  for (let end = received.indexOf('\0'); end >= 0; end = received.indexOf('\0')) {
    const message = JSON.parse(received.slice(0, end));
    received = received.slice(end + 1);
    answers.get(message.id)?.(message.result);
  }
});
const send = (method, params = {}, sessionId = undefined) =>
  new Promise((resolve) => {
    answers.set(++count, resolve);
    browser.stdio[3].write(JSON.stringify({ id: count, method, params, sessionId }) + '\0');
  });

const ready = (text) => /Layer \d/.test(text) && !/Waiting for|Computing/.test(text);
const expression = 'JSON.stringify({ text: document.body?.innerText ?? "", origin: self.origin })';
async function look() {
  const shown = [];
  for (const target of (await send('Target.getTargets')).targetInfos.filter((t) => t.type === 'iframe')) {
    const { sessionId } = await send('Target.attachToTarget', { targetId: target.targetId, flatten: true });
    const answer = await send('Runtime.evaluate', { expression, returnByValue: true }, sessionId);
    shown.push(JSON.parse(answer?.result?.value ?? '{"text": ""}'));
  }
  return shown;
}

let shown = [];
for (let tries = 0; tries < 60; ++tries) {
  shown = await look();
  if (shown.length === Number(frames) && shown.every((frame) => ready(frame.text))) break;
  await new Promise((resolve) => setTimeout(resolve, 1000));
}
console.log(JSON.stringify(shown));
browser.kill();
process.exit(0);
