/** The page of deliveries. */
import { expect } from 'chai';
import { useConsole } from './support/console.ts';

const ID = `req_${'d'.repeat(32)}`;

describe('the page of deliveries', () => {
  const use = useConsole();

  it('takes a request as it is typed, and from a link', async () => {
    const page = await use().open('deployments');
    const delivery = {
      id: 'delivery-1',
      type: 'inference.succeeded',
      requestId: ID,
      endpoint: null,
      url: 'https://receiver.example/hook',
      isTest: false,
      state: 'delivered',
      attempts: 1,
      createdAt: new Date().toISOString(),
      statusCode: 200,
      error: null,
    };
    await page.route('**/deliveries?*', (route) => route.fulfill({ json: [delivery] }));
    await page.getByRole('link', { name: 'Deliveries' }).click();
    const field = page.getByLabel('Request', { exact: true });
    await field.pressSequentially('req_1');
    await field.press('Home');
    await field.pressSequentially('xyz');
    await page.waitForURL(/request=xyzreq_1$/);
    expect(await field.inputValue()).to.equal('xyzreq_1');
    await page.getByRole('link', { name: `Deliveries of ${ID}` }).click();
    await page.waitForURL((url) => url.searchParams.get('request') === ID);
    await page.locator(`input[value="${ID}"]`).waitFor();
    await field.fill('');
    await page.waitForURL((url) => !url.searchParams.has('request'));
    await page.context().close();
  });
});
