/** What the console shows while it waits, is cut off, offline or has more to show. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { pollUntil } from '../support/poll.ts';
import { hold, listRequests, makeKey, makeRequest, makeSession } from './support/answers.ts';
import { NAMESPACE, useConsole } from './support/console.ts';
import { isFocused } from './support/page-facts.ts';

const COMPLETIONS = '**/chat/completions';
const START = Date.parse('2026-03-04T12:00:00Z');
const SLOW = 'The console is responding slowly.';

describe('feedback', () => {
  const use = useConsole();

  describe('of a server that is slow or away', () => {
    it('says after three seconds that it is waited for, for as long as it is', async () => {
      const page = await use().open('deployments');
      await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
      await page.clock.install({ time: START });
      await page.clock.pauseAt(START + 1_000);
      const { letGo } = await hold(page, '**/keys', 'GET', { json: [] });
      const asked = page.waitForRequest('**/keys');
      await page.getByRole('link', { name: 'API keys' }).click();
      await asked;
      await page.clock.runFor(2_999);
      expect(await page.getByText(SLOW).count()).to.equal(0);
      await page.clock.runFor(1);
      await page.getByText(SLOW).waitFor();
      letGo();
      await page.getByText(SLOW).waitFor({ state: 'detached' });
      await page.context().close();
    });

    it('is up to date as soon as the browser is online again', async () => {
      const page = await use().open('requests');
      await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
      const id = `req_${'d'.repeat(32)}`;
      await page.context().setOffline(true);
      await page.route('**/requests?*', (route) => route.fulfill({ json: listRequests(makeRequest(id)) }));
      await page.context().setOffline(false);
      await page.getByTitle(id).waitFor({ timeout: 15_000 });
      await page.context().close();
    });

    it('keeps the session while Redis is away, and says since when', async () => {
      const page = await use().open('deployments');
      const session = makeSession('ada', [NAMESPACE]);
      const redisAwaySince = '2026-01-02T03:04:05.000Z';
      await page.route('**/api/session', (route) =>
        route.fulfill({ json: { ...session.json, redisAwaySince } }),
      );
      await page.reload();
      await page.getByText('Database unreachable').waitFor();
      await page.getByText(/unreachable since .*2026/).waitFor();
      await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
      expect(await page.getByRole('button', { name: 'Sign in' }).count()).to.equal(0);
      await page.context().close();
    });

    it('says that a namespace does not exist', async () => {
      const page = await use().open('deployments');
      await page.goto('/nowhere-at-all/deployments');
      await page.getByText('Namespace "nowhere-at-all" not found').waitFor();
      expect(await page.getByText('No deployments yet').count()).to.equal(0);
      await page.context().close();
    });
  });

  it('says that an address is of no page, and of no deployment', async () => {
    const page = await use().open('deployments');
    await page.goto('/default/no-such-page/at-all');
    await page.getByRole('heading', { name: 'Page not found', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'All deployments' }).click();
    await page.waitForURL('**/default/deployments');
    await page.goto('/no-such-page');
    await page.getByRole('heading', { name: 'Page not found', level: 1 }).waitFor();
    await page.goto('/default/deployments/no-such-one');
    await page.getByRole('alert').filter({ hasText: 'Not found' }).waitFor();
    await page.context().close();
  });

  describe('of a playground', () => {
    const openChat = async (): Promise<Page> => {
      const page = await use().open('deployments/tiny-chat?tab=playground');
      await page.locator('button[type=submit]:not([aria-disabled])').waitFor();
      return page;
    };
    const send = async (page: Page, text: string) => {
      await page.getByLabel('Message').fill(text);
      await page.getByLabel('Message').press('Enter');
    };
    const answer = (content: string, isWhole = true) => ({
      contentType: 'text/event-stream',
      body:
        `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: isWhole ? 'stop' : null }] })}\n\n` +
        (isWhole ? 'data: [DONE]\n\n' : ''),
    });

    it('does not pull a reader to the end of a conversation, and follows one who is there', async () => {
      const page = await openChat();
      const log = page.getByRole('log');
      const long = 'A line of it.\n'.repeat(200);
      await page.route(COMPLETIONS, (route) => route.fulfill(answer(long)));
      await send(page, 'First');
      const readEnd = () => log.evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight);
      await log.getByText('A line of it.').waitFor();
      await pollUntil(async () => (await readEnd()) < 24, 'it follows');

      await page.unroute(COMPLETIONS);
      const { letGo } = await hold(page, COMPLETIONS, 'POST', answer(`And more.\n${long}`));
      await send(page, 'Second');
      await log.getByText('Second').waitFor();
      await log.hover();
      await page.mouse.wheel(0, -10_000);
      await pollUntil(
        async () => (await log.evaluate((node) => node.scrollTop)) === 0,
        'it is read from the top',
      );
      letGo();
      await log.getByText('And more.').waitFor();
      expect(await log.evaluate((node) => node.scrollTop)).to.equal(0);
      await page.context().close();
    });

    it('asks again where an answer was cut', async () => {
      const page = await openChat();
      let asked = 0;
      await page.route(COMPLETIONS, (route) =>
        route.fulfill(asked++ === 0 ? answer('The first half', false) : answer('All of it.')),
      );
      await send(page, 'Tell me.');
      await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('log').getByText('All of it.').waitFor();
      expect(await page.getByText('The first half').count()).to.equal(0);
      expect(await page.getByRole('log').getByText('Tell me.').count()).to.equal(1);
      await page.context().close();
    });

    it('cancels images that are waited for', async () => {
      const page = await use().open('deployments/tiny-image?tab=playground');
      await page.route('**/images/generations', () => {});
      await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('A harbour');
      await page.locator('button[type=submit]:not([aria-disabled])').click();
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.getByText('Canceled.').waitFor();
      await page.getByRole('button', { name: 'Generate' }).waitFor();
      expect(await page.getByRole('alert').count()).to.equal(0);
      await page.context().close();
    });
  });

  describe('of lists and numbers', () => {
    it('shows the usage of one deployment by default, in rounded numbers', async () => {
      const page = await use().open('deployments');
      const asked: (string | null)[] = [];
      await page.route('**/usage?*', async (route) => {
        asked.push(new URL(route.request().url()).searchParams.get('deployment'));
        const response = await route.fetch();
        const usage = (await response.json()) as { total: Record<string, number> };
        const total = { ...usage.total, videos: 8, videoSeconds: 36.0842, requests: 211.6667 };
        await route.fulfill({ response, json: { ...usage, total } });
      });
      await page.getByRole('link', { name: 'Usage' }).click();
      await page.getByText('8 videos of 36.1 s').waitFor();
      await page.getByText('211.7', { exact: true }).waitFor();
      expect(asked[0]).to.be.a('string').that.is.not.empty;
      await page.context().close();
    });

    it('shows a delivery that failed and is to be repeated as retrying', async () => {
      const page = await use().open('deployments');
      const delivery = {
        id: 'dlv_1',
        eventId: 'evt_1',
        requestId: null,
        type: 'request.completed',
        endpoint: 'mine',
        url: 'https://example.com/',
        isTest: false,
        state: 'pending',
        attempts: 1,
        createdAt: new Date().toISOString(),
        endedAt: null,
        status: 500,
        error: null,
      };
      await page.route('**/deliveries?*', (route) => route.fulfill({ json: [delivery] }));
      await page.getByRole('link', { name: 'Deliveries' }).click();
      const row = page.getByRole('row').filter({ hasText: 'request.completed' });
      await row.getByText('retrying', { exact: true }).waitFor();
      await row.getByText('1 of 3').waitFor();
      await page.context().close();
    });
  });

  describe('for keyboards, screen readers and eyes', () => {
    it('leads to the content by the first link of a page', async () => {
      const page = await use().open('deployments');
      await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
      await page.keyboard.press('Tab');
      const skip = page.getByRole('link', { name: 'Skip to content' });
      expect(await isFocused(skip)).to.equal(true);
      await page.keyboard.press('Enter');
      expect(await isFocused(page.getByRole('main'))).to.equal(true);
      await page.context().close();
    });

    it('goes from one theme to the next, and back to the system’s', async () => {
      const page = await use().open('deployments', { colorScheme: 'dark' });
      const readScheme = () => page.locator('html').getAttribute('data-mantine-color-scheme');
      const seen: (string | null)[] = [await readScheme()];
      for (const next of ['light', 'dark', 'system']) {
        await page.getByRole('button', { name: new RegExp(`switch to ${next} theme`) }).click();
        seen.push(await readScheme());
      }
      expect(seen).to.deep.equal(['dark', 'light', 'dark', 'dark']);
      await page.getByRole('button', { name: /^System theme/ }).waitFor();
      await page.context().close();
    });

    it('announces what was done', async () => {
      const page = await use().open('deployments');
      await page.route('**/keys', (route) => route.fulfill({ json: [makeKey('heard')] }));
      await page.route('**/keys/heard', (route) => route.fulfill({ status: 204 }));
      await page.getByRole('link', { name: 'API keys' }).click();
      await page.getByRole('button', { name: 'More actions for heard' }).click();
      await page.getByRole('menuitem', { name: 'Revoke…' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
      await page
        .getByTestId('announcer')
        .filter({ hasText: 'Revoked heard.' })
        .waitFor({ state: 'attached' });
      await page.context().close();
    });
  });
});
