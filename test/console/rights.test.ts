/** What a user may do, and what the page says before it knows. */
import { expect } from 'chai';
import { ALL_RIGHTS, refuse } from './support/answers.ts';
import { useConsole } from './support/console.ts';
import { isFocused } from './support/page-facts.ts';

describe('rights', () => {
  const use = useConsole();

  it('are called unknown while they are, and asked for until they are known', async () => {
    const page = await use().open('deployments');
    let calls = 0;
    await page.route('**/access', (route) =>
      route.fulfill(++calls <= 4 ? refuse(503) : { json: ALL_RIGHTS }),
    );
    // The page that was open has loaded the rights already, so another one is loaded.
    await page.goto(page.url().replace(/deployments$/, 'keys'));
    const button = page.getByRole('button', { name: 'New key' });
    expect(await button.getAttribute('aria-description')).to.equal('Checking your permissions…');
    await button.focus();
    const allowed = page.locator('button:not([aria-disabled])').filter({ hasText: 'New key' });
    await allowed.waitFor({ timeout: 25_000 });
    expect(await isFocused(button)).to.equal(true);
    await page.context().close();
  });

  it('that are missing are named', async () => {
    const page = await use().open('deployments');
    await page.route('**/access', (route) => route.fulfill({ json: { ...ALL_RIGHTS, manageKeys: false } }));
    // A page that has loaded the rights asks for them again only after a minute.
    await page.goto(page.url().replace(/deployments$/, 'keys'));
    const reason = "You don't have permission to create API keys in this namespace.";
    await page.locator(`button[aria-description="${reason}"]`).waitFor();
    await page.context().close();
  });
});
