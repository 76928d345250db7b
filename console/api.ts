/** What the console's server answers its page, by the routes in `routes.ts`. */
import type { BudgetPeriod } from '../api/budget.ts';
import type { Condition } from '../api/kubernetes-types.ts';
import type { StartupStage } from '../api/model-startup.ts';
import type { PublishedKey } from '../api/redis-keys.ts';
import type { SpecDifference } from '../api/spec-difference.ts';
import type { UsageCounts } from '../api/usage.ts';

/** Pages of other origins cannot send it without a preflight request. */
export const CSRF_HEADER = 'x-berth-console';

/** Who is signed in. */
export interface SessionView {
  /** The user's name in the API server. */
  user: string;
  /** ISO. */
  expiresAt: string;
  /** Namespaces in which the user can list deployments; the first is the default. */
  namespaces: string[];
  version: string;
  /** The documentation that the installation names. */
  documentationURL: string | null;
  /** ISO; null while Redis is available. Data that exists only in Redis is missing meanwhile. */
  redisAwaySince: string | null;
}

/** Where the browser goes to sign out of the identity provider, too. */
export interface SignOutView {
  url: string;
}

/** How to sign in. */
export interface SignInView {
  /** null: with tokens only. `name`: of the identity provider; null if it has none. */
  oidc: { name: string | null } | null;
  /** Why the last sign-in by OIDC failed; reported once. */
  error: string | null;
}

export interface OIDCSignInView {
  /** The identity provider's URL, for the browser to go to. */
  url: string;
}

/** The redirect URI that is registered at the identity provider, after the console's origin. */
export const OIDC_CALLBACK_PATH = '/api/oidc/callback';

