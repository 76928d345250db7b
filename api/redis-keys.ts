/**
 * The table of Redis keys and channels. `c:{ws}:` is written by the operator and read by the workspace's gateways;
 * they write `w:{ws}:`; `g:` is only for the front and the operator. A workspace's keys share one hash tag.
 */

const tagged = (family: 'c' | 'w', namespace: string, rest: string) => `${family}:{${namespace}}:${rest}`;

export const configKeys = (namespace: string) => ({
  /** Hash: SHA-256 of a key → PublishedKey as JSON. */
  apiKeys: tagged('c', namespace, 'apikeys'),
  /** String, one per key of a signed-in user: PublishedKey as JSON. Redis removes it when it expires. */
  sessionKey: (sha256: string) => tagged('c', namespace, `session-key:${sha256}`),
  /**
   * Hash: fields of the workspace: `creditMicros` (absent = unlimited), `asyncRefusal` (why nothing may be queued on
   * this Redis; absent = it may), `signingSecret` (sealed), `ownerEmail`, `keepInputsMs`, `currency`; `owner:<name>`: the budget of an
   * owner (`encodeBudget` of api/budget.ts).
   */
  workspace: tagged('c', namespace, 'workspace'),
  /** Hash: deployment name → GatewayConfig as JSON. */
  deployments: tagged('c', namespace, 'deployments'),
  /**
   * Hash: deployment name → what each submission and claim reads, since the whole configuration costs more than the rest
   * of such a call: maxQueued, recordRetentionMs, milliseconds of a job, registrationId, with a space between. Absent
   * while the deployment is being deleted.
   */
  limits: tagged('c', namespace, 'limits'),
  /** Hash: deployment name → PublishedReplicas as JSON. */
  replicas: tagged('c', namespace, 'replicas'),
  /** Hash: `id:<id>` → PublishedCredential as JSON, `name:<name>` → the id. */
  credentials: tagged('c', namespace, 'credentials'),
  /** Hash: name of a WebhookEndpoint → PublishedEndpoint as JSON. */
  endpoints: tagged('c', namespace, 'endpoints'),
  /** List: how a deployment was scaled, oldest first (redis/demand/scaling-history.ts). */
  scaling: (deployment: string) => tagged('c', namespace, `scaling:${deployment}`),
  prefix: `c:{${namespace}}:`,
});

