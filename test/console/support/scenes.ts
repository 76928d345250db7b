/** Pages with data that `make run` does not have, and what opens over pages: all responses are made up. */
import type { Page } from 'playwright-core';
import type { DeploymentView, LoadView, ProblemView, RecentRequestView } from '../../../console/api.ts';
import { listRequests, makeKey, makeRequest, makeSession } from './answers.ts';
import { NAMESPACE } from './console.ts';
import { makeHistory, makeUsage } from './histories.ts';

export interface Scene {
  /** Also of its screenshot. */
  name: string;
  /** Below the namespace. */
  path: string;
  /** By path below the namespace's API, which may have a query; `page`: of a real deployment. */
  answers?: Record<string, unknown>;
  /** Deployment `deployments/chat`: what differs from `tiny-chat`. */
  deployment?: Partial<DeploymentView>;
  /** Waits for what the path opens by itself. */
  wait?: (page: Page) => Promise<void>;
  /** Opens what the scene shows by clicks, and waits for it. */
  open?: (page: Page) => Promise<void>;
}

const NAME = 'chat';
const ago = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();
const id = (prefix: string, index: number): string => `${prefix}_${String(index).padStart(32, '0')}`;

const STATUSES = ['queued', 'running', 'succeeded', 'failed', 'canceled'];
const REQUESTS = STATUSES.map((status, index) => ({
  ...makeRequest(id('req', index), status),
  size: '832x480',
  seconds: '4',
  progress: 40,
  queuedAt: ago(index * 7),
  startedAt: index === 0 ? null : ago(index * 7 - 1),
  completedAt: index > 1 ? ago(index * 7 - 3) : null,
  ...(status === 'failed' && { errorCode: 'vram_exceeded', errorMessage: 'The GPU ran out of memory.' }),
  submitter: { kind: 'key', name: 'app', hint: 'sk-berth-…x3a0' },
  price: '0.04',
}));

const RECENT: RecentRequestView[] = [200, 200, 429, 502].map((status, index) => ({
  id: `chatcmpl-${String(index).repeat(24)}`,
  deployment: 'tiny-chat',
  route: 'chat_completions',
  status,
  errorCode: [null, null, 'rate_limit_exceeded', 'upstream_error'][index]!,
  endedAt: ago(index / 4),
  durationMs: [18_004, 912, 3, 640][index]!,
  waitMs: [14_200, 0, 0, 0][index]!,
  firstTokenMs: [15_120, 74, null, null][index]!,
  inputTokens: status === 200 ? 1_204 : null,
  outputTokens: status === 200 ? 96 : null,
  submitter: index === 1 ? { kind: 'playground', name: 'ada' } : { kind: 'key', name: 'app', hint: null },
}));

const PLACE = { position: 3, queued: 1_240, startsInMs: 150_000 };

const LISTED = listRequests(...REQUESTS);

const DELIVERIES = [
  { state: 'delivered', attempts: 1, status: 200, error: null },
  { state: 'pending', attempts: 0, status: null, error: null },
  { state: 'pending', attempts: 1, status: 500, error: 'answered 500' },
  { state: 'pending', attempts: 3, status: null, error: 'connect ECONNREFUSED' },
  { state: 'failed', attempts: 3, status: 503, error: 'answered 503' },
].map((delivery, index) => ({
  ...delivery,
  id: id('dlv', index),
  eventId: id('evt', index),
  type: 'request.completed',
  requestId: id('req', index),
  url: 'https://receiver.example/hooks/berth',
  endpoint: index === 1 ? null : 'receiver',
  isTest: index === 0,
  createdAt: ago(index * 3),
  endedAt: null,
}));
const DELIVERY = {
  ...DELIVERIES[4],
  body: JSON.stringify({ id: id('evt', 4), type: 'request.completed', data: { id: id('req', 4) } }),
  history: [1, 2, 3].map((attempt) => ({
    at: ago(3 - attempt / 10),
    status: 503,
    error: 'answered 503',
    tookMs: 120,
    requestHeaders: { 'content-type': 'application/json', 'webhook-id': id('evt', 4) },
    responseHeaders: { server: 'nginx' },
  })),
};

const WEBHOOKS = ['active', 'disabled', 'auto-disabled', 'refused', 'pending'].map((state, index) => ({
  name: `receiver-${index}`,
  url: `https://receiver-${index}.example/hooks/berth`,
  eventTypes: ['request.completed', 'request.failed'],
  enabled: state !== 'disabled',
  signingSecret: index === 0 ? 'Own' : 'Workspace',
  state,
  message: state === 'refused' ? 'The URL must have a public address.' : '',
  consecutiveFailures: index * 3,
  createdAt: ago(index * 600),
}));

