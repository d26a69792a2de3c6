// pictures.mjs FOLDER [MODEL]: see tools/make-viewer-pictures.
import { join } from 'node:path';
import { finish, launch, open, serve } from './pages.mjs';

const [folder, model] = process.argv.slice(2);
const browser = await launch();
const server = await serve(model ? ['--model', model] : []);
const looks = {
  light: { viewport: { width: 1440, height: 1040 }, colorScheme: 'light' },
  dark: { at: 'p=cross', viewport: { width: 1440, height: 1040 }, colorScheme: 'dark' },
  narrow: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
};
for (const [name, look] of Object.entries(looks)) {
  const page = await open({ server, ...look });
  await page.evaluate(() => document.activeElement.blur());
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(folder, `viewer-${name}.png`) });
}
await finish();
await browser.close();
await server.stop();
