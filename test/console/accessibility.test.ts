/** Every page, drawer and dialog, light and dark, wide and narrow: axe finds nothing, nothing is cut off, and a screenshot is kept. */
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { findFaults } from './support/accessibility.ts';
import { useConsole } from './support/console.ts';
import { readExcess } from './support/page-facts.ts';
import { listScenes, openScene } from './support/scenes.ts';

const SCREENSHOTS = 'test/console/screenshots';
const PAGES = [
  'deployments',
  'deployments/tiny-chat',
  'deployments/tiny-chat?tab=playground',
  'deployments/tiny-image?tab=playground',
  'deployments/free-video?tab=playground',
  'deployments/tiny-embed?tab=playground',
  'deployments/tiny-rerank?tab=playground',
  'deployments/tiny-chat?tab=replicas',
  'deployments/tiny-chat?tab=logs',
  'deployments/tiny-chat?tab=events',
  'deployments/tiny-chat?tab=conditions',
  'deployments/tiny-chat?tab=yaml',
  'deploy',
  'problems',
  'keys',
  'requests',
  'usage',
  'webhooks',
  'deliveries',
  'storage',
  'members',
];
const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 375, height: 740 };
const LOOKS = [
  { colorScheme: 'light', viewport: WIDE },
  { colorScheme: 'dark', viewport: WIDE },
  { colorScheme: 'light', viewport: NARROW },
  { colorScheme: 'dark', viewport: NARROW },
] as const;

/** Such as `usage-light-1440.png`, of the whole page. */
const keepScreenshot = (page: Page, path: string, look: (typeof LOOKS)[number]) =>
  page.screenshot({
    path: join(
      SCREENSHOTS,
      `${path.replaceAll(/[^a-z0-9]+/g, '-')}-${look.colorScheme}-${look.viewport.width}.png`,
    ),
    fullPage: true,
  });

async function expectUsable(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByLabel('Loading').waitFor({ state: 'detached' });
  expect(await findFaults(page)).to.deep.equal([]);
  expect(await readExcess(page), 'pixels that stick out').to.be.at.most(0);
}

for (const look of LOOKS)
  describe(`everybody, ${look.colorScheme}, ${look.viewport.width} px wide,`, () => {
    const use = useConsole();
    let page: Page;

    before(async () => {
      page = await use().open('deployments', look);
    });
    after(() => page?.context().close());

    for (const path of PAGES)
      it(`can use ${path}`, async () => {
        await page.goto(`/default/${path}`);
        await expectUsable(page);
        await keepScreenshot(page, path, look);
      });

    for (const scene of listScenes())
      it(`can use ${scene.name}`, async () => {
        const shown = await use().open('deployments', { ...look, reducedMotion: 'reduce' });
        await openScene(shown, scene);
        await expectUsable(shown);
        await keepScreenshot(shown, scene.name, look);
        await shown.context().close();
      });

    it('can sign in', async () => {
      const { browser, url } = use();
      const context = await browser.newContext({ baseURL: url, ...look });
      const signIn = await context.newPage();
      await signIn.goto('/');
      await expectUsable(signIn);
      await keepScreenshot(signIn, 'sign-in', look);
      await context.close();
    });
  });