const CREDENTIALS = ['verified', 'failed', 'pending'].map((state, index) => ({
  name: `results-${index}`,
  id: index === 2 ? null : 41 + index,
  endpoint: index === 0 ? null : 'https://s3.example.com',
  region: 'us-east-1',
  bucket: 'acme-results',
  prefix: 'berth/',
  pathStyle: index > 0,
  state,
  message: state === 'failed' ? 'AccessDenied: the key may not write to the bucket.' : 'Not verified yet.',
  createdAt: ago(index * 600),
}));

const KEYS = ['app', 'batch', 'old'].map((name, index) => ({
  ...makeKey(name),
  hint: `sk-berth-…${index}3a0`,
  disabled: index === 2,
  usage: { requestsThisMinute: index * 30, tokensToday: 400 + index * 600, lastUsedAt: ago(index * 90) },
}));
const KEY_USAGE = Array.from({ length: 12 }, (_, index) => ({
  key: index % 4 === 3 ? null : ['app', 'batch', 'old'][index % 3],
  keyHash: String(index).repeat(24).slice(0, 24),
  day: `2026-11-${String(24 - Math.floor(index / 4)).padStart(2, '0')}`,
  deployment: 'tiny-chat',
  model: 'berth/tiny-chat',
  requests: 1_200 * (index + 1),
  inputTokens: 480_000 * (index + 1),
  outputTokens: 96_000 * (index + 1),
  cost: (0.31 * (index + 1)).toFixed(2),
}));

const click = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();
const isOpen = async (page: Page) => page.getByRole('dialog').waitFor();
const openDialog = (name: string | RegExp) => async (page: Page) => {
  await click(name)(page);
  await isOpen(page);
};
const openKeyMenu = (item: string) => async (page: Page) => {
  await click('More actions for app')(page);
  await page.getByRole('menuitem', { name: item }).click();
  await isOpen(page);
};

const CRASH = `engine exited with code 1, 3 restarts: ValueError: The model needs 41.2 GiB for its KV cache, and 17.9 GiB are free.
Lower --max-model-len, or raise --gpu-memory-utilization.`;
const PROBLEMS: ProblemView[] = [
  {
    kind: 'credit',
    name: '',
    severity: 'error',
    title: 'Credit used up',
    message: 'Requests are rejected with HTTP 503.',
  },
  { kind: 'deployment', name: NAME, severity: 'error', title: 'Failing', message: CRASH },
  {
    kind: 'queue',
    name: 'film',
    severity: 'warning',
    title: 'Old queue',
    message: 'The oldest request has waited for 42 minutes.',
  },
].map((problem, index) => ({
  ...(problem as ProblemView),
  since: index === 0 ? null : ago(index * 500),
  runbook: 'not-ready',
}));

const LIVE_KEYS = { keys: KEYS, 'usage/keys/totals': [] };
const OWN = `deployments/${NAME}`;
const LOAD: LoadView = { inflight: 8, slots: 8, queued: 2, waiting: 3, cacheUse: 43 };

