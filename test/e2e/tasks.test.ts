import type { Browser } from 'playwright-core';
import { signIn } from '../console/support/console.ts';
import { describeTasks } from '../console/support/tasks.ts';
import { openBrowser } from './browser.ts';
import { endpoints, findEndpoint, kubectl, removeModel } from './installation.ts';
import { steer } from './media.ts';

describe('a member of a workspace who has the console and a keyboard alone', function () {
  this.timeout(240_000);
  const { url, token } = endpoints.console!;
  const image = findEndpoint('tiny-image');
  let browser: Browser;

  before(async () => {
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await removeModel('journey');
    await kubectl('delete', 'apikey', 'journey', '--ignore-not-found');
  });

  describeTasks({
    open: async () => {
      const page = await browser.newPage({ reducedMotion: 'reduce' });
      await page.goto(url);
      await signIn(page, token);
      await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
      return page;
    },
    find: () => image,
    setFault: (fault) => steer(image, { fault, faultTimes: -1 }),
  });
});