export const workKeys = (namespace: string) => ({
  /** Counter of one API key's minute. */
  rpm: (sha256: string) => tagged('w', namespace, `rpm:${sha256.slice(0, 24)}`),
  /** The same key's requests that no replica has counted: fronts have refused them, or hold them. */
  rpmWaiting: (sha256: string) => tagged('w', namespace, `rpm:${sha256.slice(0, 24)}:waiting`),
  /** Counter of one API key's tokens on one UTC day (days since 1970). */
  tpd: (sha256: string, day: number) => tagged('w', namespace, `tpd:${sha256.slice(0, 24)}:${day}`),
  /** String: when one API key was last used, Unix milliseconds (redis/usage/key-uses.ts). */
  used: (sha256: string) => tagged('w', namespace, `used:${sha256.slice(0, 24)}`),
  /** Counter of millionths spent. */
  credit: tagged('w', namespace, 'credit'),
  /** Counter of millionths that one budget has spent in one period (`nameCounter` of api/budget.ts). */
  spent: (counter: string) => tagged('w', namespace, `spent:${counter}`),
  /** The highest percentage at which a budget has warned in a period, for each of its amounts (`nameWarnings` of api/budget.ts). */
  warned: (warnings: string) => tagged('w', namespace, `warned:${warnings}`),
  /** Marker that one settlement is done, by the caller's token. */
  settled: (token: string) => tagged('w', namespace, `settled:${token}`),
  /** The debited amount of one charge, in millionths, by the caller's token; `0` once refunded. Then the counters of its budgets. */
  charged: (token: string) => tagged('w', namespace, `charged:${token}`),
  /**
   * Hash: pod name → Heartbeat as JSON without `at`; `@` and the pod name → `at`; `@` → the edition of all of them. Not in the
   * append-only file: they are repeated anyway.
   */
  heartbeats: (deployment: string) => tagged('w', namespace, `replicas:${deployment}`),
  /** Hash, as that of heartbeats: pod name of a front → FrontShare as JSON without `at`; `@` and the pod name → `at`. */
  fronts: (deployment: string) => tagged('w', namespace, `fronts:${deployment}`),
  /** Hash: the record of a request, as redis/requests/request-record.ts reads it. */
  request: (id: string) => tagged('w', namespace, `request:${id}`),
  /** String: the worker's parameters, sealed; removed when the request ends, or after `keepInputsMs`. */
  params: (id: string) => tagged('w', namespace, `params:${id}`),
  /** String: a video's prompt, sealed; removed with the record. */
  prompt: (id: string) => tagged('w', namespace, `prompt:${id}`),
  /** String: where the files of a succeeded request are (RequestOutput as JSON), or why one failed. */
  result: (id: string) => tagged('w', namespace, `result:${id}`),
  /** String: the id of the request that an idempotency key made, a space, and the fingerprint of its fields. */
  idempotency: (digest: string) => tagged('w', namespace, `idempotency:${digest}`),
  /** String: the id of the request that a worker's token claimed. */
  claimed: (token: string) => tagged('w', namespace, `claimed:${token}`),
  /** Sorted set: ids of a deployment's requests in one status, or all, by age in Unix microseconds; so all below. */
  index: (deployment: string, status: string) => tagged('w', namespace, `by:${deployment}:${status}`),
  /** Sorted set: waiting ids of one API key (24 digits of its hash). */
  queue: (deployment: string, apiKey: string) => tagged('w', namespace, `queue:${deployment}:${apiKey}`),
  /** Sorted set: API keys with waiting requests, by priority and last turn. */
  turns: (deployment: string) => tagged('w', namespace, `turns:${deployment}`),
  /** Sorted set: ids of running requests that lost their worker and wait for another. */
  again: (deployment: string) => tagged('w', namespace, `again:${deployment}`),
  /** Hash: `average_ms`, the moving average of a job's time. */
  pace: (deployment: string) => tagged('w', namespace, `pace:${deployment}`),
  /** Hash: usage counters (redis/usage/usage.ts) by minute of one hour, or by hour of one day, since 1970. */
  usage: (deployment: string, resolution: 'minute' | 'hour', period: number) =>
    tagged('w', namespace, `usage:${deployment}:${resolution}:${period}`),
  /** Hash: usage of each API key (24 digits of its hash) on one UTC day since 1970 (redis/usage/key-usage.ts). */
  keyUsage: (deployment: string, day: number) => tagged('w', namespace, `usage:${deployment}:keys:${day}`),
  /** Sorted set: the latest requests that have ended (redis/requests/recent-requests.ts), by when, Unix milliseconds. */
  recent: (deployment: string) => tagged('w', namespace, `recent:${deployment}`),
  /** Counter: the last batch of usage that was added for a writer, a gateway's (redis/usage/usage-batch.ts). */
  counted: (deployment: string, writer: string) => tagged('w', namespace, `counted:${deployment}:${writer}`),
  /** String: a gateway has just sampled the deployment's queue depth for these counters. */
  sampled: (deployment: string) => tagged('w', namespace, `sampled:${deployment}`),
  /** Sorted set: ids of running requests, by when (Unix ms) the sweeper considers their worker lost. */
  leases: tagged('w', namespace, 'leases'),
  /** Sorted set: ids of requests that have ended, by when (Unix ms) they are removed. */
  ended: tagged('w', namespace, 'ended'),
  /** Sorted set: names of deployments that had requests, by when (Unix ms) the sweeper last swept them. */
  deployments: tagged('w', namespace, 'deployments'),
  /** Sorted set: ids of events to deliver, by when (Unix ms) they are due. */
  outbox: tagged('w', namespace, 'outbox'),
  /** String: of an event in the outbox; the request's own callback or nothing, a line break, the body to send. */
  event: (id: string) => tagged('w', namespace, `event:${id}`),
  /** Sorted set: stored objects by when (Unix ms) they must be removed. */
  cleanup: tagged('w', namespace, 'cleanup'),
  /** Hash: a file of a batch, as redis/batches/batch-files.ts reads it. */
  file: (id: string) => tagged('w', namespace, `file:${id}`),
  /** Hash: a file's chunks by number: start, end, first line and lines, with a space between. */
  chunks: (fileId: string) => tagged('w', namespace, `chunks:${fileId}`),
  /** Sorted set: ids of a deployment's files, by age in Unix microseconds. */
  files: (deployment: string) => tagged('w', namespace, `files:${deployment}`),
  /** Hash: a batch, as redis/batches/batch-records.ts reads it. */
  batch: (id: string) => tagged('w', namespace, `batch:${id}`),
  /** Sorted set: ids of a deployment's batches, by age in Unix microseconds. */
  batches: (deployment: string) => tagged('w', namespace, `batches:${deployment}`),
  /** Sorted set: ids of a deployment's batches with lines left, by their last turn in Unix microseconds. */
  openBatches: (deployment: string) => tagged('w', namespace, `open-batches:${deployment}`),
  /** Sorted set: ids of the same batches of all deployments, by when (Unix ms) their lines are no longer run. */
  closingBatches: tagged('w', namespace, 'closing-batches'),
  /** Sorted set: a batch's chunks that wait, by number. */
  waitingChunks: (batchId: string) => tagged('w', namespace, `waiting-chunks:${batchId}`),
  /** Sorted set: its claimed chunks, by when (Unix ms) their worker counts as lost. */
  leasedChunks: (batchId: string) => tagged('w', namespace, `leased-chunks:${batchId}`),
  /** Hash: the token of each claimed chunk. */
  chunkClaims: (batchId: string) => tagged('w', namespace, `chunk-claims:${batchId}`),
  /** Hash: what each chunk that is done has written (BatchPart as JSON). */
  parts: (batchId: string) => tagged('w', namespace, `parts:${batchId}`),
  prefix: `w:{${namespace}}:`,
});

