/** Signing in and out, as people do. */
import { expect } from 'chai';
import { makeSession } from './support/answers.ts';
import { NAMESPACE, signIn, useConsole } from './support/console.ts';
import { readLoadedBytes } from './support/page-facts.ts';

describe('signing in to the console', () => {
  const use = useConsole();

  it('shows the deployments to who has a token, and nothing after signing out', async () => {
    const { browser, url, token } = use();
    const context = await browser.newContext({ baseURL: url });
    const page = await context.newPage();
    await page.goto('/');
    await signIn(page, token);
    await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).to.equal(`/${NAMESPACE}/deployments`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel(/^Token\b/).waitFor();
    await page.reload();
    await page.getByLabel(/^Token\b/).waitFor();
    await context.close();
  });

  it('signs in by the link of make run, whose token leaves the address', async () => {
    const { browser, url, token } = use();
    const context = await browser.newContext({ baseURL: url });
    const page = await context.newPage();
    await page.goto(`/#token=${token}`);
    await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
    expect(page.url()).not.to.include(token);
    await context.close();
  });

  it('asks to sign in again where the session has ended meanwhile', async () => {
    const page = await use().open('keys');
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await page.context().clearCookies();
    await page.getByLabel(/^Token\b/).waitFor({ timeout: 30_000 });
    await page.context().close();
  });

  it('asks for no session again and again where nobody is signed in', async () => {
    const { browser, url, token } = use();
    const context = await browser.newContext({ baseURL: url });
    const page = await context.newPage();
    await page.clock.install();
    const calls: string[] = [];
    page.on('request', (request) => {
      if (new URL(request.url()).pathname === '/api/session') calls.push(request.method());
    });
    await page.goto('/');
    await page.getByLabel(/^Token\b/).waitFor();
    for (let minute = 0; minute < 3; minute++) await page.clock.runFor(60_000);
    await signIn(page, token);
    await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
    expect(calls.slice(0, 2)).to.deep.equal(['GET', 'POST']);
    await context.close();
  });

  it('says what is wrong with a token that nobody knows', async () => {
    const { browser, url } = use();
    const context = await browser.newContext({ baseURL: url });
    const page = await context.newPage();
    await page.goto('/');
    await signIn(page, 'a-token-that-nobody-made');
    const fault = await page.getByRole('alert').textContent();
    expect(fault).to.match(/token/i);
    await context.close();
  });

  it('shows its frame at once where the network is slow', async () => {
    const { browser, url } = use();
    const context = await browser.newContext({ baseURL: url });
    const page = await context.newPage();
    // Scripts never come.
    await page.route('**/assets/*.js', () => {});
    await page.goto('/', { waitUntil: 'commit' });
    await page.getByText('Loading Berth…').waitFor();
    expect(await page.getByRole('banner').textContent()).to.equal('Berth');
    await context.close();
  });

  it('says which Berth it is, and links to its documentation, or else to its list of errors', async () => {
    const page = await use().open('deployments');
    const pages = page.getByRole('navigation', { name: 'Pages', exact: true });
    await pages.getByText(/^Berth \d+\.\d+\.\d+/).waitFor();
    const [errors] = await Promise.all([
      page.context().waitForEvent('page'),
      pages.getByRole('link', { name: 'Error codes' }).click(),
    ]);
    await errors.getByRole('heading', { name: 'Endpoint errors' }).waitFor();
    const documentationURL = 'https://docs.example.com/berth/';
    const { json } = makeSession('ada', [NAMESPACE]);
    await page.route('**/api/session', (route) => route.fulfill({ json: { ...json, documentationURL } }));
    await page.reload();
    const link = pages.getByRole('link', { name: 'Documentation' });
    expect(await link.getAttribute('href')).to.equal(documentationURL);
    await page.context().close();
  });

  it('needs at most 200 KB of scripts and styles for the first view', async () => {
    const page = await use().open('deployments');
    await page.getByRole('table', { name: 'Deployments' }).waitFor();
    expect(await readLoadedBytes(page)).to.be.within(50_000, 200_000);
    await page.context().close();
  });
});
