/** Faults are shown where they happen, and the rest of the page stays usable. */
import { expect } from 'chai';
import { findFaults } from './support/accessibility.ts';
import { listRequests, makeRequest, refuse } from './support/answers.ts';
import { useConsole } from './support/console.ts';

describe('a fault', () => {
  const use = useConsole();

  it('of a page that cannot be loaded leaves the navigation, and is gone after a reload', async () => {
    const page = await use().open('deployments');
    await page.route('**/assets/usage-*.js', (route) => route.abort());
    await page.getByRole('link', { name: 'Usage' }).click();
    const alert = page.getByRole('alert');
    await alert.getByRole('button', { name: 'Reload' }).waitFor();
    expect(await findFaults(page)).to.deep.equal([]);
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await page.getByRole('link', { name: 'Usage' }).click();
    await alert.waitFor();
    await page.unroute('**/assets/usage-*.js');
    await alert.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    await page.context().close();
  });

  it('is shown once, however often the page polls', async () => {
    const page = await use().open('deployments');
    await page.route('**/keys', (route) => route.fulfill(refuse(404, 'There are none.')));
    await page.getByRole('link', { name: 'API keys' }).click();
    const alert = page.getByRole('alert');
    await alert.evaluate((node) => node.setAttribute('data-seen', ''));
    for (let index = 0; index < 2; index++) await page.waitForResponse('**/keys');
    await page.waitForRequest('**/keys');
    expect(await page.locator('[role=alert][data-seen]').count()).to.equal(1);
    await page.unroute('**/keys');
    await alert.waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('of a request is not asked about each second', async () => {
    const id = `req_${'0'.repeat(32)}`;
    const page = await use().open(`requests?request=free-video/${id}`);
    await page.getByRole('dialog').getByRole('alert').waitFor();
    const calls = { detail: 0, list: 0 };
    page.on('request', (request) => {
      if (request.url().endsWith(id)) calls.detail++;
    });
    page.on('response', (response) => {
      if (response.url().includes('/requests?')) calls.list++;
    });
    // The list behind is polled every three seconds.
    for (let index = 0; index < 3; index++) await page.waitForResponse('**/requests?*');
    expect(calls.list).to.be.at.least(3);
    expect(calls.detail).to.be.at.most(1);
    await page.context().close();
  });

  it('of a filter shows no rows of the filter before', async () => {
    const id = `req_${'1'.repeat(32)}`;
    const page = await use().open('deployments');
    await page.route('**/requests?*', (route) =>
      route.request().url().includes('status=failed')
        ? route.fulfill(refuse(404, 'No such status.'))
        : route.fulfill({ json: listRequests(makeRequest(id)) }),
    );
    await page.getByRole('link', { name: 'Requests' }).click();
    await page.getByTitle(id).waitFor();
    await page.getByRole('combobox', { name: 'Status' }).click();
    await page.getByRole('option', { name: 'failed' }).click();
    await page.getByRole('alert').evaluate((node) => node.setAttribute('data-seen', ''));
    await page.waitForRequest(/status=failed/);
    expect(await page.getByTitle(id).count()).to.equal(0);
    expect(await page.locator('[role=alert][data-seen]').count()).to.equal(1);
    await page.context().close();
  });
});
