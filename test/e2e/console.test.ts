import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { SIGNING_SECRET_FIELD, SIGNING_SECRET_NAME } from '../../api/names.ts';
import type { SessionView } from '../../console/api.ts';
import { openBrowser } from './browser.ts';
import { cluster, endpoints, findEndpoint, kubectl, readObject, waitUntil } from './installation.ts';
import { send, waitForSuccess } from './media.ts';
import { isSigned, type Receiver, startReceiver } from './receivers.ts';

const KEY = 'by-console';
const ENDPOINT = 'by-console';

describe('the console, for a member of one namespace', () => {
  const { url, token } = endpoints.console!;
  const chat = findEndpoint('tiny-chat');
  const image = findEndpoint('tiny-image');
  let browser: Browser;
  let page: Page;
  let receiver: Receiver;
  let oldSecret: string;
  /** Made in the page. */
  let apiKey: string;

  const open = (name: string) => page.getByRole('navigation').getByRole('link', { name }).click();
  const dialog = () => page.getByRole('dialog');
  const readData = async () =>
    (await readObject<{ data: Record<string, string> }>('Secret', SIGNING_SECRET_NAME)).data;

  before(async function () {
    this.timeout(120_000);
    oldSecret = (await readData())[SIGNING_SECRET_FIELD]!;
    receiver = await startReceiver(cluster.nodeIP, {});
    browser = await openBrowser();
    page = await browser.newPage();
    page.setDefaultTimeout(20_000);
  });
  after(async () => {
    await browser?.close();
    receiver?.stop();
    await kubectl('delete', 'apikey', KEY, '--ignore-not-found');
    await kubectl('delete', 'webhookendpoint', ENDPOINT, '--ignore-not-found');
    const patch = JSON.stringify({ data: { [SIGNING_SECRET_FIELD]: oldSecret } });
    await kubectl('patch', 'secret', SIGNING_SECRET_NAME, '--type=merge', '-p', patch);
  });

  it('lets nobody in by a token that the API server does not know', async () => {
    await page.goto(url);
    await page.getByLabel(/^Token\b/).fill('none');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
  });

  it('signs a member in to their namespace, and shows its deployments', async () => {
    await page.getByLabel(/^Token\b/).fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: chat.name, exact: true }).waitFor();
    expect(new URL(page.url()).pathname).to.equal('/default/deployments');
  });

  it('makes a key that opens a deployment', async () => {
    await open('API keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog().getByLabel('Name').fill(KEY);
    await dialog().getByRole('button', { name: 'Create' }).click();
    apiKey = (await dialog()
      .getByText(/^sk-berth-/)
      .textContent())!;
    await dialog().getByRole('button', { name: 'Done' }).click();
    await page.getByRole('cell', { name: KEY }).waitFor();
    await waitUntil('the key to open it', 30, async () => {
      const body = { messages: [{ role: 'user', content: 'Hello' }] };
      return (await send({ ...chat, apiKey }, '/chat/completions', { body })).status === 200;
    });
  });

  it('refuses an endpoint that leads inside, and says why', async () => {
    await open('Webhooks');
    await page.getByRole('button', { name: 'New endpoint' }).click();
    await dialog().getByLabel('Name').fill(ENDPOINT);
    await dialog().getByLabel('URL').fill('https://10.96.0.1/hook');
    await dialog().getByRole('button', { name: 'Add' }).click();
    await dialog().getByText('does not resolve to a public address').waitFor();
  });

  it('sends a test to an endpoint, and shows how it was taken', async () => {
    await dialog().getByRole('textbox', { name: 'URL' }).fill(receiver.urlOf('/console'));
    await dialog().getByRole('button', { name: 'Add' }).click();
    // A conflict until the operator has accepted the address.
    await waitUntil('a test that was taken', 60, async () => {
      await page.getByRole('button', { name: `Send test event to ${ENDPOINT}` }).click();
      const taken = page.getByRole('status').getByText('HTTP 200');
      return taken.waitFor({ timeout: 10_000 }).then(
        () => true,
        () => false,
      );
    });
    const [delivery] = receiver.at('/console');
    expect(delivery!.event.type).to.equal('webhook.test');
    await open('Deliveries');
    await page.getByText('webhook.test').first().waitFor();
  });

  it('rolls the secret: what is sent next is signed with the new one', async () => {
    await open('Webhooks');
    await page.getByRole('button', { name: 'Roll the signing secret' }).click();
    await dialog().getByRole('button', { name: 'Roll', exact: true }).click();
    const secret = (await dialog()
      .getByText(/^whsec_/)
      .textContent())!;
    await dialog().getByRole('button', { name: 'Done' }).click();
    const rolled = Buffer.from((await readData())[SIGNING_SECRET_FIELD]!, 'base64').toString();
    expect(rolled).to.equal(secret);
    await waitUntil('a delivery that the new secret signs', 60, async () => {
      const before = receiver.at('/console').length;
      await page.getByRole('button', { name: `Send test event to ${ENDPOINT}` }).click();
      await waitUntil('the test', 30, async () => receiver.at('/console').length > before);
      return isSigned(receiver.at('/console').at(-1)!, secret);
    });
  });

  it('shows the picture that a request made', async () => {
    const body = { model: image.modelId, prompt: 'A harbor at dawn' };
    const accepted = await send({ ...image, apiKey }, '/images/generations?async=true', { body });
    expect(accepted.status).to.equal(202);
    await waitForSuccess({ ...image, apiKey }, accepted.body.id!);
    await open('Requests');
    await page.getByTitle(accepted.body.id!).click();
    const picture = dialog().getByRole('img', { name: 'Image' });
    await picture.waitFor();
    await waitUntil('the picture', 20, () =>
      picture.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth > 0),
    );
  });

  it('shows nothing of another namespace', async () => {
    await page.goto(`${url}/other/keys`);
    await page
      .getByRole('alert')
      .getByText(/forbidden|cannot/i)
      .waitFor();
    const session = await page.evaluate(async () => (await fetch('/api/session')).json());
    expect((session as SessionView).namespaces).to.deep.equal(['default']);
  });
});
