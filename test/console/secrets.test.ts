/** Secrets that are shown once: nobody closes the dialog by mistake while one is being made. */
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { hold, makeKey } from './support/answers.ts';
import { useConsole } from './support/console.ts';

/** A dialog that closes is gone after this time. */
const CLOSE_MS = 1_000;

describe('a secret that is shown once', () => {
  const use = useConsole();

  it('is not lost by Escape while the signing secret is rolled', async () => {
    const page = await use().open('webhooks', { reducedMotion: 'reduce' });
    const answer = { json: { secret: 'whsec_new', isInEffect: true } };
    const { letGo } = await hold(page, '**/signing-secret/roll', 'POST', answer);
    await page.getByRole('button', { name: 'Roll the signing secret' }).click();
    const dialog = page.getByRole('dialog', { name: 'Roll the signing secret?' });
    await dialog.getByRole('button', { name: 'Roll', exact: true }).click();
    await dialog.locator('button[data-loading]').waitFor();
    expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).to.equal(true);
    expect(await canBeClosed(page, dialog)).to.equal(false);
    letGo();
    await page.getByRole('dialog', { name: 'New signing secret' }).getByText('whsec_new').waitFor();
    await page.context().close();
  });

  it('is not lost by Escape while a key is made', async () => {
    const page = await use().open('keys', { reducedMotion: 'reduce' });
    const answer = { json: { key: makeKey('slow-one'), secret: 'sk-berth-slow' } };
    const { letGo } = await hold(page, '**/keys', 'POST', answer);
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('slow-one');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'New API key' });
    await dialog.locator('button[data-loading]').waitFor();
    expect(await canBeClosed(page, dialog)).to.equal(false);
    letGo();
    const secret = page.getByRole('dialog', { name: 'API key slow-one created' });
    await secret.getByText('sk-berth-slow').waitFor();
    await secret.getByRole('button', { name: 'Done' }).click();
    // The next one begins empty.
    await page.getByRole('button', { name: 'New key' }).click();
    expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).to.equal('');
    expect(await page.content()).not.to.include('sk-berth-slow');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.context().close();
  });
});

async function canBeClosed(page: Page, dialog: Locator): Promise<boolean> {
  await page.keyboard.press('Escape');
  await page.mouse.click(5, 5);
  return dialog.waitFor({ state: 'hidden', timeout: CLOSE_MS }).then(
    () => true,
    () => false,
  );
}
