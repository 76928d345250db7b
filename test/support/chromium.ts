/** The browser of the tests: Chromium without what draws windows, which takes a quarter less CPU. */
import { ensureProgram } from '../../machine/system-package.ts';

/** Its path; installed if it is missing. */
export const ensureChromium = (): string =>
  ensureProgram('chromium-headless-shell', 'chromium-headless-shell');
