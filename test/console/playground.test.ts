/** The playground, with every kind of model. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { useConsole } from './support/console.ts';
import { isFocused, readPictureSizes, readVideoWidth } from './support/page-facts.ts';

describe('the playground', () => {
  const use = useConsole();
  const openFor = (name: string): Promise<Page> => use().open(`deployments/${name}?tab=playground`);
  const findMessages = (page: Page) => page.getByRole('log').getByText(/^(You|Model)$/);

  it('holds a conversation, by keyboard alone', async () => {
    const page = await openFor('tiny-chat');
    const input = page.getByLabel('Message');
    // Until the page knows what its user may do, Enter does nothing.
    await page
      .locator('button:not([aria-disabled])')
      .filter({ hasText: /^Send$/ })
      .waitFor();
    const send = async (text: string) => {
      await input.fill(text);
      await input.press('Enter');
      await page.locator('[role=log][aria-busy=false]').waitFor();
    };
    await send('What is a berth?');
    await page.getByRole('log').getByText('Model', { exact: true }).waitFor();
    await send('And a harbour?');
    expect(await findMessages(page).allTextContents()).to.deep.equal(['You', 'Model', 'You', 'Model']);
    expect(await isFocused(input)).to.equal(true);
    await page.context().close();
  });

  it('stops an answer that is being written', async () => {
    const page = await openFor('tiny-chat');
    // Delayed, so that there is time to stop it.
    await page.route('**/chat/completions', () => {});
    await page.getByLabel('Message').fill('Tell me everything.');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped.').waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await page.context().close();
  });

  it('explains why a paused deployment does not respond', async () => {
    const page = await openFor('paused-chat');
    await page.getByLabel('Message').fill('Hello?');
    await page.getByRole('button', { name: 'Send' }).click();
    const fault = page.getByRole('alert').filter({ hasText: 'No replica ready' });
    expect(await fault.textContent()).to.include('paused');
    await page.context().close();
  });

  it('shows how many dimensions a text has', async () => {
    const page = await openFor('tiny-embed');
    await page.getByLabel('Text').fill('A harbor at dawn');
    await page.getByRole('button', { name: 'Embed' }).click();
    expect(await page.getByRole('status').textContent()).to.match(/^[1-9]\d* dimensions/);
    await page.context().close();
  });

  it('puts the text that fits a query first', async () => {
    const page = await openFor('tiny-rerank');
    await page.getByLabel('Query').fill('Where do ships dock?');
    await page.getByLabel('Texts, one per line').fill('Bread is baked at night.\nShips dock at a berth.');
    await page.getByRole('button', { name: 'Rerank' }).click();
    // Waits for the answer, as `allTextContents` would not.
    const texts = page.getByRole('table').getByRole('cell', { name: /ships|bread/i });
    expect(await texts.first().textContent()).to.equal('Ships dock at a berth.');
    await page.context().close();
  });

  it('speaks a text, and writes down what is said in a file', async () => {
    const speaking = await openFor('tiny-speech');
    await speaking.getByRole('textbox', { name: 'Text', exact: true }).fill('A ship leaves at dawn.');
    await speaking.getByRole('combobox', { name: 'Format' }).click();
    await speaking.getByRole('option', { name: 'wav' }).click();
    await speaking.getByRole('button', { name: 'Speak' }).click();
    const download = speaking.waitForEvent('download');
    await speaking.getByRole('link', { name: 'Download speech.wav' }).click();
    const sound = await (await download).path();
    const writing = await openFor('tiny-transcription');
    await writing.locator('input[type=file]').setInputFiles(sound);
    await writing.getByRole('button', { name: 'Transcribe' }).click();
    expect(await writing.getByRole('status', { name: 'Transcript' }).textContent()).to.match(/\w/);
    for (const page of [speaking, writing]) await page.context().close();
  });

  it('makes as many pictures as wanted, of the wanted size', async () => {
    const page = await openFor('tiny-image');
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('A harbor at dawn');
    await page.getByRole('combobox', { name: 'Size' }).click();
    await page.getByRole('option', { name: '512x768' }).click();
    await page.getByLabel('Images', { exact: true }).fill('2');
    await page.getByRole('button', { name: 'Generate', exact: true }).click();
    await page.getByRole('img', { name: 'Image 2' }).waitFor();
    expect(await readSizes(page)).to.deep.equal(['512x768', '512x768']);
    await page.context().close();
  });

  it('makes a picture in the background where every replica is busy', async () => {
    const page = await openFor('tiny-image');
    await page.route('**/images/generations', (route) =>
      route.fulfill({
        status: 429,
        json: { error: { code: 'replica_saturated', message: 'Every replica is busy.' } },
      }),
    );
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('A harbor at dawn');
    await page.getByRole('button', { name: 'Generate', exact: true }).click();
    await page.getByText('Every replica is busy.').waitFor();
    await page.getByRole('button', { name: 'Generate in the background' }).click();
    await page.getByRole('img', { name: 'Image' }).waitFor({ timeout: 30_000 });
    expect(await readSizes(page)).to.deep.equal(['1024x1024']);
    await page.context().close();
  });

  it('makes a video from a picture, and plays it', async () => {
    const page = await openFor('free-video');
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('The ship leaves');
    await page.getByLabel('Seconds').fill('1');
    await page.locator('input[type=file]').setInputFiles({
      name: 'ship.png',
      mimeType: 'image/png',
      buffer: await drawPicture(),
    });
    await page.getByRole('button', { name: 'Generate', exact: true }).click();
    const video = page.locator('video');
    await video.waitFor({ timeout: 45_000 });
    expect(await readVideoWidth(video)).to.equal(720);
    await page.context().close();
  });

  const readSizes = (page: Page) => readPictureSizes(page.getByRole('img', { name: /^Image/ }));
});

async function drawPicture(): Promise<Buffer> {
  const { default: sharp } = await import('sharp');
  return sharp({ create: { width: 64, height: 64, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
}
