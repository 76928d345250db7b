/** A page as everybody sees it: light and dark, wide and narrow. */
import { join } from 'node:path';
import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { findFaults } from './accessibility.ts';
import type { Console } from './console.ts';
import { readExcess, settle } from './page-facts.ts';

const SCREENSHOTS = 'test/console/screenshots';
/** They take a seventh of the time of these tests. */
const isPictured = process.env.SCREENSHOTS === '1';
const VIEWPORTS = [
  { width: 1440, height: 900 },
  { width: 375, height: 740 },
];
const SCHEMES = ['light', 'dark'] as const;

/** For all such pages: without motion, no check measures an element that still moves. */
export const LOOK: BrowserContextOptions = { viewport: VIEWPORTS[0]!, reducedMotion: 'reduce' };

/** One signed-in page for all views of the calling `describe`; the returned function gives it once `before` has run. */
export function useLookedAtPage(use: () => Console): () => Page {
  let page: Page;
  before(async () => {
    page = await use().open('deployments', LOOK);
  });
  after(() => page?.context().close());
  return () => page;
}

export interface View {
  /** Also of its pictures, such as `usage-light-1440.png`, of the whole page. */
  name: string;
  show(page: Page): Promise<void>;
  /** The view is opened by a click, which has to be possible at any width. */
  isOpened?: boolean;
}

/** Axe finds nothing, and nothing is cut off: wide in light and dark, narrow in light. SCREENSHOTS=1 keeps pictures, and looks at narrow in dark, too. */
export async function expectUsable(page: Page, { name, show, isOpened = false }: View): Promise<void> {
  const faults: string[] = [];
  for (const viewport of VIEWPORTS) {
    await page.setViewportSize(viewport);
    if (isOpened || viewport === VIEWPORTS[0]) {
      await show(page);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByLabel('Loading').waitFor({ state: 'detached' });
    }
    for (const colorScheme of SCHEMES) {
      // An element has the same colors at any width.
      if (colorScheme === 'dark' && viewport !== VIEWPORTS[0] && !isPictured) continue;
      await page.emulateMedia({ colorScheme });
      await settle(page);
      const look = `${colorScheme}-${viewport.width}`;
      for (const fault of await findFaults(page, colorScheme === 'dark')) faults.push(`${look}: ${fault}`);
      const excess = await readExcess(page);
      if (excess > 0) faults.push(`${look}: ${excess} pixels stick out`);
      if (!isPictured) continue;
      const file = `${name.replaceAll(/[^a-z0-9]+/g, '-')}-${look}.png`;
      await page.screenshot({ path: join(SCREENSHOTS, file), fullPage: true });
    }
  }
  expect(faults).to.deep.equal([]);
}
