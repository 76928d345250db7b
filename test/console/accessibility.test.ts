/** Every page, light and dark, wide and narrow: axe finds nothing grave, and nothing is cut off. */
import { expect } from 'chai';
import { findGraveFaults } from './support/accessibility.ts';
import { useConsole } from './support/console.ts';
import { readExcess } from './support/page-facts.ts';

const PAGES = [
  'deployments',
  'deployments/tiny-chat',
  'deployments/tiny-chat?tab=playground',
  'deployments/tiny-image?tab=playground',
  'deployments/free-video?tab=playground',
  'deployments/tiny-embed?tab=playground',
  'deployments/tiny-rerank?tab=playground',
  'deployments/tiny-chat?tab=replicas',
  'deployments/tiny-chat?tab=logs',
  'deployments/tiny-chat?tab=events',
  'deployments/tiny-chat?tab=conditions',
  'deployments/tiny-chat?tab=yaml',
  'deploy',
  'keys',
  'requests',
  'usage',
  'webhooks',
  'deliveries',
  'storage',
];
const LOOKS = [
  { name: 'light and wide', colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { name: 'dark and narrow', colorScheme: 'dark', viewport: { width: 375, height: 740 } },
] as const;

describe('everybody', () => {
  const use = useConsole();

  for (const { name, ...look } of LOOKS)
    for (const path of PAGES)
      it(`can use ${path}, ${name}`, async () => {
        const page = await use().open(path, look);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.getByLabel('Loading').waitFor({ state: 'detached' });
        expect(await findGraveFaults(page)).to.deep.equal([]);
        const excess = await readExcess(page);
        expect(excess, 'pixels that stick out').to.be.at.most(0);
        await page.context().close();
      });

  it('can use the dialogs of API keys', async () => {
    const page = await use().open('keys', { reducedMotion: 'reduce' });
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).waitFor();
    expect(await findGraveFaults(page)).to.deep.equal([]);
    await page.context().close();
  });
});
