/** The page of usage, and what pages show while the server fails. */
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { findFaults } from './support/accessibility.ts';
import { NAMESPACE, useConsole } from './support/console.ts';
import { makeUsage } from './support/histories.ts';
import { readExcess } from './support/page-facts.ts';

describe('the page of usage', () => {
  const use = useConsole();

  it('counts what a deployment served, as numbers, as charts and as a table', async () => {
    const { open, stack } = use();
    const { baseURL, apiKey, name } = stack.find('LLM');
    expect(await chat(baseURL, apiKey, { max_tokens: 5 })).to.equal(200);
    expect(await chat(baseURL, apiKey, { temperature: 'warm' })).to.equal(400);

    const page = await open(`usage?deployment=${name}`, { reducedMotion: 'reduce' });
    const chart = page.getByRole('region', { name: 'Requests', exact: true });
    await chart.getByText(/In the last 24h: [1-9]\d* requests, [1-9]\d* of them errors/).waitFor();
    await chart.locator('svg.recharts-surface').waitFor();
    // A single point has no line, and must be visible all the same.
    const latency = page.getByRole('region', { name: 'Latency', exact: true });
    await latency.locator('.recharts-dot').first().waitFor();
    expect(await page.getByRole('term').allTextContents()).to.include.members([
      'Requests',
      'Errors',
      'Tokens',
      'Remaining credit',
    ]);
    await chart.getByRole('button', { name: 'Show as table: Requests' }).click();
    const cells = chart.getByRole('table').getByRole('row').nth(1).getByRole('cell');
    const [, succeeded, wrong] = await cells.allTextContents();
    expect([Number(succeeded) > 0, Number(wrong) > 0]).to.deep.equal([true, true]);
    expect(await findFaults(page)).to.deep.equal([]);

    await page.getByText('1h', { exact: true }).click();
    await page.waitForURL(/range=1h/);
    await chart.getByText(/In the last 1h: [1-9]/).waitFor();
    await page.context().close();
  });

  it('begins with the deployment that had most requests in the last hour', async () => {
    const page = await use().open('keys');
    const traffic = { 'tiny-chat': 3, 'tiny-embed': 5, 'free-video': 0 };
    await page.route('**/usage/deployments', (route) =>
      route.fulfill({
        json: Object.entries(traffic).map(([deployment, requests]) => ({
          deployment,
          total: { requests },
          requests: [],
        })),
      }),
    );
    await page.getByRole('link', { name: 'Usage' }).click();
    const chosen = page.getByRole('combobox', { name: 'Deployment' });
    await chosen.and(page.locator('[value="tiny-embed"]')).waitFor();
    await page.context().close();
  });

  for (const { steps, stepSeconds, range } of [
    { steps: 3, stepSeconds: 60, range: '1h' },
    { steps: 120, stepSeconds: 21_600, range: '30d' },
  ])
    it(`can be read with ${steps} points, also on a phone`, async () => {
      const page = await use().open('deployments');
      await page.route(`**/api/namespaces/${NAMESPACE}/usage?*`, (route) =>
        route.fulfill({ json: makeUsage(steps, stepSeconds) }),
      );
      await page.goto(`/${NAMESPACE}/usage?deployment=tiny-chat&range=${range}`);
      for (const width of [1440, 375]) {
        await page.setViewportSize({ width, height: 900 });
        for (const title of ['Latency', 'Time to first token', 'Output speed', 'Requests', 'Tokens']) {
          const chart = page.getByRole('region', { name: title, exact: true });
          await chart.locator('svg.recharts-surface').waitFor();
          const { shapes, width: drawn } = await readShapes(chart);
          expect(shapes, `${title}: bars, lines or dots`).to.be.at.least(1);
          expect(drawn, `${title}: of the chart's width`).to.be.within(0.5, 1.1);
        }
        expect(await readExcess(page), 'pixels that stick out').to.be.at.most(0);
      }
      await page.context().close();
    });

  it('lists what each key used of each model on each day, and gives it as CSV', async () => {
    const { open, stack } = use();
    const { baseURL, apiKey, name } = stack.find('LLM');
    expect(await chat(baseURL, apiKey, { max_tokens: 5 })).to.equal(200);
    const page = await open(`usage?deployment=${name}&range=7d`);
    const table = page.getByRole('table', { name: 'Usage by key, model and day' });
    const row = table.getByRole('row', { name: /^make-run/ }).first();
    await row.waitFor({ timeout: 45_000 });
    expect(await row.getByRole('cell').nth(3).textContent()).to.equal('berth/tiny-chat');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download CSV' }).click(),
    ]);
    const csv = await text((await download.createReadStream())!);
    expect(csv)
      .to.match(/^day,deployment,model,key,/)
      .and.to.include(`,${name},berth/tiny-chat,make-run,`);
    await page.getByRole('searchbox', { name: 'Filter usage by key, model and day' }).fill('no such key');
    await row.waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('says so where nothing was asked for', async () => {
    const page = await use().open('usage?deployment=nobody-asked');
    await page.getByText('No requests in the last 24h').waitFor();
    await page.context().close();
  });
});

describe('a page whose server fails', () => {
  const use = useConsole();

  for (const path of ['webhooks', 'deliveries', 'usage', 'storage-credentials'])
    it(`says what happened to ${path}, and tries again`, async () => {
      const page = await use().open('deployments');
      const calls = new RegExp(`/api/namespaces/[^/]+/${path}(\\?|$)`);
      const error = { code: 'temporarily_unavailable', message: 'Redis is away.' };
      await page.route(calls, (route) => route.fulfill({ status: 403, json: { error } }));
      await page.goto(page.url().replace(/deployments$/, path.split('-')[0]!));
      const alert = page.getByRole('alert').filter({ hasText: 'Redis is away.' });
      await alert.waitFor();
      await page.unroute(calls);
      await alert.getByRole('button', { name: 'Try again' }).click();
      await alert.waitFor({ state: 'detached' });
      await page.context().close();
    });
});

/** What is drawn in a chart: how many shapes, and what share of its width they take. */
const readShapes = (chart: Locator): Promise<{ shapes: number; width: number }> =>
  chart.evaluate((element) => {
    interface Box {
      left: number;
      right: number;
      width: number;
    }
    interface Drawn {
      querySelector(selector: string): Drawn;
      querySelectorAll(selector: string): Iterable<Drawn>;
      getBoundingClientRect(): Box;
    }
    const drawn = element as unknown as Drawn;
    const grid = drawn.querySelector('.recharts-cartesian-grid').getBoundingClientRect();
    const shapes = [
      ...drawn.querySelectorAll('.recharts-bar-rectangle path, .recharts-curve, .recharts-dot'),
    ].map((shape) => shape.getBoundingClientRect());
    const left = Math.min(...shapes.map((shape) => shape.left));
    const right = Math.max(...shapes.map((shape) => shape.right));
    return { shapes: shapes.length, width: (right - left) / grid.width };
  });

async function chat(baseURL: string, key: string, more: object): Promise<number> {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], ...more }),
  });
  await response.arrayBuffer();
  return response.status;
}
