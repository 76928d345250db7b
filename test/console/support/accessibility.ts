/** What keeps people from using a page. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

/** One line a fault of any impact, with the element at fault. */
export async function findFaults(page: Page): Promise<string[]> {
  // No page has frames: one page less to open for each look.
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) => `${id} (${impact}): ${html.slice(0, 200)} ${failureSummary ?? ''}`,
    ),
  );
}
