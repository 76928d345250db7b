/** What keeps people from using a page. */
import axe, { type Result, type RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';

/** All rules. Elements that pass are not reported, which takes longer than the check; no rule needs style sheets. */
const OPTIONS: RunOptions = { resultTypes: ['violations'], preload: { assets: ['media'] } };

/** The rules of which the result depends on colors. */
const COLOR_RULES: RunOptions = { runOnly: ['color-contrast', 'link-in-text-block'] };

/** One line for each fault, of any impact, with its element. `onlyColors`: where the same elements were checked in other colors. */
export async function findFaults(page: Page, onlyColors = false): Promise<string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe.source);
  const options = { ...OPTIONS, ...(onlyColors && COLOR_RULES) };
  const violations = await page.evaluate<Result[]>(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) => `${id} (${impact}): ${html.slice(0, 200)} ${failureSummary ?? ''}`,
    ),
  );
}
