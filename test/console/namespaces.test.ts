/** Changing the namespace: nothing of the one before stays. */
import { expect } from 'chai';
import { ALL_RIGHTS, hold, listRequests, makeRequest, makeSession } from './support/answers.ts';
import { NAMESPACE, useConsole } from './support/console.ts';

const OTHER = 'team-b';
const ID = `req_${'a'.repeat(32)}`;

describe('changing the namespace', () => {
  const use = useConsole();

  it('shows no requests of the namespace before', async () => {
    const page = await use().open('deployments');
    await page.route('**/api/session', (route) => route.fulfill(makeSession('ada', [NAMESPACE, OTHER])));
    await page.route(`**/api/namespaces/${OTHER}/**`, (route) => route.fulfill({ json: [] }));
    await page.route(`**/api/namespaces/${OTHER}/access`, (route) => route.fulfill({ json: ALL_RIGHTS }));
    await page.route(`**/api/namespaces/${OTHER}/problems`, (route) =>
      route.fulfill({ json: { problems: [], total: 0 } }),
    );
    const { letGo } = await hold(page, `**/api/namespaces/${OTHER}/requests?*`, 'GET', {
      json: listRequests(),
    });
    await page.route(`**/api/namespaces/${NAMESPACE}/requests?*`, (route) =>
      route.fulfill({ json: listRequests(makeRequest(ID)) }),
    );
    await page.goto(`/${NAMESPACE}/requests`);
    await page.getByTitle(ID).waitFor();
    await page.getByRole('combobox', { name: 'Namespace' }).click();
    await page.getByRole('option', { name: OTHER }).click();
    await page.waitForURL(`**/${OTHER}/requests`);
    await page.getByLabel('Loading').waitFor();
    expect(await page.getByTitle(ID).count()).to.equal(0);
    letGo();
    await page.getByText('No background requests yet').waitFor();
    await page.context().close();
  });
});
