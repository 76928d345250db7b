/** Lists that a person filters and sorts. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { pollUntil } from '../support/poll.ts';
import { findFaults } from './support/accessibility.ts';
import { makeKey } from './support/answers.ts';
import { useConsole } from './support/console.ts';

describe('a list that is filtered and sorted', () => {
  const use = useConsole();
  const readNames = (page: Page) => page.getByRole('rowheader').allTextContents();

  it('sorts keys by their headings with the keyboard, and says in which direction', async () => {
    const page = await use().open('deployments');
    const keys = ['key-10', 'key-9', 'app'].map((name) => ({ ...makeKey(name), hint: `…${name.slice(-4)}` }));
    await page.route('**/keys', (route) => route.fulfill({ json: keys }));
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('row', { name: /key-10/ }).waitFor();
    const heading = page.getByRole('columnheader', { name: 'Name' });
    const press = async (direction: string, expected: RegExp[]) => {
      await heading.getByRole('button').press('Enter');
      await page.locator(`th[aria-sort="${direction}"]`, { hasText: 'Name' }).waitFor();
      const isShown = async () => (await readNames(page)).every((name, index) => expected[index]!.test(name));
      await pollUntil(isShown, `the keys to be shown in order: ${direction}`);
    };
    await press('ascending', [/^app/, /^key-9/, /^key-10/]);
    await press('descending', [/^key-10/, /^key-9/, /^app/]);
    expect(new URL(page.url()).searchParams.get('sort')).to.equal('-name');
    expect(await findFaults(page)).to.deep.equal([]);
    await press('none', [/^key-10/, /^key-9/, /^app/]);
    await page.context().close();
  });

  it('filters deployments by name, model, kind and state, also after a reload', async () => {
    const page = await use().open('deployments');
    const field = page.getByRole('searchbox', { name: 'Filter deployments' });
    const row = (name: string) => page.getByRole('row', { name, exact: true });
    await row('tiny-chat').waitFor();
    await field.fill('video FREE');
    await row('tiny-chat').waitFor({ state: 'detached' });
    await row('free-video').waitFor();
    await page
      .getByRole('status')
      .getByText(/^1 of \d+ shown$/)
      .waitFor();
    await page.waitForURL(/filter=video/);
    await page.reload();
    await row('free-video').waitFor();
    expect(await row('tiny-chat').count()).to.equal(0);
    await field.fill('');
    await row('tiny-chat').waitFor();
    await page.context().close();
  });

  it('sorts endpoints by a list of orders, and filters them by their URL', async () => {
    const page = await use().open('deployments');
    const endpoints = ['b', 'a', 'c'].map((name, index) => makeEndpoint(name, index));
    await page.route('**/webhooks', (route) => route.fulfill({ json: endpoints }));
    await page.getByRole('link', { name: 'Webhooks' }).click();
    const waitForOrder = (names: string) =>
      pollUntil(async () => {
        const articles = await page.getByRole('article').all();
        const labels = await Promise.all(articles.map((each) => each.getAttribute('aria-label')));
        return labels.join(' ') === names;
      }, `the endpoints to be shown as ${names}`);
    await page.getByRole('article', { name: 'b' }).waitFor();
    await page.getByRole('combobox', { name: 'Sort endpoints' }).click();
    await page.getByRole('option', { name: 'Most failures' }).click();
    await page.waitForURL(/sort=-failures/);
    await waitForOrder('c a b');
    await page.getByRole('searchbox', { name: 'Filter endpoints' }).fill('a.example');
    await waitForOrder('a');
    expect(await findFaults(page)).to.deep.equal([]);
    await page.context().close();
  });
});

const makeEndpoint = (name: string, consecutiveFailures: number) => ({
  name,
  url: `https://${name}.example/hook`,
  eventTypes: ['request.completed'],
  enabled: true,
  signingSecret: 'Workspace',
  state: 'active',
  message: '',
  consecutiveFailures,
  createdAt: new Date().toISOString(),
});
