/** The page of asynchronous requests. */
import { expect } from 'chai';
import { findFaults } from './support/accessibility.ts';
import { listRequests, makeRequest } from './support/answers.ts';
import { useConsole } from './support/console.ts';
import { isFocused, readPictureSizes } from './support/page-facts.ts';

describe('the page of requests', () => {
  const use = useConsole();

  it('shows the picture of a request that has succeeded, with all that is known of it', async () => {
    const { open, stack } = use();
    const { baseURL, apiKey } = stack.find('Image');
    const id = await submit(`${baseURL}/images/generations?async=true`, apiKey, {
      model: 'berth/tiny-image',
      prompt: 'A harbour',
      size: '256x256',
    });
    const page = await open('requests?deployment=tiny-image');
    const opener = page.getByTitle(id);
    await page.getByRole('row').filter({ has: opener }).getByText('succeeded').waitFor();
    await opener.click();
    const dialog = page.getByRole('dialog', { name: 'Request' });
    const image = dialog.getByRole('img', { name: 'Image' });
    await image.waitFor();
    expect(await readPictureSizes(image)).to.deep.equal(['256x256']);
    const link = await dialog.getByRole('link', { name: 'Download image' }).getAttribute('href');
    expect((await fetch(link!)).headers.get('content-type')).to.match(/^image\//);
    expect(await dialog.textContent())
      .to.include(id)
      .and.to.include('berth/tiny-image');
    const fact = (name: string) => dialog.getByRole('row', { name }).getByRole('cell').textContent();
    expect(await fact('Submitted by')).to.equal(`Key make-run (sk-berth-…${apiKey.slice(-4)})`);
    expect(await fact('Cost')).to.equal('Free');
    expect(await fact('Images')).to.equal('1');
    expect(await fact('Queued')).to.match(/^\w+ \d{1,2}, \d{4}, \d{2}:\d{2}:\d{2} \(.+\)$/);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await isFocused(opener)).to.equal(true);
    await page.context().close();
  });

  it('lists the latest of every kind, with the slowest first where that is asked', async () => {
    const { open, stack } = use();
    const { baseURL, apiKey } = stack.find('LLM');
    const id = `asked-${Date.now()}`;
    const response = await fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-request-id': id,
      },
      body: JSON.stringify({ model: 'berth/tiny-chat', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect(response.status).to.equal(200);
    await response.text();
    const page = await open('requests?view=all&sort=-duration');
    const row = page.getByRole('row').filter({ has: page.getByTitle(id) });
    await row.waitFor({ timeout: 45_000 });
    expect(await row.textContent())
      .to.include('tiny-chat')
      .and.to.include('chat completions')
      .and.to.include('200');
    await page.getByRole('searchbox', { name: 'Filter latest requests' }).fill(id);
    expect(await page.getByRole('row').count()).to.equal(2);
    await page.context().close();
  });

  it('says what a failed request cost', async () => {
    const id = `req_${'d'.repeat(32)}`;
    const page = await use().open('deployments');
    const request = { ...makeRequest(id, 'failed'), errorCode: 'upstream_error', price: '0.04' };
    await page.route(`**/requests/free-video/${id}`, (route) => route.fulfill({ json: request }));
    await page.goto(`/default/requests?request=free-video%2F${id}`);
    await page.getByRole('row', { name: 'Cost' }).getByText('0 (0.04 refunded)').waitFor();
    const receipt = page.getByRole('region', { name: 'Receipt' });
    expect(await receipt.textContent()).to.include('"refunded": "0.04"');
    await receipt.getByRole('button', { name: 'Copy receipt' }).waitFor();
    await page.context().close();
  });

  it('tells in the list why a request failed', async () => {
    const id = `req_${'e'.repeat(32)}`;
    const page = await use().open('deployments');
    const errorMessage = 'The GPU ran out of memory.';
    const request = { ...makeRequest(id, 'failed'), errorCode: 'vram_exceeded', errorMessage };
    await page.route('**/requests?*', (route) => route.fulfill({ json: listRequests(request) }));
    await page.getByRole('link', { name: 'Requests' }).click();
    const code = page
      .getByRole('row')
      .filter({ has: page.getByTitle(id) })
      .getByText('vram_exceeded');
    expect(await code.getAttribute('title')).to.equal(errorMessage);
    await page.context().close();
  });

  it('opens a request by a link that Back closes, and says why a running one cannot be canceled', async () => {
    const id = `req_${'c'.repeat(32)}`;
    const page = await use().open('deployments');
    await page.route('**/requests?*', (route) => route.fulfill({ json: listRequests(makeRequest(id)) }));
    await page.route(`**/requests/free-video/${id}`, (route) => route.fulfill({ json: makeRequest(id) }));
    await page.getByRole('link', { name: 'Requests' }).click();
    const opener = page.getByTitle(id);
    expect(await opener.getAttribute('href')).to.include(`request=free-video%2F${id}`);
    await opener.click();
    const dialog = page.getByRole('dialog', { name: 'Request' });
    await dialog.getByRole('button', { name: `Cancel ${id}` }).hover();
    await page.getByText('Only queued requests can be canceled').waitFor();
    await page.goBack();
    await dialog.waitFor({ state: 'hidden' });
    await page.waitForURL(/\/requests$/);
    await opener.click();
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.goBack();
    await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
    await page.context().close();
  });

  it('finds those of a key and of a time, in the address, and tells how far a search went', async () => {
    const { open, stack } = use();
    const { baseURL, apiKey } = stack.endpoints.deployments.find(({ name }) => name === 'tiny-image')!;
    const before = Date.now() - 60_000;
    const id = await submit(`${baseURL}/images/generations?async=true`, apiKey, {
      model: 'berth/tiny-image',
      prompt: 'A red house',
    });
    const page = await open('requests');
    const row = page.getByRole('row').filter({ has: page.getByTitle(id) });
    await row.getByRole('cell', { name: 'make-run' }).waitFor();
    expect(await findFaults(page)).to.deep.equal([]);
    const key = page.getByRole('combobox', { name: 'Key' });
    await key.fill('make');
    await page.getByRole('option', { name: /^make-run/ }).click();
    await page.waitForURL(/key=make-run/);
    await row.waitFor();
    await page.getByRole('combobox', { name: 'Time' }).click();
    await page.getByRole('option', { name: 'Last hour' }).click();
    await page.waitForURL(/within=1h/);
    await row.waitFor();
    await page.goto(`/default/requests?until=${new Date(before).toISOString()}`);
    await page.getByLabel('To', { exact: true }).waitFor();
    await row.waitFor({ state: 'detached' });
    const searchedTo = new Date(before).toISOString();
    await page.route('**/requests?*', (route) =>
      route.fulfill({ json: { ...listRequests(), older: 'next', searchedTo } }),
    );
    await page.getByRole('combobox', { name: 'Key' }).fill('nobody');
    await page.getByText(/^Searched back to/).waitFor();
    await page.getByRole('link', { name: 'Older' }).click();
    await page.waitForURL(/after=next/);
    await page.context().close();
  });

  it('shows the input of a failed request, and submits it again', async () => {
    const [id, again] = ['a', 'b'].map((digit) => `req_${digit.repeat(32)}`) as [string, string];
    const page = await use().open('deployments');
    const replays = { count: 2, lastAt: new Date().toISOString(), differing: ['prompt', 'seed'] };
    const failed = { ...makeRequest(id, 'failed'), errorCode: 'upstream_error', replays };
    const path = `**/api/**/requests/free-video`;
    await page.route(`${path}/${id}`, (route) => route.fulfill({ json: failed }));
    await page.route(`${path}/${id}/input`, (route) =>
      route.fulfill({ json: { parameters: { prompt: 'A ship at sea' }, files: [] } }),
    );
    await page.route(`${path}/${id}/retry`, (route) => route.fulfill({ status: 202, json: { id: again } }));
    await page.route(`${path}/${again}`, (route) =>
      route.fulfill({ json: { ...makeRequest(again, 'queued'), retryOf: id } }),
    );
    await page.goto(`/default/requests?request=free-video%2F${id}`);
    const dialog = page.getByRole('dialog', { name: 'Request' });
    await dialog.getByText('A ship at sea').waitFor();
    const repeats = dialog.getByRole('row', { name: 'Asked again' });
    expect(await repeats.textContent()).to.match(
      /2 times by its Idempotency-Key.*another prompt, seed was ignored/s,
    );
    expect(await findFaults(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: `Retry ${id}` }).click();
    await page.waitForURL(new RegExp(again));
    await dialog.getByRole('row', { name: 'Retry of' }).getByRole('link', { name: id }).click();
    await page.waitForURL(new RegExp(`request=free-video%2F${id}`));
    await page.route(`${path}/${id}/input`, (route) =>
      route.fulfill({ json: { parameters: null, files: [] } }),
    );
    await page.reload();
    await dialog.getByText('The input isn’t kept.').first().waitFor();
    expect(await dialog.getByRole('button', { name: `Retry ${id}` }).getAttribute('aria-disabled')).to.equal(
      'true',
    );
    await page.context().close();
  });

  it('cancels what waits, and keeps the filter in the address', async () => {
    const { open, stack } = use();
    const { baseURL, apiKey } = stack.endpoints.deployments.find(({ name }) => name === 'free-video')!;
    const body = { model: 'berth/free-video', prompt: 'A ship', resolution: '320x192', duration: 1 };
    const ids = [];
    // Enough to keep the last one queued until the end of the test.
    for (let index = 0; index < 20; index++)
      ids.push(await submit(`${baseURL}/videos/generations`, apiKey, body));
    const last = ids.at(-1)!;
    const page = await open('requests');
    await page.getByRole('button', { name: `Cancel ${last}` }).click();
    const row = page.getByRole('row').filter({ has: page.getByTitle(last) });
    await row.getByText('canceled', { exact: true }).waitFor();
    await page.getByRole('combobox', { name: 'Status' }).click();
    await page.getByRole('option', { name: 'canceled' }).click();
    await page.waitForURL(/status=canceled/);
    await page.reload();
    await row.waitFor();
    expect(await page.getByRole('row').count()).to.equal(2);
    await page.goto('/default/requests?deployment=free-video&status=queued');
    await page.getByRole('button', { name: /^Cancel all \d+ queued…$/ }).click();
    const dialog = page.getByRole('dialog', { name: /^Cancel \d+ queued requests$/ });
    await dialog.waitFor();
    expect(await findFaults(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Cancel them all' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByText('No matching requests').waitFor();
    await page.context().close();
  });
});

async function submit(url: string, key: string, body: object): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { id: string };
  if (response.status !== 202) throw new Error(JSON.stringify(answer));
  return answer.id;
}
