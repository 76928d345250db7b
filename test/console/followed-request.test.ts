/** The playground follows a request that was submitted in the background. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { ALL_RIGHTS, makeRequest, refuse } from './support/answers.ts';
import { NAMESPACE, useConsole } from './support/console.ts';

const ID = `req_${'f'.repeat(32)}`;

describe('a request of the playground', () => {
  const use = useConsole();

  it('is not asked about while another tab hides it', async () => {
    const page = await openVideo();
    let calls = 0;
    await page.route(`**/requests/free-video/${ID}`, (route) => {
      calls++;
      return route.fulfill({ json: makeRequest(ID) });
    });
    await make(page);
    await page.getByText('The result will appear here.').waitFor();
    await page.getByRole('tab', { name: 'Connect' }).click();
    // The deployment is polled every three seconds; at first, a call for requests may still be in flight.
    await page.waitForResponse('**/deployments/free-video');
    const before = calls;
    await page.waitForResponse('**/deployments/free-video');
    expect(calls).to.equal(before);
    await page.getByRole('tab', { name: 'Playground' }).click();
    await page.waitForResponse(`**/requests/free-video/${ID}`);
    await page.context().close();
  });

  it('is followed also by who may not read the log of requests', async () => {
    const page = await openVideo({ readRequests: false });
    await page.route(`**/requests/free-video/${ID}`, (route) => route.fulfill(refuse(403)));
    const answer = { id: ID, modality: 'video', output_urls: [], error_code: 'engine_failed' };
    await page.route(`**/v1/requests/${ID}`, (route) =>
      route.fulfill({ json: { ...answer, status: 'failed', error_message: 'The engine broke.' } }),
    );
    await make(page);
    await page.getByText('Failed: engine_failed').waitFor();
    await page.getByText('The engine broke.').waitFor();
    expect(await page.getByRole('link', { name: 'View request' }).count()).to.equal(0);
    await page.context().close();
  });

  async function openVideo(rights: Partial<typeof ALL_RIGHTS> = {}): Promise<Page> {
    const page = await use().open('deployments');
    await page.route('**/access', (route) => route.fulfill({ json: { ...ALL_RIGHTS, ...rights } }));
    await page.route('**/v1/videos', (route) => route.fulfill({ status: 202, json: { id: ID } }));
    await page.goto(`/${NAMESPACE}/deployments/free-video?tab=playground`);
    return page;
  }

  async function make(page: Page): Promise<void> {
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('A ship');
    await page.locator('button[type=submit]:not([aria-disabled])').click();
  }
});
