/** The browser in which tests use the console of the cluster. */
import { type Browser, chromium } from 'playwright-core';
import { ensureChromium } from '../support/chromium.ts';

/** In a container whose /dev/shm is too small, the browser keeps its shared memory in /tmp. */
const ARGUMENTS = ['--no-sandbox', '--disable-dev-shm-usage'];

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: ensureChromium(), args: ARGUMENTS });
