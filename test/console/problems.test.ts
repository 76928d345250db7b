/** The page of problems, and their number in the navigation. */
import { expect } from 'chai';
import { findFaults } from './support/accessibility.ts';
import { useConsole } from './support/console.ts';

describe('problems', () => {
  const use = useConsole();
  const failing = {
    kind: 'deployment',
    name: 'tiny-chat',
    severity: 'error',
    title: 'Failing',
    message: 'engine exited with code 1: The image was not found.',
    since: '2026-01-01T00:00:00Z',
    runbook: 'not-ready',
  };
  const limited = {
    kind: 'key',
    name: 'shop',
    severity: 'warning',
    title: 'Limit reached',
    message: 'Requests per minute. Requests are rejected with HTTP 429.',
    since: null,
    runbook: null,
  };

  it('are counted in the navigation, and lead to where they are dealt with', async () => {
    const page = await use().open('deployments');
    await page.route('**/api/**/problems', (route) =>
      route.fulfill({ json: { problems: [failing, limited], total: 2 } }),
    );
    await page.reload();
    await page.getByRole('link', { name: 'Problems 2' }).click();
    await page.getByRole('heading', { name: 'Problems', level: 1 }).waitFor();
    const row = page.getByRole('row').filter({ hasText: 'Failing' });
    await row.getByText(/The image was not found\./).waitFor();
    const log = row.getByRole('link', { name: 'Open logs of tiny-chat' });
    expect(await log.getAttribute('href')).to.equal(
      '/default/deployments/tiny-chat?tab=logs&container=engine&run=crashed',
    );
    expect(await findFaults(page)).to.deep.equal([]);
    const names = page.getByRole('link', { name: /^(Deployment|Key) / });
    // The address changes before the table does.
    for (const order of ['ascending', 'descending']) {
      await page.getByRole('button', { name: 'Problem', exact: true }).click();
      await page.locator(`th[aria-sort="${order}"]`).waitFor();
    }
    expect(page.url()).to.include('sort=-problem');
    expect(await names.allTextContents()).to.deep.equal(['Key shop', 'Deployment tiny-chat']);
    const filter = page.getByRole('searchbox', { name: 'Filter problems' });
    await filter.fill('429');
    await row.waitFor({ state: 'detached' });
    expect(await names.allTextContents()).to.deep.equal(['Key shop']);
    await filter.fill('');
    const key = page.getByRole('link', { name: 'Key shop' });
    expect(await key.getAttribute('href')).to.equal('/default/keys?filter=shop');
    await row.getByRole('link', { name: 'Deployment tiny-chat' }).click();
    await page.waitForURL('**/deployments/tiny-chat?tab=conditions');
    await page.context().close();
  });

  it('are none where everything works', async () => {
    const page = await use().open('deployments');
    await page.route('**/api/**/problems', (route) => route.fulfill({ json: { problems: [], total: 0 } }));
    await page.goto('/default/problems');
    await page.getByRole('heading', { name: 'No problems' }).waitFor();
    expect(await page.getByRole('link', { name: /^Problems/ }).textContent()).to.equal('Problems');
    await page.context().close();
  });
});
