/** Every page, with what `make run` has, is usable in every look. */
import { NAMESPACE, useConsole } from './support/console.ts';
import { expectUsable, LOOK, useLookedAtPage } from './support/looks.ts';

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
  'deployments/tiny-chat?tab=history',
  'deployments/tiny-chat?tab=yaml',
  'deploy',
  'problems',
  'keys',
  'requests',
  'usage',
  'webhooks',
  'deliveries',
  'storage',
  'members',
];

describe('everybody, light and dark, wide and narrow,', () => {
  const use = useConsole();
  const page = useLookedAtPage(use);

  for (const path of PAGES)
    it(`can use ${path}`, () =>
      expectUsable(page(), {
        name: path,
        show: async () => {
          await page().goto(`/${NAMESPACE}/${path}`);
        },
      }));

  it('can sign in', async () => {
    const { browser, url } = use();
    const context = await browser.newContext({ baseURL: url, ...LOOK });
    await expectUsable(await context.newPage(), {
      name: 'sign-in',
      show: async (signIn) => {
        await signIn.goto('/');
      },
    });
    await context.close();
  });
});
