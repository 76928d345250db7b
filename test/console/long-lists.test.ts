/** Lists that are too long to be read or drawn at once. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { listRequests, makeRequest } from './support/answers.ts';
import { useConsole } from './support/console.ts';

const TOTAL = 10_000;
const IDS = Array.from({ length: TOTAL }, (_, index) => `req_${String(index).padStart(32, '0')}`);
const PAGES_TURNED = 5;

describe('a list of 10,000 requests', function () {
  this.timeout(90_000);
  const use = useConsole();
  let page: Page;
  let pageSize = 0;
  const asked: string[] = [];

  before(async () => {
    page = await use().open('deployments');
    await page.route('**/api/**/requests?*', (route) => {
      const query = new URL(route.request().url()).searchParams;
      const after = query.get('after') ?? '';
      pageSize = Number(query.get('limit'));
      asked.push(after);
      const start = IDS.indexOf(after) + 1;
      const ids = IDS.slice(start, start + pageSize);
      const older = ids.length === pageSize ? ids.at(-1) : null;
      return route.fulfill({
        json: { ...listRequests(...ids.map((id) => makeRequest(id, 'queued'))), older },
      });
    });
    await page
      .getByRole('navigation', { name: 'Pages', exact: true })
      .getByRole('link', { name: 'Requests' })
      .click();
  });
  after(() => page?.context().close());

  const turner = () => page.getByRole('navigation', { name: 'Pages of requests' });
  const shown = (index: number) => page.getByTitle(IDS[index]!, { exact: true });
  const countElements = (): Promise<number> => page.evaluate('document.getElementsByTagName("*").length');

  it('is turned page by page, each request once, and never has more in the page', async () => {
    await shown(0).waitFor();
    const first = await countElements();
    for (let turned = 1; turned <= PAGES_TURNED; turned++) {
      await turner().getByRole('link', { name: 'Older' }).click();
      await shown(turned * pageSize).waitFor();
      expect(await page.getByTitle(/^req_/).count()).to.equal(pageSize);
    }
    expect(await shown(0).count()).to.equal(0);
    expect(await countElements()).to.be.below(first * 1.1);
  });

  it('reads the page that is shown again, and no other', async () => {
    asked.length = 0;
    await page.waitForResponse('**/api/**/requests?*', { timeout: 30_000 });
    expect(new Set(asked)).to.deep.equal(new Set([IDS[PAGES_TURNED * pageSize - 1]]));
  });

  it('goes back to newer ones, by the button and by Back', async () => {
    await turner().getByRole('button', { name: 'Newer' }).click();
    await shown((PAGES_TURNED - 1) * pageSize).waitFor();
    await page.goBack();
    await shown((PAGES_TURNED - 2) * pageSize).waitFor();
  });

  it('can be entered at any place by its address, up to the last', async () => {
    await page.goto(`${new URL(page.url()).pathname}?after=${IDS[TOTAL - 3]}`);
    await shown(TOTAL - 1).waitFor();
    expect(await page.getByTitle(/^req_/).count()).to.equal(2);
    expect(await turner().getByRole('link', { name: 'Older' }).count()).to.equal(0);
    await turner().getByRole('button', { name: 'Newer' }).click();
    await shown(0).waitFor();
  });
});
