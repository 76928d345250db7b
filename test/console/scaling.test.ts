/** The tab of a deployment that is scaled: its demand and replicas over time. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { callChat } from '../support/chat.ts';
import { pollUntil } from '../support/poll.ts';
import { findFaults } from './support/accessibility.ts';
import { useConsole } from './support/console.ts';
import { makeHistory } from './support/histories.ts';
import { readExcess } from './support/page-facts.ts';

const NAME = 'scaled-chat';
const REASON = 'a request waits for the first replica';
const LOOKS = [
  { name: 'light and wide', colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { name: 'dark and narrow', colorScheme: 'dark', viewport: { width: 375, height: 740 } },
] as const;

describe('a deployment that is scaled', function () {
  this.timeout(240_000);
  const use = useConsole();

  before(async () => {
    const { objects } = use().stack.endpoints;
    const url = `${objects!.url}/apis/berth.dev/v1alpha1/namespaces/default/modeldeployments`;
    const headers = { authorization: `Bearer ${objects!.token}`, 'content-type': 'application/json' };
    const spec = {
      kind: 'LLM',
      model: { id: NAME },
      engine: { preset: 'simulator' },
      scaling: { min: 0, max: 2, idleTimeout: '1h', coldStart: { mode: 'Hold', holdFor: '2m' } },
    };
    const apiVersion = 'berth.dev/v1alpha1';
    const body = JSON.stringify({ apiVersion, kind: 'ModelDeployment', metadata: { name: NAME }, spec });
    const created = await fetch(url, { method: 'POST', headers, body });
    expect(created.status, await created.text()).to.equal(201);
    let address = '';
    await pollUntil(async () => {
      const { status } = (await (await fetch(`${url}/${NAME}`, { headers })).json()) as {
        status?: { url?: string; phase?: string };
      };
      address = status?.url ?? '';
      return status?.phase === 'ScaledToZero' && address !== '';
    }, 'its address');
    const key = use().stack.find('LLM').apiKey;
    const host = new URL(address).host;
    const answer = await callChat(`${address}/v1`, { host, key, body: { model: NAME } });
    expect(answer.status, await answer.text()).to.equal(200);
  });

  const openTab = async (path = '') => use().open(`deployments/${NAME}?tab=scaling${path}`);

  it('shows its first replica, and what it was for', async () => {
    const page = await openTab();
    const chart = page.getByRole('region', { name: 'Demand and replicas', exact: true });
    await chart.getByText(/In the last 1h: peak demand .*1 change/).waitFor();
    await chart.locator('svg.recharts-surface').waitFor();
    const row = page.getByRole('table', { name: 'Replica changes' }).getByRole('row').nth(1);
    await row.getByText(REASON).waitFor();
    expect(await row.getByRole('cell').nth(1).textContent()).to.equal('0 to 1');
    await page.getByText('24h', { exact: true }).click();
    await page.waitForURL(/range=24h/);
    await chart.getByText(/In the last 24h/).waitFor();
    await page.context().close();
  });

  for (const { name, ...look } of LOOKS)
    for (const { minutes, range } of [
      { minutes: 3, range: '1h' },
      { minutes: 1_440, range: '24h' },
    ])
      it(`can be read with ${minutes} points, ${name}`, async () => {
        const page = await use().open('deployments', look);
        await page.route(/\/scaling\?range=/, (route) =>
          route.fulfill({ json: makeHistory(minutes, range) }),
        );
        await page.goto(page.url().replace(/deployments$/, `deployments/${NAME}?tab=scaling&range=${range}`));
        const chart = page.getByRole('region', { name: 'Demand and replicas', exact: true });
        await chart.locator('.recharts-line-curve').nth(1).waitFor({ state: 'attached' });
        expect(await chart.locator('.recharts-line-dot').count()).to.equal(minutes > 30 ? 0 : 2 * minutes);
        expect(await readWidths(page)).to.have.property('isDrawn', true);
        expect(await readExcess(page), 'pixels that stick out').to.be.at.most(0);
        expect(await findFaults(page)).to.deep.equal([]);
        const folder = process.env.SCREENSHOTS;
        if (folder)
          await page.screenshot({ path: `${folder}/scaling-${minutes}-${name}.png`, fullPage: true });
        await page.context().close();
      });

  it('has no such tab without scaling', async () => {
    const { open, stack } = use();
    const page = await open(`deployments/${stack.find('LLM').name}?tab=scaling`);
    await page.getByRole('tab', { name: 'Connect', selected: true }).waitFor();
    expect(await page.getByRole('tab', { name: 'Scaling' }).count()).to.equal(0);
    await page.context().close();
  });
});

/** Whether lines go through the chart from its left to its right. */
const readWidths = (page: Page): Promise<{ isDrawn: boolean }> =>
  page.evaluate(`(() => {
    const grid = document.querySelector('.recharts-cartesian-grid').getBoundingClientRect();
    const lines = [...document.querySelectorAll('.recharts-line-curve')].map((line) => line.getBoundingClientRect());
    return { isDrawn: lines.length === 2 && lines.every(({ right }) => Math.abs(right - grid.right) < 3) };
  })()`);
