/** The page of a deployment as the place to operate it. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { CSRF_HEADER } from '../../console/api.ts';
import { NAMESPACE, useConsole } from './support/console.ts';

const NAME = 'operated';
const MANIFEST = {
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { name: NAME },
  spec: { kind: 'LLM', model: { id: 'berth/operated' }, engine: { preset: 'simulator' }, replicas: 1 },
};

describe('the page of a deployment', function () {
  this.timeout(180_000);
  const use = useConsole();
  let page: Page;

  const waitForState = (state: string) =>
    page.getByText(state, { exact: true }).first().waitFor({ timeout: 60_000 });
  const openTab = (name: string) => page.getByRole('tab', { name, exact: true }).click();

  before(async () => {
    const { url } = use();
    page = await use().open('deployments');
    const created = await page.request.post(`/api/namespaces/${NAMESPACE}/deployments`, {
      data: { manifest: MANIFEST },
      headers: { [CSRF_HEADER]: '1', origin: url },
    });
    expect(created.status(), await created.text()).to.equal(201);
    await page.goto(`/${NAMESPACE}/deployments/${NAME}`);
  });
  after(() => page?.context().close());

  it('shows a new one as it becomes ready, with its replica', async () => {
    await waitForState('ready');
    await openTab('Replicas');
    const row = page
      .getByRole('table', { name: 'Replicas' })
      .getByRole('row', { name: new RegExp(`^${NAME}-`) });
    await row.getByText('ready', { exact: true }).waitFor();
    expect(await row.getByRole('cell').nth(1).textContent()).not.to.equal('Not scheduled yet');
  });

  it('follows the logs of a replica, as text', async () => {
    await page.getByRole('link', { name: `Logs of ${NAME}` }).click();
    await page.getByText('Live', { exact: true }).waitFor();
    const choose = async (container: string) => {
      await page.getByRole('combobox', { name: 'Container' }).click();
      await page.getByRole('option', { name: container }).click();
      return page.getByRole('region', { name: `Log of ${container}` });
    };
    await (await choose('gateway')).getByText('listening').first().waitFor({ timeout: 60_000 });
    await page.route('**/log?*', (route) => route.fulfill({ body: '<b>bold</b>\n' }));
    await (await choose('engine')).getByText('<b>bold</b>').waitFor();
    await page.unroute('**/log?*');
  });

  it('tells the events about it and its pods', async () => {
    await openTab('Events');
    await page.getByRole('table', { name: 'Events' }).getByRole('row').nth(1).waitFor();
  });

  it('scales it', async () => {
    await page.getByRole('button', { name: 'Scale' }).click();
    const dialog = page.getByRole('dialog', { name: `Scale ${NAME}` });
    await dialog.getByLabel('Replicas').fill('2');
    await dialog.getByRole('button', { name: 'Scale' }).click();
    await page.getByText('2 of 2 replicas ready').waitFor({ timeout: 60_000 });
  });

  it('shows what an edit of its YAML would change before it is applied', async () => {
    await openTab('YAML');
    const field = page.getByLabel('Manifest');
    const before = await field.inputValue();
    expect(before).to.include('replicas: 2').and.not.to.include('status:');
    await field.fill(before.replace('kind: LLM', 'kind: [LLM'));
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText(/at line \d+/).waitFor();
    await field.fill(before.replace('replicas: 2', 'replicas: 1'));
    await page.getByRole('button', { name: 'Check' }).click();
    const changes = page.getByRole('region', { name: 'Changes' });
    await changes.getByText('- replicas: 2').waitFor();
    await changes.getByText('+ replicas: 1').waitFor();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('1 of 1 replica ready').waitFor({ timeout: 60_000 });
  });

  it('pauses and resumes it', async () => {
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await waitForState('paused');
    await page.getByRole('button', { name: 'Resume' }).click();
    await waitForState('ready');
  });

  it('deletes it', async () => {
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
    await page.getByRole('row', { name: NAME, exact: true }).waitFor({ state: 'detached', timeout: 60_000 });
  });
});
