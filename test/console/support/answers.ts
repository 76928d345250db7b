/** Made-up responses of the console's server. */
import type { Page, Route } from 'playwright-core';

export const refuse = (status: number, message = 'Not now.') => ({
  status,
  json: { error: { code: 'made_up', message, param: null } },
});

export const ALL_RIGHTS = {
  isMissing: false,
  manageDeployments: true,
  readReplicas: true,
  readLogs: true,
  readEvents: true,
  readHistory: true,
  restartReplicas: true,
  manageKeys: true,
  manageWebhooks: true,
  manageStorage: true,
  rollSecret: true,
  readRequests: true,
  cancelRequests: true,
  readDeliveries: true,
  resendDeliveries: true,
  sendTests: true,
  readUsage: true,
  usePlayground: true,
};

export const makeSession = (user: string, namespaces: string[]) => ({
  json: {
    user,
    namespaces,
    expiresAt: '2100-01-01T00:00:00.000Z',
    version: '0',
    documentationURL: null,
    redisAwaySince: null,
  },
});

export const makeKey = (name: string) => ({
  name,
  hint: null,
  rpm: 60,
  tpd: 1000,
  priority: 0,
  expiresAt: null,
  disabled: false,
  owner: null,
  deployments: null,
  budget: null,
  isReady: true,
  message: '',
  createdAt: new Date().toISOString(),
  creator: null,
  usage: null,
});

export const makeRequest = (id: string, status = 'running') => ({
  id,
  deployment: 'free-video',
  modality: 'video',
  model: 'berth/free-video',
  status,
  progress: 10,
  size: null,
  seconds: null,
  queuedAt: new Date().toISOString(),
  startedAt: null,
  completedAt: null,
  errorCode: null,
  errorMessage: null,
  outputURLs: [],
  submitter: null,
  price: null,
  images: null,
  retryOf: null,
  retriedAs: null,
  replays: null,
  place: null,
});

/** A list's only page. */
export const listRequests = (...requests: object[]) => ({
  requests,
  older: null,
  searchedTo: null,
});

type Answer = Parameters<Route['fulfill']>[0];

/** Holds back the response to these requests until `letGo` is called. */
export async function hold(page: Page, url: string | RegExp, method: string, answer: Answer) {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(url, async (route) => {
    if (route.request().method() !== method) return route.fallback();
    await promise;
    // The page may be gone by then.
    await route.fulfill(answer).catch(() => {});
  });
  return { letGo: resolve };
}

/** Watches for the text from now on; the returned function says whether it was visible, however briefly. */
export async function watchFor(page: Page, text: string): Promise<() => Promise<boolean>> {
  await page.evaluate(`(() => {
    globalThis.wasSeen = false;
    const look = () => { globalThis.wasSeen ||= document.body.textContent.includes(${JSON.stringify(text)}); };
    look();
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
  })()`);
  return () => page.evaluate('globalThis.wasSeen');
}
