/** What the pages transfer: at first, and while nothing happens. */
import { expect } from 'chai';
import type { Page, Request } from 'playwright-core';
import { pollUntil } from '../support/poll.ts';
import { useConsole } from './support/console.ts';

const KB = 1_000;
const MINUTE_STEPS = 20;
const STEP_MS = 3_000;

/** Bytes on the wire, with headers, of all that has come since. */
async function countBytes(page: Page): Promise<() => number> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  session.on('Network.eventSourceMessageReceived', ({ data }) => {
    bytes += data.length;
  });
  return () => bytes;
}

/** Resolves once all requests but the stream have been answered. */
function watchRequests(page: Page): () => Promise<void> {
  const open = new Set<Request>();
  page.on('request', (request) => {
    if (!request.url().endsWith('/live')) open.add(request);
  });
  for (const event of ['requestfinished', 'requestfailed'] as const)
    page.on(event as 'requestfinished', (request) => open.delete(request));
  return () => pollUntil(() => open.size === 0, 'the answers');
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

  for (const path of ['deployments', 'deployments/tiny-chat', 'deliveries', 'requests', 'webhooks', 'keys'])
    it(`is at most 20 KB a minute for ${path}, at rest`, async () => {
      const page = await use().open(path);
      await page.clock.install();
      const settle = watchRequests(page);
      await page.reload();
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByLabel('Loading').waitFor({ state: 'detached' });
      const pass = async (steps: number) => {
        for (let step = 0; step < steps; step++) {
          await page.clock.runFor(STEP_MS);
          await settle();
        }
      };
      await pass(2 * MINUTE_STEPS);
      const bytes = await countBytes(page);
      await pass(MINUTE_STEPS);
      expect(bytes()).to.be.within(KB, 20 * KB);
      await page.context().close();
    });
});
