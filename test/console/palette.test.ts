/** The palette: to a page, a deployment or an action by a few letters. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { findFaults } from './support/accessibility.ts';
import { ALL_RIGHTS, listRequests, makeRequest } from './support/answers.ts';
import { NAMESPACE, useConsole } from './support/console.ts';
import { isFocused } from './support/page-facts.ts';

describe('the palette', () => {
  const use = useConsole();
  const findField = (page: Page) => page.getByRole('combobox', { name: /^Go to/ });
  const open = async (path: string) => {
    const page = await use().open(path, { reducedMotion: 'reduce' });
    await page.getByRole('heading', { level: 1 }).waitFor();
    return page;
  };
  const openPalette = async (page: Page) => {
    await page.keyboard.press('ControlOrMeta+K');
    await findField(page).waitFor();
  };
  const findSelected = (page: Page) => page.getByRole('option', { selected: true });

  it('leads to a deployment by keyboard alone, from within a field, too', async () => {
    const page = await open('deployments/tiny-chat?tab=playground');
    await page.getByLabel('System prompt').focus();
    await openPalette(page);
    await page.keyboard.type('tiny-im');
    await page.getByRole('option', { name: 'tiny-image' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'tiny-image', level: 1 }).waitFor();
    expect(await findField(page).count()).to.equal(0);
    await page.context().close();
  });

  it('tells screen readers which entry the arrow keys chose', async () => {
    const page = await open('deployments');
    await page.route('**/webhooks', (route) => route.fulfill({ json: [{ name: 'orders' }] }));
    await openPalette(page);
    // Entries that arrive later would change which one is the last.
    for (const name of ['tiny-chat', 'make-run', 'orders'])
      await page.getByRole('option', { name }).waitFor();
    const first = await findSelected(page).getAttribute('id');
    expect(await findField(page).getAttribute('aria-activedescendant')).to.equal(first);
    await page.keyboard.press('ArrowUp');
    const last = await page.getByRole('option').last().getAttribute('id');
    expect(await findField(page).getAttribute('aria-activedescendant')).to.equal(last);
    expect(await findSelected(page).getAttribute('id')).to.equal(last);
    await page.keyboard.press('ArrowDown');
    expect(await findSelected(page).getAttribute('id')).to.equal(first);
    await page.context().close();
  });

  it('keeps the chosen entry when more come', async () => {
    const page = await open('usage');
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/deployments', async (route) => {
      await held;
      await route.continue();
    });
    await openPalette(page);
    await page.getByRole('option', { name: 'make-run' }).waitFor();
    await page.keyboard.press('ArrowUp');
    const chosen = await findSelected(page).textContent();
    release();
    await page.getByRole('option', { name: 'tiny-chat' }).waitFor();
    expect(await findSelected(page).textContent()).to.equal(chosen);
    await page.context().close();
  });

  for (const colorScheme of ['light', 'dark'] as const)
    it(`keeps nobody from using it, ${colorScheme}`, async () => {
      const page = await use().open('deployments', { reducedMotion: 'reduce', colorScheme });
      await page.getByRole('button', { name: 'Go to' }).click();
      await page.getByRole('option', { name: 'tiny-chat' }).waitFor();
      expect(await findFaults(page)).to.deep.equal([]);
      await page.screenshot({ path: `test/console/screenshots/palette-${colorScheme}.png` });
      await findField(page).fill('no such thing');
      await page.getByText('No results.').waitFor();
      expect(await findFaults(page)).to.deep.equal([]);
      await page.keyboard.press('Escape');
      await findField(page).waitFor({ state: 'detached' });
      expect(await isFocused(page.getByRole('button', { name: 'Go to' }))).to.equal(true);
      await page.context().close();
    });

  it('leads to a key by its name, and to the list that is filtered by it', async () => {
    const page = await open('keys?filter=nothing-like-it');
    await openPalette(page);
    await page.keyboard.type('make-run');
    await page.getByRole('option', { name: 'make-run' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /^make-run/ }).waitFor();
    expect(await page.getByRole('searchbox', { name: 'Filter API keys' }).inputValue()).to.equal('make-run');
    await page.context().close();
  });

  it('opens the request or the delivery whose ID is pasted, and says so where there is none', async () => {
    const page = await open('deployments');
    const request = makeRequest(`req_${'a'.repeat(32)}`);
    const delivery = { id: `dlv_${'b'.repeat(32)}`, eventId: `evt_${'c'.repeat(32)}` };
    await page.route(`**/requests?id=${request.id}`, (route) =>
      route.fulfill({ json: listRequests(request) }),
    );
    await page.route(`**/deliveries?request=${delivery.eventId}`, (route) =>
      route.fulfill({ json: [delivery] }),
    );
    const closeDrawer = async (name: string) => {
      const drawer = page.getByRole('dialog', { name, exact: true });
      await drawer.getByRole('button', { name: 'Close' }).click();
      await drawer.waitFor({ state: 'hidden' });
    };
    await openPalette(page);
    await findField(page).fill(request.id);
    await page.getByRole('option', { name: request.id }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('request') === `${request.deployment}/${request.id}`);
    await closeDrawer('Request');
    await openPalette(page);
    await findField(page).fill(` ${delivery.eventId} `);
    await page.getByRole('option', { name: delivery.eventId }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('delivery') === delivery.id);
    await closeDrawer('Delivery');
    await openPalette(page);
    await findField(page).fill(`req_${'0'.repeat(32)}`);
    await page.getByText('No results.').waitFor();
    await page.context().close();
  });

  it('opens the form of a new key, whose URL stays that of the list afterwards', async () => {
    const page = await open('usage');
    await openPalette(page);
    await page.keyboard.type('new key');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'New API key' });
    await dialog.waitFor();
    expect(await isFocused(dialog.getByRole('textbox', { name: 'Name' }))).to.equal(true);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).to.equal('');
    await page.context().close();
  });

  it('stays away while a dialog is open', async () => {
    const page = await open('keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('half-writ');
    await page.keyboard.press('ControlOrMeta+K');
    await page.keyboard.type('ten');
    expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).to.equal('half-written');
    expect(await findField(page).count()).to.equal(0);
    await page.context().close();
  });

  it('offers no action that the user has no permission for', async () => {
    const page = await use().open('deployments', { reducedMotion: 'reduce' });
    await page.route('**/access', (route) => route.fulfill({ json: { ...ALL_RIGHTS, manageKeys: false } }));
    await page.goto(`/${NAMESPACE}/keys?new`);
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
    await openPalette(page);
    await page.keyboard.type('new');
    await page.getByRole('option', { name: 'New deployment' }).waitFor();
    expect(await page.getByRole('option', { name: 'New API key' }).count()).to.equal(0);
    await page.context().close();
  });
});
