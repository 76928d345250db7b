/** The history of a deployment, a rollback, and the restart of a replica. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { CSRF_HEADER, type HistoryView } from '../../console/api.ts';
import { passSecond, pollUntil } from '../support/poll.ts';
import { ALL_RIGHTS } from './support/answers.ts';
import { NAMESPACE, useConsole } from './support/console.ts';

const NAME = 'changed';
const DEPLOYMENTS = `/api/namespaces/${NAMESPACE}/deployments`;
const manifestOf = (price: string) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { name: NAME },
  spec: {
    kind: 'LLM',
    model: { id: 'berth/changed' },
    engine: { preset: 'simulator' },
    replicas: 1,
    pricing: { perMillionInputTokens: price },
  },
});

describe('the history of a deployment', function () {
  this.timeout(180_000);
  const use = useConsole();
  let page: Page;

  const send = (method: 'post' | 'put', path: string, data: object) =>
    page.request[method](`${DEPLOYMENTS}${path}`, {
      data,
      headers: { [CSRF_HEADER]: '1', origin: use().url },
    });
  const readHistory = async (revisions: number): Promise<HistoryView> => {
    let history: HistoryView | undefined;
    await pollUntil(async () => {
      history = (await (await page.request.get(`${DEPLOYMENTS}/${NAME}/history`)).json()) as HistoryView;
      return history.revisions.length === revisions;
    });
    return history!;
  };
  const rows = () => page.getByRole('table', { name: 'Revisions' }).getByRole('row');

  before(async () => {
    page = await use().open('deployments');
    const created = await send('post', '', { manifest: manifestOf('1') });
    expect(created.status(), await created.text()).to.equal(201);
    await readHistory(1);
    await passSecond();
    const changed = await send('put', `/${NAME}`, { manifest: manifestOf('2') });
    expect(changed.status(), await changed.text()).to.equal(200);
    await readHistory(2);
    await page.goto(`/${NAMESPACE}/deployments/${NAME}?tab=history`);
  });
  after(async () => {
    await page?.request.delete(`${DEPLOYMENTS}/${NAME}`, {
      headers: { [CSRF_HEADER]: '1', origin: use().url },
    });
    await page?.context().close();
  });

  it('shows who changed which field', async () => {
    const newest = rows().nth(1);
    await newest.getByText('pricing.perMillionInputTokens').waitFor();
    const text = (await newest.textContent()) ?? '';
    expect(text).to.include('via the console').and.include('Current');
    expect(text.replaceAll(/\s+/g, ' ')).to.match(/"1" → "2"/);
  });

  it('refuses a rollback of another spec than the one that was shown', async () => {
    const { version } = await readHistory(2);
    const stale = await send('post', `/${NAME}/rollback`, { revision: 1, version: 'other' });
    expect([stale.status(), await stale.text()]).to.satisfy(
      ([status, text]: [number, string]) => status === 409 && text.includes('was changed meanwhile'),
    );
    expect((await send('post', `/${NAME}/rollback`, { revision: 9, version })).status()).to.equal(404);
    expect((await send('post', `/${NAME}/rollback`, { revision: 2, version })).status()).to.equal(409);
  });

  it('rolls back after a confirmation that shows what changes', async () => {
    await page.getByRole('button', { name: 'Roll back to revision 1' }).click();
    const dialog = page.getByRole('dialog', { name: `Roll ${NAME} back to revision 1?` });
    expect(((await dialog.textContent()) ?? '').replaceAll(/\s+/g, ' ')).to.include(
      'pricing.perMillionInputTokens "2" → "1"',
    );
    await dialog.getByRole('button', { name: 'Roll back' }).click();
    await page.getByRole('button', { name: 'Roll back to revision 2' }).waitFor({ timeout: 60_000 });
    const { revisions } = await readHistory(3);
    expect(revisions.map(({ revision, isCurrent }) => [revision, isCurrent])).to.deep.equal([
      [3, true],
      [2, false],
      [1, false],
    ]);
  });

  it('offers viewers neither a rollback nor a restart', async () => {
    const viewer = await use().open('deployments');
    await viewer.route('**/access', (route) =>
      route.fulfill({ json: { ...ALL_RIGHTS, manageDeployments: false, restartReplicas: false } }),
    );
    await viewer.goto(`/${NAMESPACE}/deployments/${NAME}?tab=history`);
    await viewer.getByRole('table', { name: 'Revisions' }).getByRole('row').nth(2).waitFor();
    expect(await viewer.getByRole('button', { name: 'Roll back' }).count()).to.equal(0);
    await viewer.getByRole('tab', { name: 'Replicas' }).click();
    await viewer.getByRole('link', { name: `Logs of ${NAME}` }).waitFor();
    expect(await viewer.getByRole('button', { name: `Restart ${NAME}-` }).count()).to.equal(0);
    await viewer.context().close();
  });

  it('restarts a replica, in whose place another one starts', async () => {
    await page.getByRole('tab', { name: 'Replicas' }).click();
    const button = page.getByRole('button', { name: `Restart ${NAME}-` });
    await page.getByText('1 of 1 replica ready').waitFor({ timeout: 60_000 });
    const former = await button.getAttribute('aria-label');
    await button.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
    await pollUntil(async () => {
      const labels = await button.evaluateAll((found) =>
        found.map((each) => each.getAttribute('aria-label')),
      );
      return labels.length === 1 && labels[0] !== former;
    }, 'another replica');
  });
});
