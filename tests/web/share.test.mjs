// Commands that the page offers are run as a person would run them: copied, in another folder.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { closeDialog, folder, open, program, PROGRAM, saved, serve, shared, soon, WORK } from './pages.mjs';

const text = 'the cat sat on the mat because it was too tired';

export default {
  async 'Share: commands for a model given by its path work in any folder'() {
    const place = join(folder(), 'my models');
    cpSync(join(WORK, 'models/en'), join(place, 'own'), { recursive: true });
    const server = await serve(['--model', join(place, 'own'), '--model', 'bert', '--threads', '1']);
    const page = await open({ server, at: `t=${encodeURIComponent(text)}&h=1.0&q=5&k=1` });
    const { command, bytes } = await shared(page);
    assert.match(command, /--model '.*my models\/own' /);
    assert.ok(bytes.equals(await saved(page, 'png')), 'the command draws what Export saves');
    await page.click('[data-test=share]');
    await soon.match(() => page.textContent('[data-test=serve]'), /^headlight serve --model '.*my models\/own' --at /);
    await closeDialog(page);
    // Why offers one too.
    const explain = await page.getAttribute('.why button:has-text("command for the terminal")', 'title');
    const said = execFileSync('sh', ['-c', `headlight() { "${PROGRAM}" "$@"; }; ${explain}`], { cwd: folder() });
    assert.match(String(said), /1\.0/);
    // A model that was given by its name keeps it.
    await page.selectOption('[aria-label=Model]', 'bert');
    await page.waitForSelector('html[data-state=ready]');
    await page.waitForSelector('.badge');
    const named = await shared(page);
    assert.match(named.command, /--model bert /);
    await page.close();
    assert.equal(await server.stop(), 143);
  },

  async 'Share: a saved page names the model as its maker did'() {
    const place = folder(),
      file = join(place, 'page.html');
    cpSync(join(WORK, 'models/en'), join(place, 'own'), { recursive: true });
    program('show', text, '--model', join(place, 'own'), '--html', file);
    const page = await open({ url: `file://${file}` });
    await page.click('[data-test=share]');
    await soon.ok(async () =>
      (await page.textContent('[data-test=command]')).includes(`--model ${join(place, 'own')} `),
    );
    assert.ok(readFileSync(file).length > 10000);
  },
};
