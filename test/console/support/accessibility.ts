/** What keeps people from using a page. */
import axe, { type Result, type RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';

/** All rules. Elements that pass are not reported, which takes longer than the check; no rule needs style sheets. */
const OPTIONS: RunOptions = { resultTypes: ['violations'], preload: { assets: ['media'] } };

/** One line for each fault, of any impact, with its element. */
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