/** Webhook deliveries: only for the front and the operator. */
export const deliveryKeys = (namespace: string) => ({
  /** Sorted set: destinations with pending deliveries, by when (Unix ms) they are due. */
  destinations: `d:{${namespace}}:destinations`,
  /** Sorted set: ids of a destination's deliveries, by when (Unix ms) they are due. */
  due: (destination: string) => `d:{${namespace}}:due:${destination}`,
  /** Sorted set: ids of attempts in progress, by when (Unix ms) their lease ends. */
  leased: (destination: string) => `d:{${namespace}}:leased:${destination}`,
  /** Hash: one delivery. */
  delivery: (id: string) => `d:{${namespace}}:delivery:${id}`,
  /** String: the payload of one event. */
  body: (eventId: string) => `d:{${namespace}}:body:${eventId}`,
  /** Hash: bytes that events hold with their deliveries, by event, and `total`. */
  held: `d:{${namespace}}:held`,
  /** Sorted set: `event/delivery` of pending ones. */
  pending: `d:{${namespace}}:pending`,
  /** Sorted set: events without pending ones, by when (Unix ms) the last one ended. */
  kept: `d:{${namespace}}:kept`,
  /** List: the latest attempts of a delivery, oldest first: { at (Unix ms), code, error } as JSON. */
  attempts: (id: string) => `d:{${namespace}}:attempts:${id}`,
  /** Sorted set: ids of the latest 1,000 deliveries, by age in Unix microseconds. */
  log: `d:{${namespace}}:log`,
  /**
   * Hash: consecutive `failures` and `disabled_at` (Unix ms) of a WebhookEndpoint; `known`, once the operator saw it, identifies
   * this count.
   */
  endpoint: (name: string) => `d:{${namespace}}:endpoint:${name}`,
  /** Sorted set: permanently failed callbacks (AbandonedCallback as JSON), by when (Unix ms) the owner is notified. */
  mail: `d:{${namespace}}:mail`,
  /** String: the owner was notified of a delivery. */
  mailed: (deliveryId: string) => `d:{${namespace}}:mailed:${deliveryId}`,
  /** Counter of the messages of this hour; those beyond the limit are sent in one digest. */
  mails: `d:{${namespace}}:mails`,
  /** List: callbacks (AbandonedCallback as JSON) for that digest. */
  digest: `d:{${namespace}}:digest`,
});

export const globalKeys = {
  /** Hash: host name → `namespace/name`. */
  hosts: 'g:hosts',
  /** String; its absence means that Redis lost everything. */
  epoch: 'g:epoch',
  /** Hash: shows whether a restart keeps functions' writes (redis/durability.ts). */
  canary: 'g:canary',
  /** String: the epoch that a publication in progress will set; lost with other recent writes. */
  epochToBe: 'g:epoch-to-be',
  /** Set of namespaces that have published configuration. */
  workspaces: 'g:workspaces',
  /** Set of namespaces for the sweeper: those above, and removed ones with remaining work. */
  swept: 'g:swept',
  /** String, one per prefix of a workspace's request ids. Any gateway may check whether it exists. */
  requestPrefix: (prefix: string) => `g:prefix:${prefix}`,
} as const;

export const consoleKeys = {
  /** String: a sealed session, by the SHA-256 of its id. */
  session: (sha256: string) => `console:session:${sha256}`,
  /** String, for seconds: a console renews the token of this session. */
  renewal: (sha256: string) => `console:renewal:${sha256}`,
} as const;

export const channels = {
  /** Notifies a workspace's gateways that its configuration changed. */
  workspace: (namespace: string) => `n:{${namespace}}`,
  /** Notifies a deployment's workers of queued requests. */
  jobs: (namespace: string, deployment: string) => `n:{${namespace}}:jobs:${deployment}`,
  /** Notifies the front of events in the outbox, or of due deliveries. */
  events: (namespace: string) => `n:{${namespace}}:events`,
  /** Pattern of all workspaces' `jobs`. */
  allJobs: 'n:{*}:jobs:*',
  /** Pattern of all workspaces' `events`. */
  allEvents: 'n:{*}:events',
  /** Notifies the front that hosts, replicas or configuration changed. */
  front: 'n:front',
  /** Notifies the operator that a front needs a replica of a deployment: `namespace/name`. */
  wake: 'n:wake',
  /** Sends each console the SHA-256 of a session that ended. */
  consoleSessions: 'n:console:sessions',
} as const;

