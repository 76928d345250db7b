/** The page of deliveries. */
import { expect } from 'chai';
import { findFaults } from './support/accessibility.ts';
import { useConsole } from './support/console.ts';

const ID = `req_${'d'.repeat(32)}`;

describe('the page of deliveries', () => {
  const use = useConsole();

  it('asks for those of a time', async () => {
    const page = await use().open('deliveries');
    const asked = page.waitForRequest(/deliveries\?.*within=24h/);
    await page.getByRole('combobox', { name: 'Time' }).click();
    await page.getByRole('option', { name: 'Last 24 hours' }).click();
    await asked;
    await page.getByRole('combobox', { name: 'Time' }).click();
    await page.getByRole('option', { name: 'Between…' }).click();
    const from = page.waitForRequest(/deliveries\?.*since=2026-01-02/);
    await page.getByLabel('From', { exact: true }).fill('2026-01-02T12:30');
    await from;
    await page.getByLabel('To', { exact: true }).waitFor();
    await page.context().close();
  });

  it('shows what was sent, each attempt, and sends it again', async () => {
    const id = `dlv_${'e'.repeat(32)}`;
    const delivery = {
      id,
      eventId: `evt_${'e'.repeat(32)}`,
      type: 'request.completed',
      requestId: null,
      endpoint: 'hook',
      url: 'https://receiver.example/hook',
      isTest: false,
      state: 'failed',
      attempts: 3,
      status: 500,
      error: 'answered 500',
      createdAt: new Date().toISOString(),
      endedAt: new Date().toISOString(),
    };
    const history = [1, 2, 3].map((second) => ({
      at: `2026-01-01T00:00:0${second}Z`,
      status: 500,
      error: 'answered 500',
      tookMs: 120,
      requestHeaders: { 'webhook-id': 'evt_e' },
      responseHeaders: { server: 'nginx' },
    }));
    const page = await use().open('deployments');
    await page.route('**/deliveries?*', (route) => route.fulfill({ json: [delivery] }));
    await page.route(`**/deliveries/${id}`, (route) =>
      route.fulfill({ json: { ...delivery, body: '{"id":"evt_e"}', history } }),
    );
    await page.route(`**/deliveries/${id}/resend`, (route) =>
      route.fulfill({ json: { resent: 1, expired: 0, unreachable: 0 } }),
    );
    await page.getByRole('link', { name: 'Deliveries' }).click();
    await page.getByRole('link', { name: `request.completed, details of ${id}` }).click();
    const dialog = page.getByRole('dialog', { name: 'Delivery' });
    await dialog.getByText('"id": "evt_e"').waitFor();
    expect(await dialog.getByRole('cell', { name: 'HTTP 500' }).count()).to.equal(3);
    await dialog
      .getByRole('button', { name: /^Show headers of the attempt/ })
      .first()
      .click();
    await dialog.getByText('webhook-id: evt_e').waitFor();
    await dialog.getByText('server: nginx').waitFor();
    expect(await findFaults(page)).to.deep.equal([]);
    const resent = page.waitForRequest(`**/deliveries/${id}/resend`);
    await dialog.getByRole('button', { name: `Resend ${id}` }).click();
    expect((await resent).method()).to.equal('POST');
    await page.context().close();
  });

  it('resends all that failed since a time', async () => {
    const page = await use().open('deliveries?endpoint=hook');
    await page.route('**/deliveries/resend', (route) =>
      route.fulfill({ json: { resent: 3, expired: 1, unreachable: 0 } }),
    );
    await page.getByRole('button', { name: 'Resend failed deliveries to hook' }).click();
    const dialog = page.getByRole('dialog', { name: 'Resend failed deliveries' });
    await dialog.getByRole('combobox', { name: 'Failed in' }).click();
    await page.getByRole('option', { name: 'Since…' }).click();
    await dialog.getByLabel('Since').fill('2026-01-02T03:04');
    expect(await findFaults(page)).to.deep.equal([]);
    const sent = page.waitForRequest('**/deliveries/resend');
    await dialog.getByRole('button', { name: 'Resend', exact: true }).click();
    const since = new Date('2026-01-02T03:04').toISOString();
    expect((await sent).postDataJSON()).to.deep.equal({ endpoint: 'hook', since });
    await dialog.getByText('3 resent. 1 could not be resent: their events have expired.').waitFor();
    await page.context().close();
  });

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
    const field = page.getByLabel('Request or event');
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
