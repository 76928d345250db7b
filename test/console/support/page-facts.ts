/** Facts about a page that only a browser knows. */
import type { Locator, Page } from 'playwright-core';

/** Dialogs give focus back a moment after they are gone. */
const FOCUS_MS = 15_000;

export const isFocused = (locator: Locator): Promise<boolean> =>
  locator
    .and(locator.page().locator(':focus'))
    .waitFor({ timeout: FOCUS_MS })
    .then(
      () => true,
      () => false,
    );

/** The members of images and videos that are used here. */
interface Media {
  decode(): Promise<void>;
  naturalWidth: number;
  naturalHeight: number;
  readyState: number;
  videoWidth: number;
  addEventListener(event: string, listener: () => void): void;
}

/** `512x768` for each image, once it is decoded. */
export const readPictureSizes = (pictures: Locator): Promise<string[]> =>
  pictures.evaluateAll((elements) =>
    Promise.all(
      elements.map(async (element) => {
        const picture = element as unknown as Media;
        await picture.decode();
        return `${picture.naturalWidth}x${picture.naturalHeight}`;
      }),
    ),
  );

/** Resolves once the video's metadata are there. */
export const readVideoWidth = (video: Locator): Promise<number> =>
  video.evaluate(async (element) => {
    const player = element as unknown as Media;
    if (player.readyState === 0)
      await new Promise<void>((resolve) => player.addEventListener('loadedmetadata', () => resolve()));
    return player.videoWidth;
  });

/** Finishes transitions after the last change has been painted, including what observes sizes. */
export const settle = (page: Page): Promise<void> =>
  page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))).then(() => {
    for (const animation of document.getAnimations())
      if (animation.effect.getComputedTiming().endTime !== Infinity) animation.finish();
  })`);

/** How many pixels the page is wider than the screen. */
export const readExcess = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - innerWidth');

/** Size of scripts and styles, compressed as they were sent. */
export const readLoadedBytes = (page: Page): Promise<number> =>
  page.evaluate(`performance.getEntriesByType('resource')
    .filter(({ name }) => /\\.(js|css)$/.test(name))
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`);

/** Milliseconds from the start of the navigation to the largest paint so far. */
export const readLargestPaint = (page: Page): Promise<number> =>
  page.evaluate(`new Promise((resolve) =>
    new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime))
      .observe({ type: 'largest-contentful-paint', buffered: true }))`);

/** Watches from now on; the returned function gives the longest task of the page in milliseconds, 0 if none took 50 ms. */
export async function watchLongTasks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(`
    globalThis.longestTask = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.longestTask = Math.max(globalThis.longestTask, duration);
    }).observe({ type: 'longtask' });
  `);
  return () => page.evaluate('Math.round(globalThis.longestTask)');
}