/** Prefix of names of keys that the console creates for a signed-in user: no APIKey can have such a name. */
export const PERSONAL_KEY_PREFIX = 'console:';
/** In usage by key, instead of the digits of their hashes: each lives for minutes, so all are counted as one. */
export const PERSONAL_KEYS_DIGITS = '0'.repeat(24);

/** Member of c:…:apikeys; short names, since it is decoded on every request. */
export interface PublishedKey {
  /** Name of the APIKey object. */
  n: string;
  rpm: number;
  tpd: number;
  /** Unix seconds; 0 = never. */
  exp: number;
  /** 1 = disabled. */
  off: 0 | 1;
  /** Priority, higher first; absent = 0. */
  pri?: number;
  /** Owner; absent = none. */
  own?: string;
  /** Deployments that it may call, with commas between; absent = all. */
  dep?: string;
  /** Budget (`encodeBudget` of api/budget.ts); absent = unlimited. */
  bud?: string;
}

/** A StorageCredential as gateways see it; only the front can open `sealed`. */
export interface PublishedCredential {
  v: 1;
  id: number;
  name: string;
  /** null = AWS. */
  endpoint: string | null;
  region: string;
  bucket: string;
  /** Prepended to every key. */
  prefix: string;
  pathStyle: boolean;
  /** `sealStorageKeys`, in the Redis key of this hash. */
  sealed: string;
  verified: boolean;
}

/** A WebhookEndpoint that the operator accepted. */
export interface PublishedEndpoint {
  v: 1;
  url: string;
  eventTypes: string[];
  enabled: boolean;
  /** Signed with its own secret, never with the workspace's. */
  hasOwnSecret?: true;
}

/** Ready replicas of a deployment, from its pods; the front connects to these on PORTS.http. */
export interface PublishedReplicas {
  addresses: string[];
  /** Number of all its pods, including starting and terminating ones; absent: no others, or an older operator. */
  pods?: number;
}

/** A process's load counters since its start: the difference of two readings is exact, even if some in between were lost. */
export interface WorkCounters {
  /** Random id of the process: with a new one, the counters restart. */
  boot: string;
  /**
   * Integral over time of requests being served or waiting for a slot, including jobs, in whole milliseconds: their average
   * number over any time is its difference by the time.
   */
  busyMs: number;
  /** Requests and jobs so far. */
  arrivals: number;
  /** Unix milliseconds by its own clock: when it last had work; initially, when it started. */
  activeAt: number;
}

/** A replica's report about itself. Constant while it is idle. */
export interface Heartbeat extends WorkCounters {
  v: 1;
  pod: string;
  address: string;
  port: number;
  inflight: number;
  /** How many of these have been queued within the engine for some seconds; absent: unknown, or changing. */
  waiting?: number;
  /** How many of these ran within the engine some seconds ago; absent: unknown. */
  running?: number;
  /** Percent of the engine's KV cache in use; absent: unknown. */
  cacheUse?: number;
  /** Requests that wait for one of its slots, of an adapter those at its endpoint; absent: none. */
  queued?: number;
  /** Slots; null = unlimited. */
  limit: number | null;
  ready: boolean;
  /** Abandoned jobs that its engine still works on; absent: none. */
  abandoned?: number;
  /** Its engine sleeps until a request arrives; absent: it does not. */
  asleep?: boolean;
  /** Its engine's name of the adapter that it has loaded; absent: none. */
  adapter?: string;
  /** Why its engine has not loaded the adapter, in the engine's words; absent: it has, or says nothing. */
  adapterError?: string;
  draining: boolean;
  version: string;
  /** Maximum milliseconds until its next one. */
  every: number;
  /** Unix milliseconds by Redis' clock; set by the function. */
  at: number;
}

/** One front's report on the demand for a deployment. */
export interface FrontShare {
  v: 1;
  /** Its pod. */
  front: string;
  /** Random id of the process: with a new one, the counters restart. */
  boot: string;
  /** Requests waiting for a replica. */
  held: number;
  /** Integral over time of those, in whole milliseconds. */
  heldMs: number;
  /** Requests so far that were refused only for want of a replica. */
  refused: number;
  /** Unix milliseconds by its own clock: when a request last found no replica. */
  wantedAt: number;
  /** Maximum milliseconds until its next report. */
  every: number;
  /** Unix milliseconds by Redis' clock; set by the function. */
  at: number;
}
