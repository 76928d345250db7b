/** The pages of webhooks and of their deliveries. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { deliveryKeys } from '../../api/redis-keys.ts';
import { connectRedis } from '../../redis/client.ts';
import { pollUntil } from '../support/poll.ts';
import { findFaults } from './support/accessibility.ts';
import { NAMESPACE, useConsole } from './support/console.ts';
import { isFocused } from './support/page-facts.ts';
import { isSigned, type Receiver, startReceiver } from './support/receiver.ts';

describe('the page of webhooks', () => {
  const use = useConsole();
  let receiver: Receiver;
  let page: Page;

  beforeEach(async () => {
    receiver = await startReceiver();
    page = await use().open('webhooks', { reducedMotion: 'reduce' });
  });
  afterEach(async () => {
    receiver.stop();
    await page.context().close();
  });

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const card = (name: string) => page.getByRole('article', { name, exact: true });
  const dialog = () => page.getByRole('dialog');
  const type = (label: string, text: string) => dialog().getByRole('textbox', { name: label }).fill(text);
  const add = async (name: string, url = receiver.url) => {
    await button('New endpoint').click();
    await type('Name', name);
    await type('URL', url);
    await button('Add').click();
    await card(name).getByText('active', { exact: true }).waitFor();
  };

  it('shows what is wrong with a URL in its field: syntax errors immediately, others once the operator has checked', async () => {
    await button('New endpoint').click();
    await type('Name', 'corrected');
    await type('URL', 'ftp://127.0.0.1/');
    await page.keyboard.press('Tab');
    await dialog().getByText('The URL must start with https://.').waitFor();
    await type('URL', 'https://10.96.0.1/hook');
    await button('Add').click();
    await dialog().getByText('does not resolve to a public address').waitFor();
    expect(await dialog().getByRole('textbox', { name: 'URL' }).getAttribute('aria-invalid')).to.equal(
      'true',
    );
    expect(await findFaults(page)).to.deep.equal([]);
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'hidden' });
    expect(await card('corrected').count()).to.equal(0);
    await button('New endpoint').click();
    await type('Name', 'corrected');
    await type('URL', 'https://10.96.0.1/hook');
    await button('Add').click();
    await dialog().getByText('does not resolve to a public address').waitFor();
    await type('URL', receiver.url);
    await button('Add').click();
    await card('corrected').getByText('active', { exact: true }).waitFor();
    expect(await card('corrected').textContent())
      .to.include(receiver.url)
      .and.to.include('request.completed')
      .and.to.include('request.canceled');
  });

  it('sends a test, shows in place how it was taken, and lists it among the deliveries', async () => {
    await add('tested');
    await button('Send test event to tested').click();
    const result = card('tested').getByRole('status');
    await result.getByText('HTTP 200').waitFor();
    expect(await result.textContent()).to.include('Test delivered');
    expect(receiver.received[0]!.headers['x-service-event']).to.equal('webhook.test');

    receiver.status = 500;
    await button('Send test event to tested').click();
    await result.getByText(/^Delivery failed \(500\)\./).waitFor();
    expect(await result.textContent()).to.include('Test failed');
    expect(await findFaults(page)).to.deep.equal([]);

    await card('tested').getByRole('link', { name: 'Deliveries' }).click();
    await page.getByRole('heading', { name: 'Deliveries', level: 1 }).waitFor();
    const row = page.getByRole('row').filter({ hasText: 'delivered' });
    await row.waitFor();
    for (const words of ['webhook.test', 'tested', '1 of 3', 'HTTP 200', receiver.url])
      expect(await row.textContent()).to.include(words);
    await page.getByRole('combobox', { name: 'State' }).click();
    await page.getByRole('option', { name: 'delivered' }).click();
    await page.waitForURL(/endpoint=tested&state=delivered/);
    await page.reload();
    await row.waitFor();
    expect(await page.getByRole('row').count()).to.equal(2);
    expect(await findFaults(page)).to.deep.equal([]);
    await page.getByRole('textbox', { name: 'Request' }).fill('req_none');
    await page.getByText('No matching deliveries').waitFor();
  });

  it('changes the events, disables, enables and deletes', async () => {
    await add('changed');
    await button('Edit changed').click();
    await dialog().getByRole('checkbox', { name: 'request.canceled' }).uncheck();
    await button('Save').click();
    await dialog().waitFor({ state: 'hidden' });
    await card('changed').getByText('request.canceled').waitFor({ state: 'detached' });
    await button('Disable changed').click();
    await card('changed').getByText('disabled', { exact: true }).waitFor();
    await button('Enable changed').click();
    await card('changed').getByText('active', { exact: true }).waitFor();

    await button('Delete changed').click();
    await button('Cancel').click();
    await dialog().waitFor({ state: 'hidden' });
    expect(await isFocused(button('Delete changed'))).to.equal(true);
    await button('Delete changed').click();
    await dialog().getByRole('button', { name: 'Delete', exact: true }).click();
    await card('changed').waitFor({ state: 'detached' });
  });

  it('rolls the secret, shows the new one once, and signs with it from then on', async () => {
    await add('signed');
    await button('Roll the signing secret').click();
    await dialog().getByText('The old secret expires immediately').waitFor();
    await dialog().getByRole('button', { name: 'Roll', exact: true }).click();
    const shown = page.getByRole('dialog', { name: 'New signing secret' });
    const secret = (await shown.getByText(/^whsec_/).textContent())!;
    expect(secret).to.match(/^whsec_/);
    await page.keyboard.press('Escape');
    expect(await shown.isVisible()).to.equal(true);
    expect(await findFaults(page)).to.deep.equal([]);
    await button('Done').click();
    await shown.waitFor({ state: 'hidden' });
    expect(await page.content()).not.to.include(secret);
    await button('Send test event to signed').click();
    await card('signed').getByRole('status').getByText('HTTP 200').waitFor();
    expect(isSigned(receiver.received[0]!, secret)).to.equal(true);
  });

  it('gives an endpoint a secret of its own, shown once, which is rolled alone', async () => {
    await button('New endpoint').click();
    await type('Name', 'partner');
    await type('URL', receiver.url);
    await dialog().getByRole('checkbox', { name: 'Separate signing secret' }).check();
    await button('Add').click();
    const shown = page.getByRole('dialog', { name: 'New signing secret' });
    const first = (await shown.getByText(/^whsec_/).textContent())!;
    expect(await findFaults(page)).to.deep.equal([]);
    await button('Done').click();
    await card('partner').getByText('active', { exact: true }).waitFor();
    const send = async (count: number) => {
      await button('Send test event to partner').click();
      await pollUntil(() => receiver.received.length === count, 'the test event');
      return receiver.received[count - 1]!;
    };
    expect(isSigned(await send(1), first)).to.equal(true);

    await button('Roll secret of partner').click();
    const keepOld = dialog().getByRole('checkbox', { name: 'Keep the old secret for 24 hours' });
    expect(await keepOld.isChecked()).to.equal(true);
    await dialog().getByRole('button', { name: 'Roll', exact: true }).click();
    const second = (await shown.getByText(/^whsec_/).textContent())!;
    expect(second).not.to.equal(first);
    await button('Done').click();
    const delivery = await send(2);
    expect([isSigned(delivery, second), isSigned(delivery, first)]).to.deep.equal([true, true]);
  });

  it('says that an endpoint was disabled for its failures, and re-enables it', async () => {
    await add('failing');
    const { redisURL } = use().stack.endpoints;
    const connection = connectRedis({ url: redisURL, name: 'test', role: 'operator' });
    try {
      await connection.untilUp(5_000);
      const key = deliveryKeys(NAMESPACE).endpoint('failing');
      await connection.redis.hset(key, { failures: 20, disabled_at: Date.now() });
    } finally {
      await connection.close();
    }
    await card('failing').getByText('auto-disabled', { exact: true }).waitFor();
    await button('Re-enable failing').click();
    await card('failing').getByText('active', { exact: true }).waitFor();
  });

  it('leads from the delivery of a request’s own callback to the request', async () => {
    const { open, stack } = use();
    const { baseURL, apiKey, modelId } = stack.find('Image');
    const response = await fetch(`${baseURL}/images/generations?async=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: modelId, prompt: 'A harbour', webhook_url: receiver.url }),
    });
    const { id } = (await response.json()) as { id: string };
    const deliveries = await open(`deliveries?endpoint=-&request=${id}`);
    const row = deliveries.getByRole('row').filter({ hasText: 'request.completed' });
    await row.getByText('delivered').waitFor();
    await row.getByRole('link', { name: `Request ${id}` }).click();
    await deliveries.getByRole('dialog', { name: 'Request' }).getByText(id, { exact: true }).waitFor();
    await deliveries.context().close();
  });

  it('says why a button does nothing for those who may not use it', async () => {
    await page.route('**/access', (route) => route.fulfill({ json: { manageWebhooks: false } }));
    await page.reload();
    const opener = button('New endpoint');
    await opener.focus();
    await page.getByRole('tooltip').getByText("You don't have permission to add webhooks").waitFor();
    await page.keyboard.press('Enter');
    expect(await dialog().count()).to.equal(0);
  });
});
