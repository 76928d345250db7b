/** Pages with data, drawers and dialogs are usable in every look. */
import type { Page } from 'playwright-core';
import { useConsole } from './support/console.ts';
import { expectUsable, LOOK } from './support/looks.ts';
import { listScenes, openScene } from './support/scenes.ts';

describe('everybody, light and dark, wide and narrow, where there is data,', () => {
  const use = useConsole();
  let page: Page;

  before(async () => {
    page = await use().open('deployments', LOOK);
  });
  after(() => page?.context().close());
  afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

  for (const scene of listScenes())
    it(`can use ${scene.name}`, () =>
      expectUsable(page, {
        name: scene.name,
        show: () => openScene(page, scene),
        isOpened: scene.open !== undefined,
      }));
});
