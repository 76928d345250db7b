/** What the pages transfer at first. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { useConsole } from './support/console.ts';

const KB = 1_000;

/** Bytes on the wire, with headers, of all that has come since. */
async function countBytes(page: Page): Promise<() => number> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  return () => bytes;
}

describe('what the console transfers', () => {
  const use = useConsole();

  it('is at most 200 KB for the first view', async () => {
    const { browser, url } = use();
    const signedIn = await use().open('deployments');
    const cookies = await signedIn.context().cookies();
    await signedIn.context().close();
    const context = await browser.newContext({ baseURL: url });
    await context.addCookies(cookies);
    const page = await context.newPage();
    const bytes = await countBytes(page);
    await page.goto('/default/deployments');
    await page.getByRole('article').first().waitFor();
    expect(bytes()).to.be.within(50 * KB, 200 * KB);
    await context.close();
  });
});
