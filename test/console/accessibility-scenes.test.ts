/** Pages with data, drawers and dialogs are usable in every look. */
import { useConsole } from './support/console.ts';
import { expectUsable, useLookedAtPage } from './support/looks.ts';
import { listScenes, openScene } from './support/scenes.ts';

describe('everybody, light and dark, wide and narrow, where there is data,', () => {
  const page = useLookedAtPage(useConsole());
  afterEach(() => page().unrouteAll({ behavior: 'ignoreErrors' }));

  for (const scene of listScenes())
    it(`can use ${scene.name}`, () =>
      expectUsable(page(), {
        name: scene.name,
        show: () => openScene(page(), scene),
        isOpened: scene.open !== undefined,
      }));
});
