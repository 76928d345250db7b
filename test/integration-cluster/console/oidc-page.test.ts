/** Signing in with an identity provider, as people do: a real provider, and an API server that trusts it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Browser, chromium, type Page } from 'playwright-core';
import { ensurePage } from '../../../launch/local-console.ts';
import { expectUsable, LOOK } from '../../console/support/looks.ts';
import { ensureChromium } from '../../support/chromium.ts';
import { useOIDC, userOf } from './oidc-fixture.ts';

const BUTTON = 'Sign in with Example ID';

describe('signing in to the console with an identity provider', () => {
  const use = useOIDC();
  let browser: Browser;
  let folder: string;
  let origin: string;
  let namespace: string;

  before(async function () {
    this.timeout(180_000);
    folder = mkdtempSync(join(tmpdir(), 'berth-oidc-page-'));
    const webFolder = await ensurePage(folder);
    await use.start(0, { webFolder, oidc: use.settings({ name: 'Example ID' }) });
    origin = use.origins[0]!;
    namespace = await use.makeMember('ada');
    browser = await chromium.launch({
      executablePath: ensureChromium(),
      args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    });
  });
  after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  const open = async (path: string, options = {}): Promise<Page> => {
    const context = await browser.newContext({ baseURL: origin, ignoreHTTPSErrors: true, ...options });
    const page = await context.newPage();
    await page.goto(path);
    return page;
  };
  const answerForm = async (page: Page, button: 'Continue' | 'Cancel') => {
    await page.getByRole('heading', { name: 'Test issuer' }).waitFor();
    if (button === 'Continue') await page.getByLabel('Name').fill('ada');
    await page.getByRole('button', { name: button }).click();
  };

  it('leads there and back to the page where they were, also after a refusal', async () => {
    const path = `/${namespace}/keys?filter=a`;
    const page = await open(path);
    await page.getByRole('button', { name: BUTTON }).click();
    await answerForm(page, 'Cancel');
    await page.getByRole('alert').getByText('Example ID denied the sign-in: the user').waitFor();
    expect(page.url()).to.equal(origin + path);
    await page.screenshot({ path: 'test/console/screenshots/sign-in-denied.png' });
    // It is shown once.
    await page.reload();
    await page.getByRole('button', { name: BUTTON }).waitFor();
    expect(await page.getByRole('alert').count()).to.equal(0);
    // A user who cannot list namespaces names one.
    await page.getByLabel('Namespace').fill(namespace);
    await page.getByRole('button', { name: BUTTON }).click();
    await answerForm(page, 'Continue');
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
    expect(page.url()).to.equal(origin + path);
    await page.getByText(userOf('ada')).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
    await page.context().close();
  });

  it('signs out there, too', async () => {
    const page = await open(`/${namespace}/keys`);
    await page.getByLabel('Namespace').fill(namespace);
    await page.getByRole('button', { name: BUTTON }).click();
    await answerForm(page, 'Continue');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Yes, sign me out' }).click();
    await page.getByRole('button', { name: BUTTON }).waitFor();
    expect(page.url()).to.equal(`${origin}/`);
    // The provider asks for the name again, since the user is signed out there, too.
    await page.getByRole('button', { name: BUTTON }).click();
    await page.getByRole('heading', { name: 'Test issuer' }).waitFor();
    // Back on a page of the console, nobody is signed in.
    await page.goBack();
    await page.getByRole('button', { name: BUTTON }).waitFor();
    await page.context().close();
  });

  it('leaves the token as another way', async () => {
    const page = await open('/');
    const member = await use.console.makeMember();
    await page.getByLabel(/^Token\b/).fill(member.token);
    await page.getByRole('button', { name: 'Sign in with token' }).click();
    await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
    await page.context().close();
  });

  it('says so when the identity provider is away, and takes the token', async () => {
    const page = await open('/');
    await page.route('**/api/oidc', (route) =>
      route.fulfill({
        status: 503,
        json: { error: { message: 'Example ID is unavailable. Try again later, or sign in with a token.' } },
      }),
    );
    await page.getByRole('button', { name: BUTTON }).click();
    await page.getByRole('alert').getByText('Example ID is unavailable.').waitFor();
    expect(await page.getByLabel(/^Token\b/).isEnabled()).to.equal(true);
    await page.context().close();
  });

  it('can be used by everybody, light and dark, wide and narrow', async () => {
    const page = await open('/', LOOK);
    const button = page.getByRole('button', { name: BUTTON });
    await button.waitFor();
    expect(await button.evaluate('document.activeElement?.textContent')).to.equal(BUTTON);
    await expectUsable(page, { name: 'sign-in-provider', show: () => button.waitFor() });
    await page.context().close();
  });
});