/** Times within are relative to the call. */
export const listScenes = (): Scene[] => [
  {
    name: 'scaling',
    path: `${OWN}?tab=scaling`,
    deployment: {
      scaling: {
        demand: 41.5,
        needed: 4,
        isShort: true,
        reason: 'demand 41.5 (average of 60 s) needs 4 replicas at 16 each',
        loadTime: '95s',
        lastChange: { at: ago(4), from: 1, to: 2, reason: 'demand 20 needs 2 replicas' },
      },
      size: { min: 0, max: 4 },
    },
    answers: { [`${OWN}/scaling`]: makeHistory(60, '1h') },
  },
  {
    name: 'load',
    path: `${OWN}?tab=load`,
    deployment: {},
    answers: { usage: makeUsage(60, 60) },
    wait: (page) => page.locator('svg.recharts-surface').nth(1).waitFor(),
  },
  {
    name: 'startup',
    path: `${OWN}?tab=replicas`,
    deployment: {
      state: 'starting',
      message: 'Weights are loading.',
      startup: {
        stages: [
          { stage: 'Scheduled', took: '2s' },
          { stage: 'Prepared', took: '41s' },
        ],
        current: { stage: 'WeightsLoaded', since: ago(1) },
        took: null,
        expected: '95s',
      },
    },
  },
  {
    name: 'crash',
    path: OWN,
    deployment: { state: 'failing', message: CRASH },
    wait: (page) => page.getByText('3 in the engine').waitFor(),
  },
  {
    name: 'problems with data',
    path: 'problems',
    answers: { problems: { problems: PROBLEMS, total: PROBLEMS.length } },
  },
  { name: 'speech', path: `${OWN}?tab=playground`, deployment: { kind: 'Speech' } },
  { name: 'transcription', path: `${OWN}?tab=playground`, deployment: { kind: 'Transcription' } },
  { name: 'requests with data', path: 'requests', answers: { requests: LISTED } },
  { name: 'latest requests', path: 'requests?view=all', answers: { 'recent-requests': RECENT } },
  ...[0, 1, 3].map((index) => ({
    name: `request ${STATUSES[index]}`,
    path: `requests?request=free-video/${id('req', index)}`,
    answers: {
      requests: LISTED,
      [`requests/free-video/${id('req', index)}`]: { ...REQUESTS[index], place: index === 0 ? PLACE : null },
    },
    wait: isOpen,
  })),
  { name: 'deliveries with data', path: 'deliveries', answers: { deliveries: DELIVERIES } },
  {
    name: 'delivery',
    path: `deliveries?delivery=${id('dlv', 4)}`,
    answers: { deliveries: DELIVERIES, [`deliveries/${id('dlv', 4)}`]: DELIVERY },
    open: async (page) => {
      await isOpen(page);
      await click(/^Show headers/)(page);
    },
  },
  { name: 'resend dialog', path: 'deliveries', open: openDialog('Resend failed') },
  { name: 'webhooks with data', path: 'webhooks', answers: { webhooks: WEBHOOKS } },
  {
    name: 'endpoint dialog',
    path: 'webhooks',
    answers: { webhooks: WEBHOOKS },
    open: openDialog('Edit receiver-0'),
  },
  { name: 'secret dialog', path: 'webhooks', open: openDialog('Roll the signing secret') },
  { name: 'storage with data', path: 'storage', answers: { 'storage-credentials': CREDENTIALS } },
  { name: 'credential dialog', path: 'storage', open: openDialog('New credential') },
  { name: 'key dialog', path: 'keys?new', answers: LIVE_KEYS, wait: isOpen },
  { name: 'limits dialog', path: 'keys', answers: LIVE_KEYS, open: openDialog('Edit app') },
  { name: 'roll dialog', path: 'keys', answers: LIVE_KEYS, open: openKeyMenu('Roll…') },
  { name: 'revoke dialog', path: 'keys', answers: LIVE_KEYS, open: openKeyMenu('Revoke…') },
  { name: 'scale dialog', path: OWN, deployment: {}, open: openDialog('Scale') },
  { name: 'delete dialog', path: OWN, deployment: {}, open: openDialog('Delete') },
  ...[
    { name: 'usage of an hour', steps: 3, stepSeconds: 60, range: '1h' },
    { name: 'usage of a month', steps: 120, stepSeconds: 21_600, range: '30d' },
  ].map(({ name, steps, stepSeconds, range }) => ({
    name,
    path: `usage?deployment=tiny-chat&range=${range}`,
    answers: { usage: makeUsage(steps, stepSeconds), 'usage/keys': KEY_USAGE },
    wait: (page: Page) => page.locator('svg.recharts-surface').nth(4).waitFor(),
  })),
  {
    name: 'database unreachable',
    path: 'deployments',
    answers: { '/api/session': { ...makeSession('ada', [NAMESPACE]).json, redisAwaySince: ago(3) } },
    wait: (page) => page.getByText('Database unreachable').waitFor(),
  },
];

/** `page` is signed in. */
export async function openScene(page: Page, scene: Scene): Promise<void> {
  const { path, answers = {}, deployment, wait, open } = scene;
  const base = `/api/namespaces/${NAMESPACE}`;
  const all = { ...answers };
  if (deployment) {
    const real = (await (await page.request.get(`${base}/deployments/tiny-chat`)).json()) as DeploymentView;
    all[OWN] = { ...real, name: NAME, ...deployment };
    all[`${OWN}/load`] = LOAD;
  }
  for (const [place, json] of Object.entries(all)) {
    const wanted = place.startsWith('/') ? place : `${base}/${place}`;
    await page.route(
      ({ pathname }) => pathname === wanted,
      (route) => (route.request().method() === 'GET' ? route.fulfill({ json }) : route.fallback()),
    );
  }
  await page.goto(`/${NAMESPACE}/${path}`);
  await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
  await wait?.(page);
  await open?.(page);
}
