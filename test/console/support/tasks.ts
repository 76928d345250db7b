/** The main tasks of the console, by keyboard alone. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { EndpointEntry } from '../../../launch/endpoints-file.ts';
import { itSimulated } from '../../support/local-stack.ts';
import { pollUntil } from '../../support/poll.ts';
import { findFaults } from './accessibility.ts';
import { type KeyboardUser, useKeyboard } from './keyboard.ts';

const NAME = 'journey';
/** Pods of a busy cluster take their time. */
const READY_MS = 120_000;

export interface TaskSetting {
  /** Signed in, at the list of deployments. */
  open: () => Promise<Page>;
  /** A deployment of images whose engines may be made to fail. */
  find: () => Pick<EndpointEntry, 'baseURL' | 'apiKey' | 'modelId'>;
  /** The fault of its engines; null = none. */
  setFault: (fault: object | null) => Promise<unknown>;
}

/** Within a `describe`: deploys a model, watches it become ready, calls it, finds why a request failed, scales and pauses it. */
export function describeTasks({ open, find, setFault }: TaskSetting): void {
  let page: Page;
  let keys: KeyboardUser;

  before(async () => {
    page = await open();
    page.setDefaultTimeout(20_000);
    keys = useKeyboard(page);
  });
  after(() => page?.context().close());
  const goTo = (name: string) =>
    keys.press(page.getByRole('navigation', { name: 'Pages', exact: true }).getByRole('link', { name }));
  const press = (name: string) => keys.press(page.getByRole('button', { name, exact: true }));
  const pressInDialog = (name: string) =>
    keys.press(page.getByRole('dialog').getByRole('button', { name, exact: true }));
  const waitForState = (state: string) =>
    page.getByText(state, { exact: true }).first().waitFor({ timeout: READY_MS });
  const openDeployment = async () => {
    await goTo('Deployments');
    await keys.press(page.getByRole('link', { name: NAME, exact: true }));
  };

  it('deploys a model', async () => {
    await keys.press(page.getByRole('link', { name: 'New deployment' }));
    await keys.fill(page.getByRole('textbox', { name: 'Name', exact: true }), NAME);
    await keys.choose(page.getByRole('combobox', { name: 'Kind' }), 'Image');
    await keys.choose(page.getByRole('combobox', { name: 'Engine' }), /^Simulator/);
    await keys.fill(page.getByRole('textbox', { name: 'Model', exact: true }), 'berth/journey');
    await press('Check');
    await page.getByText('The API server accepted it').waitFor();
    await press('Deploy');
  });

  it('watches it become ready', async () => {
    const replica = page.getByRole('row', { name: new RegExp(`^${NAME}-`) });
    await replica.getByText('ready', { exact: true }).waitFor({ timeout: READY_MS });
    await waitForState('ready');
    expect(await findFaults(page)).to.deep.equal([]);
  });

  it('calls it with a new key, and in the playground', async () => {
    await keys.openTab('Connect');
    const { pathname } = new URL(page.url());
    expect(pathname).to.match(new RegExp(`/deployments/${NAME}$`));
    const baseURL = (await page
      .getByText(/^http:.*\/v1$/)
      .first()
      .textContent())!.trim();
    await goTo('API keys');
    await press('New key');
    await keys.fill(page.getByRole('textbox', { name: 'Name' }), NAME);
    await press('Create');
    const secret = (await page.getByRole('dialog').locator('pre').textContent())!;
    await press('Done');
    const generate = () =>
      fetch(`${baseURL}/images/generations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'berth/journey', prompt: 'a boat' }),
      });
    await pollUntil(async () => (await generate()).status === 200, 'the new key to work', 30_000);
    await openDeployment();
    await keys.openTab('Playground');
    await keys.fill(page.getByRole('textbox', { name: 'Prompt', exact: true }), 'a boat');
    await press('Generate');
    await page
      .getByRole('img', { name: /a boat/ })
      .first()
      .waitFor({ timeout: 60_000 });
  });

  itSimulated('finds why a request failed', async () => {
    const { baseURL, apiKey, modelId } = find();
    await setFault({ kind: 'oom' });
    const submit = async () => {
      const answer = await fetch(`${baseURL}/images/generations?async=true`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: modelId, prompt: 'a boat' }),
      });
      return ((await answer.json()) as { id: string }).id;
    };
    try {
      const id = await submit();
      await goTo('Requests');
      const opener = page.getByTitle(id);
      const row = page.getByRole('row').filter({ has: opener });
      await row.getByText('failed', { exact: true }).waitFor({ timeout: 60_000 });
      await keys.press(opener);
      const dialog = page.getByRole('dialog', { name: 'Request' });
      await dialog.getByText('Failed: vram_exceeded').waitFor();
      await dialog.getByText(/out of memory/).waitFor();
      expect(await findFaults(page)).to.deep.equal([]);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
    } finally {
      await setFault(null);
    }
  });

  it('scales it and pauses it', async () => {
    await openDeployment();
    await press('Scale');
    await keys.fill(page.getByRole('dialog').getByLabel('Replicas'), '2');
    await pressInDialog('Scale');
    await page.getByText('2 of 2 replicas ready').waitFor({ timeout: READY_MS });
    await press('Pause');
    await page.getByRole('dialog', { name: `Pause ${NAME}?` }).waitFor();
    expect(await findFaults(page)).to.deep.equal([]);
    await pressInDialog('Pause');
    await waitForState('paused');
    await press('Delete');
    await pressInDialog('Delete');
    await page
      .getByRole('row', { name: NAME, exact: true })
      .waitFor({ state: 'detached', timeout: READY_MS });
  });
}
