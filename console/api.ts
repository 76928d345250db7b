/**
 * What the console's page and its server say to each other, all under /api. Errors have the endpoints' envelope.
 * Bodies that do not fit the types below answer 400 with `param`. A write carries CSRF_HEADER. Without a session every
 * path but the first answers 401.
 */
import type { Condition } from '../api/kubernetes-types.ts';
import type { PublishedKey } from '../api/redis-keys.ts';

/** No page of another origin can send it without being asked. */
export const CSRF_HEADER = 'x-berth-console';

/**
 * `POST /api/session` with `{ token, namespace? }`: signs in with a Kubernetes bearer token. `namespace` is the default
 * namespace of users who cannot list namespaces and whose token names none. `GET`: who is signed in. `DELETE`: signs out.
 */
export interface SessionView {
  /** As the API server names them. */
  user: string;
  /** ISO. */
  expiresAt: string;
  /** Those in which they may see deployments; the first is where to begin. */
  namespaces: string[];
  version: string;
  /** ISO; null while Redis answers. What it alone knows is missing meanwhile. */
  redisAwaySince: string | null;
}

/** Below, `ns` is `/api/namespaces/{namespace}`. What a member may do there: `GET ns/access`. */
export interface AccessView {
  /** There is no such namespace; false also for those who may not know. */
  isMissing: boolean;
  manageKeys: boolean;
  manageWebhooks: boolean;
  manageStorage: boolean;
  rollSecret: boolean;
  readRequests: boolean;
  cancelRequests: boolean;
  readDeliveries: boolean;
  resendDeliveries: boolean;
  sendTests: boolean;
  readUsage: boolean;
  usePlayground: boolean;
}

/** `GET ns/deployments`, `GET ns/deployments/{name}`. */
export interface DeploymentView {
  name: string;
  kind: 'LLM' | 'Embedding' | 'Image' | 'Video';
  modelId: string;
  registrationId: number | null;
  /** What SDKs take for base URL, with /v1; null while it has none. */
  baseURL: string | null;
  state:
    | 'ready'
    | 'degraded'
    | 'starting'
    | 'unhealthy'
    | 'failing'
    | 'paused'
    | 'scaled-to-zero'
    | 'deleting';
  /** The first thing in the way; '' when it serves. */
  message: string;
  conditions: Condition[];
  replicas: { ready: number; wanted: number };
  /** Requests that wait and run; null for kinds that have none, or without the right to see. */
  queue: { waiting: number; running: number } | null;
  createdAt: string;
  /** For forms: what images and videos may be asked for. */
  media: {
    sizes: string[];
    imageInput: boolean;
    textInput: boolean;
    /** A pinned video model makes this only. */
    native: { seconds: number; fps: number } | null;
    steps: { min: number; max: number; default: number } | null;
  } | null;
}

/** `GET ns/keys`, `POST ns/keys` (answers NewKeyView), `PATCH ns/keys/{name}` (disabled), `DELETE ns/keys/{name}`. */
export interface KeyView {
  name: string;
  rpm: number;
  tpd: number;
  expiresAt: string | null;
  disabled: boolean;
  isReady: boolean;
  message: string;
  createdAt: string;
  usage: KeyUsage | null;
}
export interface KeyUsage {
  requestsThisMinute: number;
  tokensToday: number;
}
export interface NewKey {
  name: string;
  /** 60 by default. */
  rpm?: number;
  /** 1,000,000 by default. */
  tpd?: number;
  /** ISO with an offset; never if absent. */
  expiresAt?: string;
}
export interface NewKeyView {
  key: KeyView;
  /** Shown once, kept nowhere. */
  secret: string;
}

/**
 * `GET ns/webhooks`, `POST ns/webhooks`, `PATCH ns/webhooks/{name}`, `DELETE ns/webhooks/{name}`. POST and PATCH wait up
 * to 5 s for the operator's verdict on the URL: `refused` says what is wrong.
 */
export interface WebhookView {
  name: string;
  url: string;
  eventTypes: string[];
  enabled: boolean;
  state: 'active' | 'disabled' | 'auto-disabled' | 'refused' | 'pending';
  message: string;
  consecutiveFailures: number;
  createdAt: string;
}
export interface NewWebhook {
  name: string;
  url: string;
  /** All by default. */
  eventTypes?: string[];
}
export interface WebhookChange {
  url?: string;
  eventTypes?: string[];
  enabled?: boolean;
  /** Begins the count of failures anew. */
  reEnable?: true;
}
/** `POST ns/webhooks/{name}/test`: waits for the first attempt; null where that takes longer than 8 s. */
export interface TestView {
  eventId: string;
  delivery: DeliveryView | null;
}

