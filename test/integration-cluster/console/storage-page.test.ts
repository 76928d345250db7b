/** The page of storage credentials. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { findFaults } from '../../console/support/accessibility.ts';
import { useConsole } from '../../console/support/console.ts';

describe('the page of storage credentials', () => {
  const use = useConsole();
  let page: Page;

  beforeEach(async () => {
    page = await use().open('storage', { reducedMotion: 'reduce' });
  });
  afterEach(() => page.context().close());

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const card = (name: string) => page.getByRole('article', { name, exact: true });
  const type = (label: string, text: string) =>
    page.getByRole('dialog').getByRole('textbox', { name: label }).fill(text);
  const fill = async (name: string, secretAccessKey: string) => {
    const { endpoint, bucket, accessKeyId } = use().stack.endpoints.s3!;
    await button('New credential').click();
    await type('Name', name);
    await type('Bucket', bucket);
    await type('Endpoint', endpoint);
    await type('Access key ID', accessKeyId);
    await type('Secret access key', secretAccessKey);
  };

  it('adds a bucket, says that it can be written to, and how requests name it', async () => {
    const { secretAccessKey } = use().stack.endpoints.s3!;
    await fill('results', secretAccessKey);
    await type('Prefix', '/wrong');
    await button('Add').click();
    await page.getByRole('dialog').getByText('Must be empty or such as').waitFor();
    expect(await findFaults(page)).to.deep.equal([]);
    await type('Prefix', 'from-the-page/');
    await button('Add').click();
    await card('results').getByText('verified', { exact: true }).waitFor();
    const text = await card('results').textContent();
    expect(text)
      .to.include('from-the-page/')
      .and.to.match(/"storage_credential_id": \d+/);
    expect(await page.content()).not.to.include(secretAccessKey);
    expect(await findFaults(page)).to.deep.equal([]);
  });

  it('says what is wrong with keys that are refused, checks again on request, and deletes', async () => {
    await fill('refused', 'not-the-key');
    await button('Add').click();
    await page.getByRole('dialog').getByRole('alert').getByText('The credential was not added').waitFor();
    await card('refused').waitFor({ state: 'detached' });
    // What was typed is still there.
    await type('Secret access key', use().stack.endpoints.s3!.secretAccessKey);
    await button('Add').click();
    await card('refused').getByText('verified', { exact: true }).waitFor();
    await button('Verify again: refused').click();
    await card('refused').getByText('Verified just now: the bucket is writable.').waitFor();
    await button('Delete refused').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await card('refused').waitFor({ state: 'detached' });
    await page.waitForFunction("document.activeElement?.tagName === 'H1'");
  });
});
