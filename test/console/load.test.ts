/** The tab of a deployment's load: its charts, and the way to the requests of a time. */
import { expect } from 'chai';
import { useConsole } from './support/console.ts';
import { listScenes, openScene } from './support/scenes.ts';

const SCENE = listScenes().find(({ name }) => name === 'load')!;

describe('the load of a deployment', () => {
  const use = useConsole();

  it('shows its figures on hover, and the requests of a time on a click', async () => {
    const page = await use().open('deployments', { reducedMotion: 'reduce' });
    await openScene(page, SCENE);
    const chart = page.getByRole('region', { name: 'Requests at once', exact: true });
    await chart.getByText(/^Peaks by 1 min; in the last 1h: \d+ in flight, \d+ running/).waitFor();
    const plot = chart.locator('svg.recharts-surface');
    await plot.hover();
    await chart.locator('.recharts-tooltip-wrapper').getByText('Waiting in the engine').waitFor();
    await plot.click();
    await page.waitForURL(/\/requests\?view=all&deployment=chat&since=.+&until=.+/);
    await page.getByText('None of the latest requests of this deployment was in progress then').waitFor();
    await page.context().close();
  });

  it('leads there from its table as well', async () => {
    const page = await use().open('deployments');
    await openScene(page, SCENE);
    const chart = page.getByRole('region', { name: 'KV cache', exact: true });
    await chart.getByRole('button', { name: 'Show as table: KV cache' }).click();
    const link = chart.getByRole('link', { name: /^Requests at \d\d:\d\d: KV cache$/ }).first();
    const { searchParams } = new URL((await link.getAttribute('href'))!, page.url());
    const [since, until] = ['since', 'until'].map((name) => Date.parse(searchParams.get(name)!));
    expect(until! - since!).to.equal(75_000);
    await page.context().close();
  });
});
