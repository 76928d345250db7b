/** The page of API keys. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { pollUntil } from '../support/poll.ts';
import { findFaults } from './support/accessibility.ts';
import { makeKey } from './support/answers.ts';
import { useConsole } from './support/console.ts';
import { isFocused } from './support/page-facts.ts';

describe('the page of API keys', () => {
  const use = useConsole();

  it('makes a key that is shown once and works until it is disabled or revoked', async () => {
    const { open, stack } = use();
    const { baseURL } = stack.find('LLM');
    const page = await open('keys');
    const opener = page.getByRole('button', { name: 'New key' });
    await opener.click();
    await page.getByRole('textbox', { name: 'Name' }).fill('for-a-test');
    await page.getByLabel('Requests per minute').fill('7');
    await page.getByLabel('Priority').fill('-20');
    await page.getByRole('combobox', { name: 'Expires' }).click();
    await page.getByRole('option', { name: 'In 30 days' }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();

    const dialog = page.getByRole('dialog', { name: 'API key for-a-test created' });
    const secret = (await dialog.locator('pre').textContent())!;
    expect(secret).to.match(/^sk-berth-/);
    await page.keyboard.press('Escape');
    expect(await dialog.isVisible()).to.equal(true);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await page.content()).not.to.include(secret);
    expect(await isFocused(opener)).to.equal(true);

    const row = page.getByRole('row', { name: /for-a-test/ });
    await row.getByText('0 of 7').waitFor();
    await row.getByText('-20', { exact: true }).waitFor();
    expect(await row.textContent()).to.match(/in (29|30) days/);
    await untilAnswered(baseURL, secret, 200);
    await row.getByText(/^[1-9]\d* of 7$/).waitFor();
    await row.getByText(`sk-berth-…${secret.slice(-4)}`, { exact: true }).waitFor();
    await row.getByText(/^by /).waitFor();

    await row.getByRole('button', { name: 'Edit for-a-test' }).click();
    const limits = page.getByRole('dialog', { name: 'Limits of for-a-test' });
    expect(await limits.getByLabel('Priority').inputValue()).to.equal('-20');
    await limits.getByLabel('Requests per minute').fill('0');
    await limits.getByRole('button', { name: 'Save' }).click();
    await limits.getByText('Must be a whole number from 1 to 10,000,000, not 0.').waitFor();
    await limits.getByLabel('Requests per minute').fill('600');
    await limits.getByRole('button', { name: 'Save' }).click();
    await limits.waitFor({ state: 'hidden' });
    await row.getByText(/^\d+ of 600$/).waitFor();
    await row.getByText('-20', { exact: true }).waitFor();

    await choose(page, 'for-a-test', 'Disable');
    await row.getByText('disabled', { exact: true }).waitFor();
    await untilAnswered(baseURL, secret, 401);
    await choose(page, 'for-a-test', 'Enable');
    await untilAnswered(baseURL, secret, 200);

    await choose(page, 'for-a-test', 'Revoke…');
    await page
      .getByRole('dialog', { name: 'Revoke for-a-test?' })
      .getByRole('button', { name: 'Revoke' })
      .click();
    await row.waitFor({ state: 'detached' });
    await untilAnswered(baseURL, secret, 401);
    await page.context().close();
  });

  it('rolls a key: the new one has its limits, and the old one works for another day or ends at once', async () => {
    const { open, stack } = use();
    const { baseURL } = stack.find('LLM');
    const page = await open('keys');
    const takeSecret = async (name: string) => {
      const dialog = page.getByRole('dialog', { name: `API key ${name} created` });
      const secret = (await dialog.locator('pre').textContent())!;
      await dialog.getByRole('button', { name: 'Done' }).click();
      await dialog.waitFor({ state: 'hidden' });
      return secret;
    };
    const findRow = (name: string) =>
      page.getByRole('row').filter({ has: page.getByRole('button', { name: `Edit ${name}`, exact: true }) });
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('rolled');
    await page.getByLabel('Requests per minute').fill('700');
    await page.getByRole('combobox', { name: 'Expires' }).click();
    await page.getByRole('option', { name: 'In 30 days' }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const first = await takeSecret('rolled');

    await choose(page, 'rolled', 'Roll…');
    const asked = page.getByRole('dialog', { name: 'Roll rolled' });
    expect(await asked.getByLabel('Name of the new key').inputValue()).to.equal('rolled-2');
    await asked.getByLabel('Name of the new key').fill('rolled');
    await asked.getByRole('button', { name: 'Roll' }).click();
    await asked.getByText('Is already in use; choose another one').waitFor();
    await asked.getByLabel('Name of the new key').fill('rolled-2');
    await asked.getByRole('button', { name: 'Roll' }).click();
    const second = await takeSecret('rolled-2');
    await findRow('rolled-2').getByText('0 of 700').waitFor();
    expect(await findRow('rolled-2').textContent()).to.match(/in (29|30) days/);
    await findRow('rolled')
      .getByText(/in (23|24) hr|in 1 day|tomorrow/)
      .waitFor();
    await untilAnswered(baseURL, second, 200);
    await untilAnswered(baseURL, first, 200);

    await choose(page, 'rolled-2', 'Roll…');
    await page.getByLabel('Keep the old key for 24 hours').uncheck();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll' }).click();
    const third = await takeSecret('rolled-3');
    await findRow('rolled-2').getByText('disabled', { exact: true }).waitFor();
    await untilAnswered(baseURL, third, 200);
    await untilAnswered(baseURL, second, 401);
    await page.context().close();
  });

  it('asks by a menu, also by keyboard, before a key is revoked', async () => {
    const page = await use().open('deployments', { reducedMotion: 'reduce' });
    await page.route('**/keys', (route) => route.fulfill({ json: [makeKey('kept')] }));
    await page.getByRole('link', { name: 'API keys' }).click();
    const opener = page.getByRole('button', { name: 'More actions for kept' });
    await opener.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'Disable' }).waitFor();
    expect(await findFaults(page)).to.deep.equal([]);
    await page.keyboard.press('ArrowUp');
    expect(await isFocused(page.getByRole('menuitem', { name: 'Revoke…' }))).to.equal(true);
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Revoke kept?' });
    expect(await isFocused(dialog.getByRole('button', { name: 'Cancel' }))).to.equal(true);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await isFocused(opener)).to.equal(true);
    await page.context().close();
  });

  it('keeps names in sight where the list is scrolled sideways', async () => {
    const page = await use().open('deployments', { viewport: { width: 390, height: 800 } });
    await page.route('**/api/**/keys', (route) => route.fulfill({ json: [makeKey('kept-in-sight')] }));
    await page.goto(page.url().replace(/deployments$/, 'keys'));
    const name = page.getByRole('rowheader', { name: 'kept-in-sight' });
    const action = page.getByRole('button', { name: 'Edit kept-in-sight' });
    await action.scrollIntoViewIfNeeded();
    const [shown, operated] = [await name.boundingBox(), await action.boundingBox()];
    expect(shown!.x).to.be.within(0, operated!.x - shown!.width);
    expect(operated!.x).to.be.below(390);
    await page.context().close();
  });

  it('says in words why a key cannot be made', async () => {
    const page = await use().open('keys');
    const make = async () => {
      await page.getByRole('button', { name: 'New key' }).click();
      await page.getByRole('textbox', { name: 'Name' }).fill('made-twice');
      await page.getByLabel('Requests per minute').fill('20000000');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByText('Must be a whole number from 1 to 10,000,000, not 20,000,000.').waitFor();
      await page.getByLabel('Requests per minute').fill('60');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
    };
    await make();
    await page.getByRole('button', { name: 'Done' }).click();
    await make();
    await page.getByText('Is already in use; choose another one').waitFor();
    await page.context().close();
  });

  it('makes one key of two clicks in one frame, and shows its secret', async () => {
    const page = await use().open('keys');
    let calls = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/keys')) calls++;
    });
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('clicked-twice');
    await page.getByRole('button', { name: 'Create', exact: true }).evaluate((button) => {
      const { click } = button as unknown as { click: () => void };
      click.call(button);
      click.call(button);
    });
    const dialog = page.getByRole('dialog', { name: 'API key clicked-twice created' });
    expect(await dialog.locator('pre').textContent()).to.match(/^sk-berth-/);
    await dialog.getByRole('button', { name: 'Done' }).click();
    expect(calls).to.equal(1);
    await page.context().close();
  });

  it('shows when a key was last used, and what it used and cost in 30 days', async () => {
    const page = await use().open('deployments');
    const usage = { requestsThisMinute: 0, tokensToday: 0, lastUsedAt: '2026-11-20T12:00:00Z' };
    const keys = [
      { ...makeKey('busy'), usage },
      { ...makeKey('unused'), usage: { ...usage, lastUsedAt: null } },
    ];
    const total = {
      key: 'busy',
      keyHash: 'a'.repeat(24),
      requests: 1234,
      inputTokens: 5000,
      outputTokens: 678,
    };
    await page.route('**/keys', (route) => route.fulfill({ json: keys }));
    await page.route('**/usage/keys/totals', (route) =>
      route.fulfill({ json: [{ ...total, cost: '0.52' }] }),
    );
    await page.getByRole('link', { name: 'API keys' }).click();
    const busy = page.getByRole('row', { name: /busy/ });
    await busy.getByText('1,234 requests').waitFor();
    await busy.getByText('Cost 0.52 · 5,678 tokens').waitFor();
    await busy.locator('time[datetime="2026-11-20T12:00:00Z"]').waitFor();
    const unused = page.getByRole('row', { name: /unused/ });
    await unused.getByText('0 requests').waitFor();
    await unused.getByText('Never', { exact: true }).first().waitFor();
    await page.context().close();
  });

  it('says which limit a key has reached, and takes no zero for a limit', async () => {
    const page = await use().open('deployments');
    const usage = { requestsThisMinute: 1, tokensToday: 1000, lastUsedAt: null };
    await page.route('**/keys', (route) =>
      route.request().method() === 'GET'
        ? route.fulfill({ json: [{ ...makeKey('spent'), usage }] })
        : route.fallback(),
    );
    await page.getByRole('link', { name: 'API keys' }).click();
    const row = page.getByRole('row', { name: /spent/ });
    await row.getByText('limit reached').waitFor();
    await row.getByText('Daily token limit, resets at 00:00 UTC').waitFor();
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('with-zero');
    await page.getByLabel('Requests per minute').fill('0');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Must be a whole number from 1 to 10,000,000, not 0.').waitFor();
    await page.context().close();
  });
});

async function choose(page: Page, key: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `More actions for ${key}`, exact: true }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

/** Keys reach the gateway a moment after they change. */
async function untilAnswered(baseURL: string, key: string, status: number): Promise<void> {
  const isAnswered = async () => {
    const response = await fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1 }),
    });
    await response.arrayBuffer();
    return response.status === status;
  };
  await pollUntil(isAnswered, `the status ${status}`, 30_000, 500);
}
