/** How a replica starts, and how the last one did: each stage with its time. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type ModelStartup, STARTUP_STAGES } from '../../api/model-startup.ts';
import { spellDuration } from '../../console/web/parts/time-format.ts';
import { pollUntil } from '../support/poll.ts';
import { useConsole } from './support/console.ts';
import { listScenes, openScene } from './support/scenes.ts';

describe('the startup of a replica', function () {
  this.timeout(120_000);
  const use = useConsole();

  const readLines = (page: Page, label: string): Promise<string[]> =>
    page.getByRole('region', { name: label, exact: true }).getByRole('listitem').allInnerTexts();

  it('is shown as the status has it, stage by stage, and how long it took in all', async () => {
    const { stack, open } = use();
    const { name } = stack.find('LLM');
    const { url, token } = stack.endpoints.objects!;
    let startup: ModelStartup | undefined;
    await pollUntil(async () => {
      const path = `/apis/berth.dev/v1alpha1/namespaces/default/modeldeployments/${name}`;
      const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
      startup = ((await answer.json()) as { status?: { startup?: ModelStartup } }).status?.startup;
      return startup?.took !== undefined;
    }, 'the end of its start');
    const { stages, took } = startup!;
    const order = STARTUP_STAGES.filter((stage) => stages.some((each) => each.stage === stage));
    expect(stages.map(({ stage }) => stage)).to.deep.equal(order);
    expect(order).to.include.members(['Scheduled', 'Ready']);
    const page = await open(`deployments/${name}?tab=replicas`);
    await page.getByText(`Total: ${spellDuration(took!)}.`, { exact: true }).waitFor();
    expect(await readLines(page, 'Last replica startup')).to.deep.equal(
      stages.map(({ stage, took }) => `${stage} after ${spellDuration(took)}`),
    );
    await page.context().close();
  });

  it('is shown while it goes on: what is done, what it waits for since when, and what is expected', async () => {
    const page = await use().open('deployments');
    await openScene(page, listScenes().find(({ name }) => name === 'startup')!);
    await page.getByText('Expected total: 95 s.', { exact: true }).waitFor();
    const [first, second, current, ...rest] = await readLines(page, 'Replica startup');
    expect([first, second]).to.deep.equal(['Scheduled after 2 s', 'Prepared after 41 s']);
    expect(current).to.match(/^WeightsLoaded in progress, started .*1 min/);
    expect(rest).to.deep.equal([]);
    await page.context().close();
  });
});
