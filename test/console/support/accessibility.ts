/** What keeps people from using a page. */
import axe, { type Result, type RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';

/** All rules. What passes them is not described, which takes longer than to check it; no rule reads style sheets. */
const OPTIONS: RunOptions = { resultTypes: ['violations'], preload: { assets: ['media'] } };

/** One line a fault of any impact, with the element at fault. */
export async function findFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe.source);
  const violations = await page.evaluate<Result[]>(
    `axe.run(document, ${JSON.stringify(OPTIONS)}).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) => `${id} (${impact}): ${html.slice(0, 200)} ${failureSummary ?? ''}`,
    ),
  );
}