/** The user's permissions in a namespace. */
export interface AccessView {
  /** The namespace does not exist; false also for users who cannot read namespaces. */
  isMissing: boolean;
  manageDeployments: boolean;
  readReplicas: boolean;
  readLogs: boolean;
  readEvents: boolean;
  readHistory: boolean;
  restartReplicas: boolean;
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

export interface DeploymentView {
  name: string;
  kind: 'LLM' | 'Embedding' | 'Rerank' | 'Image' | 'Video' | 'Transcription' | 'Speech';
  modelId: string;
  registrationId: number | null;
  /** The base URL for SDKs, with /v1; null while there is none. */
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
  /** The first problem; '' if there is none. */
  message: string;
  conditions: Condition[];
  isPaused: boolean;
  /** The program that writes the spec from a source of its own, such as `Argo CD`, and so undoes changes; null if there is none. */
  source: string | null;
  replicas: { ready: number; wanted: number };
  /** The spec's replicas: a number, or the limits of the autoscaler. */
  size: { replicas: number } | { min: number; max: number };
  /** What the autoscaler sees and does; null for a deployment without `scaling`, or before its first sample. */
  scaling: {
    /** Requests in flight, waiting and held, on average. */
    demand: number;
    /** Replicas that the demand needs. */
    needed: number;
    /** The cluster lacks capacity for all of them. */
    isShort: boolean;
    reason: string;
    /** From the scheduling of a pod to its readiness, such as `95s`; null before it was measured. */
    loadTime: string | null;
    lastChange: { at: string; from: number; to: number; reason: string } | null;
  } | null;
  /** How the last start of a replica went, or goes; null before the first. */
  startup: {
    /** Those that are complete, such as `Scheduled` after `2s`. */
    stages: { stage: StartupStage; took: string }[];
    /** What it is waiting for; null once it is ready. */
    current: { stage: StartupStage; since: string } | null;
    took: string | null;
    expected: string | null;
  } | null;
  /**
   * Waiting requests, those of them that are queued and not waiting for another worker, running ones, and abandoned ones that
   * engines still work on; null for kinds without a queue, or without permission.
   */
  queue: { waiting: number; queued: number; running: number; abandoned: number } | null;
  createdAt: string;
  /** The deployment whose pods serve it as a LoRA adapter; null: it has pods of its own. */
  adapterOf: string | null;
  /** What the engine was started with. */
  engine: {
    preset: string;
    family?: string;
    toolCallParser?: string;
    reasoningParser?: string;
    chatTemplate?: string;
    /** What it cannot do. */
    message?: string;
  };
  /** Whether streams continue when their engine dies. */
  continuesStreams: boolean;
  /** As the spec has them; empty where all is free. */
  prices: { of: string; amount: string }[];
  /** For forms: supported parameters of images and videos. */
  media: {
    sizes: string[];
    imageInput: boolean;
    textInput: boolean;
    /** The only length and frame rate of a pinned video model. */
    native: { seconds: number; fps: number } | null;
    steps: { min: number; max: number; default: number } | null;
    /** Those that the model applies, beside the prompt, the size and the length, such as `seed`. */
    parameters: string[];
  } | null;
}

/** Requests at a deployment now. */
export interface LoadView {
  /** With probes of health. */
  inflight: number;
  /** Requests that its replicas have room for which are ready or still busy; null = unlimited. */
  slots: number | null;
  /** Requests that wait for a replica or a slot. */
  queued: number;
  /** The least that engines which report it have queued for some seconds; null: none does, or it changes. */
  waiting: number | null;
  /** Percent of the fullest replica's KV cache; null: no engine reports it, or none has two requests. */
  cacheUse: number | null;
}

export const SCALING_RANGES = ['1h', '6h', '24h'] as const;
export type ScalingRange = (typeof SCALING_RANGES)[number];

/** How a deployment was scaled. */
export interface ScalingHistoryView {
  /** ISO; the requested range. */
  from: string;
  to: string;
  /** Oldest first, at any distance: each holds until the next one. The last is now. */
  points: ScalingPointView[];
  /** Newest first. */
  changes: { at: string; from: number; to: number; reason: string }[];
}
export interface ScalingPointView {
  at: string;
  /** Requests in flight, waiting and held, on average. */
  demand: number;
  /** Replicas. */
  wanted: number;
  ready: number;
}

/** A pod of a deployment. */
export interface ReplicaView {
  name: string;
  state: 'ready' | 'starting' | 'pending' | 'failing' | 'terminating' | 'exited';
  /** What Kubernetes says of the state; '' if there is nothing to say. */
  message: string;
  /** null until it is placed. */
  node: string | null;
  /** Such as `2 × nvidia.com/gpu`; null without. */
  gpu: string | null;
  restarts: number;
  /** How the engine's last run ended; null if it never did. */
  lastExit: { reason: string; exitCode: number; at: string | null } | null;
  createdAt: string;
  /** Those with a log, the engine first. */
  containers: string[];
}

export interface EventView {
  at: string;
  isWarning: boolean;
  reason: string;
  message: string;
  /** Such as `Pod chat-6d5f-x2x7p`. */
  object: string;
  count: number;
}

export const LOG_LIMITS = { bytes: 8 * 1024 * 1024, seconds: 15 * 60, streamsPerUser: 8 };

export interface ManifestView {
  /** With apiVersion, kind, metadata and spec, as stored. */
  manifest: object;
  /** The version of the editable part. */
  version: string;
}
/** A revision of a deployment's spec. */
export interface RevisionView {
  revision: number;
  at: string;
  /** Such as `kubectl` or `berth-console`; '' if Kubernetes recorded none. */
  program: string;
  /** As of a change: for information only. */
  user: string | null;
  isCurrent: boolean;
  /** Against the revision before it; null of the oldest that is kept. */
  change: SpecDifference | null;
  /** What going back to it would change now. */
  rollback: SpecDifference;
}

export interface HistoryView {
  /** Newest first. */
  revisions: RevisionView[];
  /** Version of the spec that `rollback` is compared with. */
  version: string;
}

export interface ManifestResult {
  name: string;
  /** As stored, or as it would be, with defaults. */
  manifest: object;
  /** Such as that a model will not fit the GPU. */
  warnings: string[];
}

export type WatchedTopic = 'deployments' | 'replicas' | 'events';
/** Topics in Redis, where an announcement may be lost: pages poll these as well. */
export type AnnouncedTopic = 'requests' | 'deliveries';
export type LiveTopic = WatchedTopic | AnnouncedTopic;
export interface LiveUpdate {
  /** Topics that are watched now; others have to be polled. */
  watched: WatchedTopic[];
  changed: LiveTopic[];
}

export interface KeyView {
  name: string;
  /** What people know it by, such as `sk-berth-…x3a0`; null: not known. */
  hint: string | null;
  rpm: number;
  tpd: number;
  /** Higher ones get their place on an engine first. */
  priority: number;
  expiresAt: string | null;
  disabled: boolean;
  owner: string | null;
  /** Deployments that it may call; null = all. */
  deployments: string[] | null;
  budget: BudgetView | null;
  isReady: boolean;
  message: string;
  createdAt: string;
  creator: CreatorView | null;
  usage: KeyUsage | null;
}
/** Who created it in the console; else the tool that wrote it first, such as `kubectl-create`. For information: members may change it. */
export interface CreatorView {
  kind: 'user' | 'tool';
  name: string;
}
export interface BudgetView {
  amount: string;
  period: BudgetPeriod;
  /** At most a minute ago; null: not known yet. */
  spent: string | null;
  percent: number | null;
  /** ISO. */
  periodEndsAt: string | null;
}
export type KeyLimits = Pick<KeyView, 'rpm' | 'tpd' | 'priority'>;
export interface KeyUsage {
  requestsThisMinute: number;
  tokensToday: number;
  /** ISO, a minute too early at most; null: not within 90 days. */
  lastUsedAt: string | null;
}
/** The limit that is currently reached; null = none. */
export function findReachedLimit({ usage, rpm, tpd }: Pick<KeyView, 'usage' | 'rpm' | 'tpd'>): string | null {
  if (usage === null) return null;
  if (usage.tokensToday >= tpd) return 'Daily token limit, resets at 00:00 UTC';
  return usage.requestsThisMinute >= rpm ? 'Requests per minute' : null;
}
export interface NewKeyView {
  key: KeyView;
  /** Shown once, not stored. */
  secret: string;
}

export interface WebhookView {
  name: string;
  url: string;
  eventTypes: string[];
  enabled: boolean;
  signingSecret: 'Workspace' | 'Own';
  state: 'active' | 'disabled' | 'auto-disabled' | 'refused' | 'pending';
  message: string;
  consecutiveFailures: number;
  createdAt: string;
}
export interface TestView {
  eventId: string;
  /** With its first attempt; null if that takes longer than 8 s. */
  delivery: DeliveryView | null;
}

export interface SigningSecretView {
  /** Shown once. */
  secret: string;
  /** Deliveries are signed with it. False until the operator has published it. */
  isInEffect: boolean;
}

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
export interface DeliveryDetail extends DeliveryView {
  /** The payload; null once the event has expired. */
  body: string | null;
  /** The latest attempts, oldest first. */
  history: AttemptView[];
}
export interface AttemptView {
  at: string;
  status: number | null;
  error: string;
  /** null: not known, as of attempts that were interrupted. */
  tookMs: number | null;
  /** As sent, without the signatures' digests; null: nothing was sent, or it is not known. */
  requestHeaders: Record<string, string> | null;
  /** Those that are kept of an answer. */
  responseHeaders: Record<string, string>;
}
export interface ResendView {
  resent: number;
  /** Deliveries whose events have expired. */
  expired: number;
  /** Deliveries whose endpoints are missing, disabled or rejected. */
  unreachable: number;
}

export interface RequestInputView {
  /** As sent to the engine; null: not kept. */
  parameters: Record<string, unknown> | null;
  /** Input files, whose contents are not kept. */
  files: { contentType: string; fileName: string; bytes: number }[];
}
export interface RetryView {
  id: string;
}
export interface RequestsView {
  requests: RequestView[];
  /** Where the next page begins; null: there is none. */
  older: string | null;
  /** A search by key stops after some thousand requests, at this time; null: it saw all, or found enough. */
  searchedTo: string | null;
}
/** A request of any kind that has ended: what happened, and nothing of its content. */
export interface RecentRequestView {
  id: string;
  deployment: string;
  /** Name of the route, such as `chat_completions`. */
  route: string;
  /** HTTP's; 499 if the client disconnected. */
  status: number;
  errorCode: string | null;
  endedAt: string;
  durationMs: number;
  /** In line for a slot of an engine. */
  waitMs: number;
  /** For a stream. */
  firstTokenMs: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
  submitter: SubmitterView | null;
}
export interface CanceledView {
  canceled: number;
  /** Unix milliseconds: what was queued from then on stays. */
  before: number;
  /** More may be queued. */
  hasMore: boolean;
}
export interface RequestView extends ChargeView {
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
}
export interface ChargeView {
  /** null: not known. */
  submitter: SubmitterView | null;
  /** In the currency of the prices; refunded if it failed or was canceled. null: not known. */
  price: string | null;
  /** The requested number; null for videos. */
  images: number | null;
}
export interface RequestDetail extends RequestView {
  /** Signed links; [] if there are no results (anymore). */
  outputURLs: string[];
  /** The request that it repeats, and the latest that repeats it; null: none. */
  retryOf: string | null;
  retriedAs: string | null;
  /** null: it was not asked for again by its idempotency key. */
  replays: ReplaysView | null;
  /** null: it isn't queued, or not known. */
  place: QueuePlaceView | null;
}
export interface QueuePlaceView {
  /** Among those that wait, by turns and priorities; from 1 on. null: too many API keys wait. */
  position: number | null;
  /** Requests in the deployment's queue. */
  queued: number;
  /** null: nothing runs, or no job has ended yet. */
  startsInMs: number | null;
}
export interface ReplaysView {
  count: number;
  lastAt: string;
  /** Fields of the last one that differed. */
  differing: string[];
}

/** An APIKey, or a user of a playground. */
export type SubmitterView =
  /** `hint`: null in lists, and of a key that is gone. */
  { kind: 'key'; name: string; hint: string | null } | { kind: 'playground'; name: string };

export const USAGE_RANGES = ['1h', '6h', '24h', '7d', '30d'] as const;
export type UsageRange = (typeof USAGE_RANGES)[number];
export interface UsageView {
  stepSeconds: number;
  points: UsagePoint[];
  /** Sum of the whole range. */
  total: UsageCounts;
  credit: CreditView;
}
export interface UsagePoint extends UsageCounts {
  at: string;
}
export interface TrafficView {
  deployment: string;
  total: UsageCounts;
  /** Counts for each 3 minutes, oldest first. */
  requests: number[];
}
export interface KeyUsageView extends KeyTotalView {
  day: string;
  deployment: string;
  /** null: the deployment is gone. */
  model: string | null;
}
export interface KeyTotalView {
  /** Name of the APIKey; null: it is gone, of playgrounds, or not for this user to see. */
  key: string | null;
  /** Owner of the APIKey; null where the key is, or it has none. */
  owner: string | null;
  /** First 24 digits of its SHA-256; PERSONAL_KEYS_DIGITS for all keys of playgrounds. */
  keyHash: string;
  requests: number;
  inputTokens: number;
  outputTokens: number;
  /** In the currency of the prices. */
  cost: string;
}
/** In the currency of the prices; null = unlimited. */
export interface CreditView {
  granted: string | null;
  remaining: string | null;
  /** ISO 4217; null = not known. */
  currency: string | null;
}

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

/** Who has a role in the namespace by its role bindings. */
export interface MembersView {
  /** null: the user may not list them, or the API server has none. */
  members: MemberView[] | null;
}
export interface MemberView {
  kind: 'User' | 'Group' | 'ServiceAccount';
  /** A service account's includes its namespace: `team/bot`. */
  name: string;
  role: string;
  binding: string;
}

/**
 * What each program, and each user of the console, wrote last to each object that still exists, and what the
 * operator and Kubernetes recorded about them within the last hour; newest first, at most 200 together.
 */
export interface ChangesView {
  entries: ((ChangeView & { kind: string }) | NoteView)[];
  /** False: the user may not read events. */
  hasEvents: boolean;
}
export interface ChangeView {
  type: 'change';
  at: string;
  /** Such as `kubectl` or `berth-console`. */
  program: string;
  /** The console's user; null for other programs, for which Kubernetes keeps no person's name. Any program may name one, so it informs only. */
  user: string | null;
  object: string;
  isCreation: boolean;
  /** Such as `spec.replicas`; the first few. */
  fields: string[];
}
export interface NoteView extends EventView {
  type: 'event';
  kind: string;
  /** The reporting program, such as `berth.dev/operator`. */
  program: string;
}

/** What needs attention, as far as the user may read it; errors first, 100 at most. Five seconds old at most. */
export interface ProblemsView {
  problems: ProblemView[];
  total: number;
}
export interface ProblemView {
  kind: 'deployment' | 'queue' | 'webhook' | 'storage' | 'key' | 'credit';
  /** What it is about; '' for credit. */
  name: string;
  severity: 'error' | 'warning';
  title: string;
  message: string;
  /** ISO; null if that is unknown. */
  since: string | null;
  /** Its page below "runbooks" of the documentation. */
  runbook: string | null;
}

/** Answers of endpoints to the playground, as far as the page reads them. */
export interface EmbeddingAnswer {
  data?: { embedding: number[] }[];
  usage?: { prompt_tokens: number };
}
export interface RerankAnswer {
  results: { index: number; relevance_score: number }[];
}
/** `data` if synchronous, `id` in the background. */
export interface ImageAnswer {
  data?: { b64_json?: string; url?: string }[];
  id?: string;
}
export interface RelayedRequest extends Pick<RequestView, 'id' | 'modality' | 'status'> {
  output_urls?: string[];
  error_code: string | null;
  error_message: string | null;
}

export const PLAYGROUND_KEY_SECONDS = 300;
export const PLAYGROUND_LIMITS: Pick<PublishedKey, 'rpm' | 'tpd'> = { rpm: 60, tpd: 1_000_000 };
