/** Makes the pictures of the documents, `docs/pictures/`: `make pictures`. All that they show is made up, times included. */
import { join } from 'node:path';
import { mock } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { drawPattern } from '../../simulator/pictures.ts';
import { createRandom } from '../../simulator/random.ts';
import { listRequests, makeRequest } from './support/answers.ts';
import { useConsole } from './support/console.ts';
import { makeUsage } from './support/histories.ts';
import { settle } from './support/page-facts.ts';
import type { Scene } from './support/scenes.ts';

const FOLDER = 'docs/pictures';
const NOW = Date.parse('2026-11-24T14:32:00Z');
const MARGIN = 12;
/** Without the navigation, a picture is 196 px narrower. */
const WIDTH = 1_120;
/** More than any of them. */
const HEIGHT = 1_400;

// Only dates: with Playwright's clock, which replaces timers as well, the page of charts took five times as long.
const FIXED_DATE = `Date = class extends Date {
  constructor(...parts) {
    super(...(parts.length === 0 ? [${NOW}] : parts));
  }
  static now() {
    return ${NOW};
  }
};`;

const ago = (seconds: number): string => new Date(NOW - seconds * 1_000).toISOString();

// Scenes count their times from when they are made.
mock.timers.enable({ apis: ['Date'], now: NOW });
const { listScenes, openScene } = await import('./support/scenes.ts');
const SCENES = listScenes();
const USAGE = makeUsage(60, 60);
mock.timers.reset();

const change = (name: string, changes: Partial<Scene>): Scene => ({
  ...SCENES.find((scene) => scene.name === name)!,
  ...changes,
});

const CHAT = {
  modelId: 'qwen/qwen3-8b',
  baseURL: 'https://chat--default.models.example.com/v1',
  engine: { preset: 'vllm', family: 'qwen3' },
  createdAt: ago(9 * 86_400),
  startup: null,
};

const IMAGE = {
  ...makeRequest(`req_${'3f8c21d05b7e4a96'.repeat(2)}`, 'succeeded'),
  deployment: 'tiny-image',
  modality: 'image',
  model: 'berth/tiny-image',
  size: '256x256',
  images: 1,
  price: '0',
  queuedAt: ago(95),
  startedAt: ago(93),
  completedAt: ago(84),
  submitter: { kind: 'key', name: 'make-run', hint: 'sk-berth-…x3a0' },
  outputURLs: [
    `data:image/png;base64,${(await drawPattern({ width: 256, height: 256 }, createRandom(8))).toString('base64')}`,
  ],
};

interface Picture {
  scene: Scene;
  /** What is seen, with a margin. */
  show: (page: Page) => Locator;
  /** What it ends with, if not with all of that. */
  last?: (page: Page) => Locator;
  width?: number;
}

const showPage = (page: Page): Locator => page.locator('#main > .mantine-Stack-root');
const showDialog = (page: Page): Locator => page.getByRole('dialog');

/** By the name of the file. */
const PICTURES: Record<string, Picture> = {
  deployment: {
    scene: { name: '', path: 'deployments/chat', deployment: CHAT, answers: { usage: USAGE } },
    show: showPage,
  },
  'new-key': {
    scene: change('key dialog', {
      open: async (page) => {
        await page.getByRole('textbox', { name: 'Name' }).fill('trial');
        await page.getByLabel('Requests per minute').fill('3');
      },
    }),
    show: showDialog,
  },
  'image-request': {
    scene: {
      name: '',
      path: `requests?request=tiny-image/${IMAGE.id}`,
      answers: {
        requests: listRequests(IMAGE),
        [`requests/tiny-image/${IMAGE.id}`]: IMAGE,
        [`requests/tiny-image/${IMAGE.id}/input`]: { parameters: { prompt: 'A harbor at dawn' }, files: [] },
      },
      wait: (page) => page.getByRole('dialog').getByRole('img', { name: 'Image' }).waitFor(),
    },
    show: showDialog,
    last: (page) => page.getByRole('table', { name: 'Details' }),
  },
  load: {
    scene: change('load', { deployment: CHAT }),
    show: (page) => page.getByRole('tablist', { name: 'About this deployment' }).locator('..'),
  },
  usage: {
    scene: change('usage of a month', {}),
    show: showPage,
    last: (page) => page.getByRole('region', { name: 'Requests', exact: true }),
    width: 1_280,
  },
  problems: {
    scene: change('problems with data', {
      open: (page) => page.getByRole('button', { name: /^engine exited/ }).click(),
    }),
    show: showPage,
  },
  'slowest-requests': {
    scene: change('latest requests', { path: 'requests?view=all&sort=-duration' }),
    show: showPage,
    width: 1_400,
  },
};

describe('pictures of the documents', () => {
  const use = useConsole();
  let page: Page;
  before(async () => {
    page = await use().open('deployments', {
      colorScheme: 'light',
      locale: 'en-US',
      timezoneId: 'UTC',
      reducedMotion: 'reduce',
    });
    await page.addInitScript(FIXED_DATE);
  });
  after(() => page?.context().close());
  afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

  for (const [name, { scene, show, last = show, width = WIDTH }] of Object.entries(PICTURES))
    it(name, async () => {
      await page.setViewportSize({ width, height: HEIGHT });
      await openScene(page, scene);
      await page.getByLabel('Loading').waitFor({ state: 'detached' });
      // Nothing is focused or hovered.
      await page.evaluate('document.activeElement.blur()');
      await page.mouse.move(0, 0);
      await settle(page);
      const clip = findClip(await findBox(show(page)), await findBox(last(page)));
      const shot = await page.screenshot({ clip });
      await sharp(shot)
        .png({ palette: true })
        .toFile(join(FOLDER, `${name}.png`));
    });
});

type Box = NonNullable<Awaited<ReturnType<Locator['boundingBox']>>>;

const findBox = async (seen: Locator): Promise<Box> => (await seen.boundingBox())!;

function findClip({ x, y, width }: Box, last: Box): Box {
  const left = Math.max(0, x - MARGIN);
  const top = Math.max(0, y - MARGIN);
  const right = x + width + MARGIN;
  return { x: left, y: top, width: right - left, height: last.y + last.height + MARGIN - top };
}
