/** What tests of the console share: `make run`, a Chromium, and pages in it that are signed in. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { ensureChromium } from '../../support/chromium.ts';
import { type LocalStack, startLocalStack } from '../../support/local-stack.ts';

export const NAMESPACE = 'default';

export interface Console {
  stack: LocalStack;
  url: string;
  token: string;
  browser: Browser;
  /** A page at `/{namespace}/{path}`, signed in. */
  open(path: string, options?: BrowserContextOptions): Promise<Page>;
  /** What went wrong in opened pages: uncaught errors, and violations of the content security policy. */
  faults: string[];
}

let running: Promise<Console> | undefined;

/** The one console of all tests of this process; the returned function gives it once `before` has run. */
export function useConsole(): () => Console {
  let console_: Console;
  before(async function () {
    this.timeout(180_000);
    running ??= start();
    console_ = await running;
  });
  afterEach(() => {
    const faults = console_.faults.splice(0);
    if (faults.length > 0) throw new Error(`the page broke:\n${faults.join('\n')}`);
  });
  return () => console_;
}

// In the root suite, so it runs after the last file.
after(async () => {
  const last = await running?.catch(() => undefined);
  await last?.browser.close();
  await last?.stack.stop();
});

async function start(): Promise<Console> {
  const executablePath = ensureChromium();
  const stack = await startLocalStack();
  try {
    return { stack, ...(await openBrowser(stack, executablePath)) };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

async function openBrowser({ endpoints }: LocalStack, executablePath: string) {
  if (!endpoints.console) throw new Error('make run has no console');
  const { url, token } = endpoints.console;
  const browser = await chromium.launch({
    executablePath,
    // Chromium has no sandbox where it runs as root.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  const cookies = await readCookies(browser, url, token);
  const faults: string[] = [];
  const open = async (path: string, options: BrowserContextOptions = {}) => {
    const context = await browser.newContext({ baseURL: url, ...options });
    await context.addCookies(cookies);
    context.on('weberror', (event) => faults.push(event.error().message));
    context.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) faults.push(message.text());
    });
    const page = await context.newPage();
    await page.goto(`/${NAMESPACE}/${path}`);
    return page;
  };
  return { url, token, browser, open, faults };
}

/** Signs in as people do. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel(/^Token\b/).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function readCookies(browser: Browser, url: string, token: string) {
  const context = await browser.newContext({ baseURL: url });
  const page = await context.newPage();
  await page.goto('/');
  await signIn(page, token);
  await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
  const cookies = await context.cookies();
  await context.close();
  return cookies;
}
