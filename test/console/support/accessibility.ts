/** What keeps people from using a page. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

const GRAVE = ['serious', 'critical'];

/** One line a fault, with the element at fault. */
export async function findGraveFaults(page: Page): Promise<string[]> {
  // No page has frames: one page less to open for each look.
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  return violations
    .filter(({ impact }) => GRAVE.includes(impact ?? ''))
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ''}`),
    );
}
