/** Conversations in the playground: what is kept, what is sent. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { ALL_RIGHTS, hold, refuse } from './support/answers.ts';
import { NAMESPACE, useConsole } from './support/console.ts';
import { isFocused } from './support/page-facts.ts';

const COMPLETIONS = '**/chat/completions';
const CHUNK = { choices: [{ delta: { content: 'A place to moor.' }, finish_reason: 'stop' }] };
const ANSWER = {
  contentType: 'text/event-stream',
  body: `data: ${JSON.stringify(CHUNK)}\n\ndata: [DONE]\n\n`,
};

describe('a conversation', () => {
  const use = useConsole();

  it('outlasts a glance at another tab, with the answer that is being written', async () => {
    const page = await openChat();
    const { letGo } = await hold(page, COMPLETIONS, 'POST', ANSWER);
    await send(page, 'What is a berth?');
    await page.getByRole('tab', { name: 'Conditions' }).click();
    letGo();
    await page.getByRole('tab', { name: 'Playground' }).click();
    await page.getByRole('log').getByText('A place to moor.').waitFor();
    expect(await page.getByRole('log').getByText('What is a berth?').count()).to.equal(1);
    await page.context().close();
  });

  it('gives back what was stopped before an answer began', async () => {
    const page = await openChat();
    await page.route(COMPLETIONS, () => {});
    await send(page, 'Tell me everything.');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped.').waitFor();
    expect(await page.getByLabel('Message').inputValue()).to.equal('Tell me everything.');
    expect(await page.getByRole('log').getByText('Tell me everything.').count()).to.equal(0);
    await page.context().close();
  });

  it('never sends two messages of the user in a row, also after a failure', async () => {
    const page = await openChat();
    const sent: { role: string; content: string }[][] = [];
    await page.route(COMPLETIONS, (route) => {
      sent.push(route.request().postDataJSON().messages);
      return route.fulfill(sent.length === 1 ? refuse(502, 'It broke.') : ANSWER);
    });
    await send(page, 'First');
    await page.getByText('It broke.').waitFor();
    await send(page, 'Second');
    await page.getByRole('log').getByText('A place to moor.').waitFor();
    expect(sent.at(-1)).to.deep.equal([{ role: 'user', content: 'Second' }]);
    expect(await page.getByRole('log').getByText('First', { exact: true }).count()).to.equal(0);
    await page.context().close();
  });

  it('sends what was entered before the rights were known once they are', async () => {
    const page = await use().open('deployments');
    const { letGo } = await hold(page, '**/access', 'GET', { json: ALL_RIGHTS });
    await page.route(COMPLETIONS, (route) => route.fulfill(ANSWER));
    await page.goto(`/${NAMESPACE}/deployments/tiny-chat?tab=playground`);
    await send(page, 'Hello');
    expect(await page.getByLabel('Message').inputValue()).to.equal('Hello');
    letGo();
    await page.getByRole('log').getByText('A place to moor.').waitFor();
    expect(await page.getByLabel('Message').inputValue()).to.equal('');
    await page.context().close();
  });

  it('is asked with the parameters that are set, which the code beside it has, too', async () => {
    const page = await openChat();
    const sent: Record<string, unknown>[] = [];
    await page.route(COMPLETIONS, (route) => {
      sent.push(route.request().postDataJSON());
      return route.fulfill(ANSWER);
    });
    await send(page, 'First');
    await page.getByText(/first token after/).waitFor();
    await page.getByLabel('System prompt').fill('Be brief.');
    await page.getByLabel('Temperature').fill('0.5');
    await page.getByLabel('Stop sequences').fill('END');
    await page.getByRole('tab', { name: 'Python' }).click();
    const code = page.getByRole('tabpanel', { name: 'Python' });
    await code.getByText('temperature=0.5,').waitFor();
    await page.getByRole('button', { name: 'New chat' }).click();
    await send(page, 'Second');
    await page.getByText(/first token after/).waitFor();
    const [plain, set] = sent;
    expect(Object.keys(plain!)).to.have.members(['model', 'messages', 'stream', 'stream_options']);
    expect(set).to.deep.include({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Second' },
      ],
      temperature: 0.5,
      stop: ['END'],
    });
    const lines = await code.locator('pre').textContent();
    expect(lines).to.include('"Be brief."').and.to.include('"Second"').and.to.include('stop=["END"],');
    await page.context().close();
  });

  it('shows below each answer its tokens, and how fast they came', async () => {
    const page = await openChat();
    await send(page, 'What is a berth?');
    const figures = page.getByRole('log').getByText(/tokens · first token after [\d.]+ m?s/);
    expect(await figures.textContent()).to.match(/^\d+ prompt tokens? · \d+ tokens? · first token after/);
    await page.context().close();
  });

  it('leaves whoever sets a parameter during an answer at its field', async () => {
    const page = await openChat();
    const { letGo } = await hold(page, COMPLETIONS, 'POST', ANSWER);
    await send(page, 'What is a berth?');
    await page.getByLabel('System prompt').focus();
    letGo();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    expect(await isFocused(page.getByLabel('System prompt'))).to.equal(true);
    await page.context().close();
  });

  const openChat = async (): Promise<Page> => {
    const page = await use().open('deployments/tiny-chat?tab=playground');
    await page.locator('button[type=submit]:not([aria-disabled])').waitFor();
    return page;
  };
});

async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  await page.getByLabel('Message').press('Enter');
}