/** `POST ns/signing-secret/roll`: takes SecretRoll, answers the new secret, shown once. */
export interface SecretRoll {
  /** The old one signs beside it for 24 h; else it ends at once. */
  keepOld: boolean;
}
export interface SigningSecretView {
  secret: string;
  /** Deliveries are signed with it. False: they will be once the operator has seen it. */
  isInEffect: boolean;
}

/**
 * `GET ns/deliveries?endpoint=&request=&state=&after=&limit=`: newest first, 200 at most, those after the one with the id
 * `after`. `endpoint=-` names inline callbacks.
 */
export interface DeliveryView {
  id: string;
  eventId: string;
  type: string;
  requestId: string | null;
  url: string;
  /** Null: the request's own callback. */
  endpoint: string | null;
  isTest: boolean;
  state: 'pending' | 'delivered' | 'failed';
  attempts: number;
  status: number | null;
  error: string | null;
  createdAt: string;
  endedAt: string | null;
}
/** `GET ns/deliveries/{id}`. */
export interface DeliveryDetail extends DeliveryView {
  /** What is sent; null once the event is not kept any more. */
  body: string | null;
  /** The latest attempts, oldest first. */
  history: { at: string; status: number | null; error: string }[];
}
/** `POST ns/deliveries/resend`: all failed ones since a time, of one endpoint or all. */
export interface Resend {
  /** `-`: inline callbacks. */
  endpoint?: string;
  /** ISO with an offset. */
  since: string;
}
/** Also of `POST ns/deliveries/{id}/resend`. */
export interface ResendView {
  resent: number;
  /** Whose events are not kept any more. */
  expired: number;
  /** Whose endpoints are gone, disabled or refused. */
  unreachable: number;
}

/**
 * `GET ns/requests?deployment=&status=&limit=&after=&id=`: of one deployment or all, newest first; those after the one with
 * the cursor `after`; `id`: that one alone.
 * `GET ns/requests/{deployment}/{id}`: with links to results. `POST ns/requests/{deployment}/{id}/cancel`.
 */
export interface RequestView {
  id: string;
  deployment: string;
  modality: 'image' | 'video';
  model: string;
  status: 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled';
  progress: number;
  size: string | null;
  seconds: string | null;
  queuedAt: string;
  startedAt: string | null;
  completedAt: string | null;
  errorCode: string | null;
  errorMessage: string | null;
  /** Where the next page begins; '' but of the last one of a page. */
  cursor: string;
}
export interface RequestDetail extends Omit<RequestView, 'cursor'> {
  /** Signed links; [] when there is nothing (any more) to see. */
  outputURLs: string[];
}

export const USAGE_RANGES = ['1h', '6h', '24h', '7d', '30d'] as const;
export type UsageRange = (typeof USAGE_RANGES)[number];
/** `GET ns/usage?deployment=&range=`: of one deployment or all. */
export interface UsageView {
  stepSeconds: number;
  points: UsagePoint[];
  /** Of the whole range. */
  total: Omit<UsagePoint, 'at'>;
  credit: CreditView;
}
export interface UsagePoint {
  at: string;
  requests: number;
  clientErrors: number;
  rateLimited: number;
  serverErrors: number;
  inputTokens: number;
  outputTokens: number;
  images: number;
  videos: number;
  videoSeconds: number;
  p50Ms: number | null;
  p95Ms: number | null;
  /** The most requests of one deployment that waited at once. */
  queuePeak: number;
}
/** In the currency of the prices; null = unlimited. */
export interface CreditView {
  granted: string | null;
  remaining: string | null;
}

/** `GET ns/storage-credentials`, `POST ns/storage-credentials`, `POST …/{name}/verify`, `DELETE …/{name}`. */
export interface StorageCredentialView {
  name: string;
  id: number | null;
  endpoint: string | null;
  region: string;
  bucket: string;
  prefix: string;
  pathStyle: boolean;
  state: 'verified' | 'failed' | 'pending';
  message: string;
  createdAt: string;
}
export interface NewStorageCredential {
  name: string;
  /** AWS if absent. */
  endpoint?: string;
  /** us-east-1 by default. */
  region?: string;
  bucket: string;
  prefix?: string;
  /** True by default. */
  pathStyle?: boolean;
  accessKeyId: string;
  secretAccessKey: string;
}

/**
 * The playground: `ns/deployments/{name}/v1/…` is the deployment's own endpoint with a key of five minutes:
 * POST chat/completions, completions, embeddings, images/generations, images/edits, videos, videos/generations;
 * GET models, requests/{id}. Answers, streams included, come as they are.
 */
export const PLAYGROUND_KEY_SECONDS = 300;
export const PLAYGROUND_LIMITS: Pick<PublishedKey, 'rpm' | 'tpd'> = { rpm: 60, tpd: 1_000_000 };
