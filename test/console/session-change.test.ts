/** What one user saw is never shown to the next. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { hold, makeKey, makeSession, refuse, watchFor } from './support/answers.ts';
import { NAMESPACE, signIn, useConsole } from './support/console.ts';

const KEY_OF_ADA = 'made-by-ada';
const KEYS = `**/api/namespaces/${NAMESPACE}/keys`;

describe('a change of who is signed in', () => {
  const use = useConsole();

  it('shows the next user nothing of the one whose session has ended', async () => {
    const page = await openAsAda();
    await page.context().clearCookies();
    await page.unroute(KEYS);
    await page.getByLabel(/^Token\b/).waitFor();
    const { letGo } = await hold(page, KEYS, 'GET', refuse(403, 'User "ben" may not list keys.'));
    const wasSeen = await watchFor(page, KEY_OF_ADA);
    await signIn(page, use().token);
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await page.getByLabel('Loading').waitFor();
    letGo();
    await page.getByText('User "ben" may not list keys.').waitFor();
    expect(await wasSeen()).to.equal(false);
    await page.context().close();
  });

  it('shows nothing of them either where another tab has signed in', async () => {
    const page = await openAsAda();
    await page.route('**/api/session', (route) => route.fulfill(makeSession('ben', [NAMESPACE])));
    let calls = 0;
    // The first tells the page that its session has ended.
    await page.route(KEYS, (route) => (++calls === 1 ? route.fulfill(refuse(401)) : undefined));
    await page.getByText('ben', { exact: true }).waitFor();
    await page.getByLabel('Loading').waitFor();
    expect(await page.getByText(KEY_OF_ADA).count()).to.equal(0);
    await page.context().close();
  });

  it('takes away what a user may not see any more', async () => {
    const page = await openAsAda();
    await page.route(KEYS, (route) => route.fulfill(refuse(403, 'User "ada" may not list keys.')));
    await page.getByText('User "ada" may not list keys.').waitFor();
    expect(await page.getByText(KEY_OF_ADA).count()).to.equal(0);
    await page.context().close();
  });

  it('says so when signing out did not work', async () => {
    const page = await openAsAda();
    await page.route('**/api/session', (route) =>
      route.request().method() === 'DELETE' ? route.fulfill(refuse(503, 'Redis is away.')) : route.fallback(),
    );
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('alert').getByText('Redis is away.').waitFor();
    await page.context().close();
  });

  it('keeps a token that was typed while the server could not verify sessions', async () => {
    const page = await use().open('deployments');
    await page.context().clearCookies();
    await page.reload();
    await page.getByLabel(/^Token\b/).fill('half a tok');
    await page.route('**/api/session', (route) => route.fulfill(refuse(503, 'Redis is away.')));
    for (let index = 0; index < 2; index++) await comeBack(page, '**/api/session');
    expect(await page.getByLabel(/^Token\b/).inputValue()).to.equal('half a tok');
    await page.context().close();
  });

  it('does not ask anyone to sign in while sessions cannot be verified, and recovers by itself', async () => {
    const page = await use().open('deployments');
    await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
    await page.route('**/api/session', (route) => route.fulfill(refuse(503, 'Redis is away.')));
    await page.reload();
    await page.getByRole('alert').getByText('Redis is away.').waitFor();
    expect(await page.getByLabel(/^Token\b/).count()).to.equal(0);
    await page.unroute('**/api/session');
    await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
    await page.context().close();
  });

  async function openAsAda(): Promise<Page> {
    const context = await use().browser.newContext({ baseURL: use().url });
    const page = await context.newPage();
    await page.goto(`/${NAMESPACE}/keys`);
    await page.route(KEYS, (route) => route.fulfill({ json: [makeKey(KEY_OF_ADA)] }));
    await signIn(page, use().token);
    await page.getByText(KEY_OF_ADA).waitFor();
    return page;
  }
});

/** Returns as from another tab, until the page has polled again: it does so once its last response is some seconds old. */
async function comeBack(page: Page, url: string): Promise<void> {
  const answered = page.waitForResponse(url);
  const coming = setInterval(
    () => void page.evaluate('window.dispatchEvent(new Event("visibilitychange"))').catch(() => {}),
    200,
  );
  await answered.finally(() => clearInterval(coming));
}
