/**
 * Typed calls of the functions that move a request from state to state (docs/requests.md). Each is safe to repeat
 * with the same token after a timeout, and should be repeated until there is a reply.
 */

import { type BoundingBudget, decodeBounding } from '../../api/budget.ts';
import { workKeys } from '../../api/redis-keys.ts';
import {
  type FailureCode,
  MAX_MESSAGE_LENGTH,
  type Modality,
  type RequestOutput,
  type RequestRecord,
  type RequestStatus,
  type StoredObject,
} from '../../api/request.ts';
import { MAX_SEALED_PARAMS_LENGTH } from '../../api/sealed-request.ts';
import type { RedisClient } from '../client.ts';
import { callFunction, LIMITS, type Replies } from '../function-table.ts';
import { encodeObject } from './object-cleanup.ts';
import { decodeShown } from './request-record.ts';

export interface NewRequest {
  namespace: string;
  deployment: string;
  /** `generateRequestId`; the token of this call. */
  id: string;
  modality: Modality;
  /** `hashApiKey` of the caller's key. */
  sha256: string;
  /** Its name, for people. */
  keyName?: string;
  /** Its priority, from -100 to 100, higher first; 0 if absent. */
  priority?: number;
  /** `digestIdempotencyKey`; null without the header. */
  idempotency: string | null;
  /** Fingerprint of the fields, to compare when the idempotency key is sent again. */
  fingerprint?: string;
  /** `sealPrompt`; stays as long as the record. */
  sealedPrompt?: string;
  /** Millionths, debited now and refunded unless the request succeeds. */
  priceMicros: number;
  /** Slots of all replicas, for the estimate. */
  slots: number;
  /** Duration of a job, until one was measured. */
  expectedMs: number;
  model: string;
  size?: string;
  seconds?: string;
  /** How many are requested. */
  images?: number;
  webhookUrl?: string;
  /** Set by the submitting span, if traced. */
  traceparent?: string;
  /** `KeyBudgets.text` of the admission. */
  budgets?: string;
  /** The id of the ended request that it repeats, whose record names this one. */
  retryOf?: string;
  /** Uploaded and registered before; removed when the request ends. */
  inputs?: readonly StoredObject[];
  /** All that the worker needs (`sealParams`), at most MAX_SEALED_PARAMS_LENGTH; removed when the request ends, or later (`keepInputs`). */
  params: string;
}

export type SubmissionAnswer =
  /** `duplicate`: the id and present status are the first one's; remove what was uploaded for this one. */
  | { verdict: 'accepted'; id: string; status: RequestStatus; estimatedSeconds: number }
  | {
      verdict: 'duplicate';
      id: string;
      status: RequestStatus;
      estimatedSeconds: number;
      /** The first one's. */
      fingerprint: string;
    }
  /** `gone`: no such deployment, or it is being deleted. */
  | { verdict: 'queue_full' | 'credit' | 'gone' }
  | { verdict: 'budget'; budget: BoundingBudget }
  /** Nothing may be queued on this Redis now; the reason comes from the operator (`evaluateServer`). */
  | { verdict: 'refused'; reason: string };

/** Adds a request to its deployment's queue (docs/api.md, "Acknowledgement"). */
export async function submitRequest(redis: RedisClient, submission: NewRequest): Promise<SubmissionAnswer> {
  const { namespace, id, params, inputs = [] } = submission;
  if (params.length > MAX_SEALED_PARAMS_LENGTH) {
    throw new RangeError(`Parameters over ${MAX_SEALED_PARAMS_LENGTH} characters belong into storage`);
  }
  const more: Record<string, string | undefined> = {
    model: submission.model,
    size: submission.size,
    seconds: submission.seconds,
    images: submission.images?.toString(),
    key_name: submission.keyName,
    priority: submission.priority ? String(submission.priority) : undefined,
    webhook_url: submission.webhookUrl,
    traceparent: submission.traceparent,
    retry_of: submission.retryOf,
    budgets: submission.budgets,
  };
  const [verdict, known, status, estimatedSeconds, fingerprint] = await callFunction(
    redis,
    'submit',
    [workKeys(namespace).request(id)],
    {
      ...{ namespace, id, params },
      deployment: submission.deployment,
      modality: submission.modality,
      apiKey: abbreviate(submission.sha256),
      digest: submission.idempotency ?? '',
      price: Math.round(submission.priceMicros),
      slots: submission.slots,
      jobMs: submission.expectedMs,
      inputs: inputs.length > 0 ? JSON.stringify(inputs.map(encodeObject)) : '',
      fingerprint: submission.fingerprint ?? '',
      prompt: submission.sealedPrompt ?? '',
    },
    Object.entries(more).flatMap(([field, value]) => (value ? [field, value] : [])),
  );
  if (verdict === 'refused') return { verdict, reason: known };
  if (verdict === 'budget') return { verdict, budget: decodeBounding(known) };
  if (verdict !== 'accepted' && verdict !== 'duplicate') return { verdict };
  const answer = { id: known, status, estimatedSeconds };
  return verdict === 'accepted' ? { verdict, ...answer } : { verdict, ...answer, fingerprint: fingerprint! };
}

/** 96 bits of an API key's hash identify it in Redis keys. */
const abbreviate = (sha256: string): string => sha256.slice(0, 24);

/** A worker's hold on one request. */
export interface Claim {
  namespace: string;
  id: string;
  /** 128 random bits, new for every claim, the same in its repeats. */
  token: string;
}

export interface ClaimedJob {
  claim: Claim;
  /** 1, or 2 after a worker was lost. */
  attempt: number;
  /** Until the deadline, which is the same for both attempts. */
  remainingMs: number;
  params: string;
}

/** Several renewals may be late, as on a node without a core to spare, before another worker starts over. */
export const LEASE_MS = 15_000;
export const RENEWAL_MS = 3_000;

export interface ClaimOptions {
  namespace: string;
  deployment: string;
  token: string;
  pod: string;
  leaseMs?: number;
}

/** The next request of a deployment for a free slot, or null. With slots left, claim again until null. */
export async function claimRequest(redis: RedisClient, request: ClaimOptions): Promise<ClaimedJob | null> {
  const { namespace, deployment, token, pod, leaseMs = LEASE_MS } = request;
  const turns = workKeys(namespace).turns(deployment);
  const reply = await callFunction(redis, 'claim', [turns], { namespace, deployment, token, leaseMs, pod });
  if (!reply) return null;
  const [id, attempt, remainingMs, params] = reply;
  return { claim: { namespace, id, token }, attempt, remainingMs, params };
}

/** `stale`: another's, or ended. `deadline`: the time is up. After both, stop the job and leave it to the sweeper. */
export type Renewal = Replies['renew'];

/** Renews a claim; `progress` (0–99) is stored if it has increased. */
export async function renewClaim(
  redis: RedisClient,
  { namespace, id, token }: Claim,
  { leaseMs = LEASE_MS, progress = '' }: { leaseMs?: number; progress?: number | '' } = {},
): Promise<Renewal> {
  const key = workKeys(namespace).request(id);
  return callFunction(redis, 'renew', [key], { namespace, id, token, leaseMs, progress });
}

/** When a stored object is to be removed; null = never. */
export interface ObjectRetention {
  object: StoredObject;
  removeInMs: number | null;
}

export type JobOutcome =
  | {
      status: 'succeeded';
      output: RequestOutput;
      /** The event's `result_payload`; replaced by the event's marker when too large. */
      payload: Record<string, unknown>;
      objects: readonly ObjectRetention[];
    }
  | { status: 'failed'; code: FailureCode; message: string; objects: readonly ObjectRetention[] };

/** Only after `stale` does a worker remove what it has uploaded. */
export type FinishAnswer = Replies['finish'];

/** A payload as large as a whole event would be replaced there, and exceed the function's limit. */
function encodePayload(payload: Record<string, unknown>): string {
  const text = JSON.stringify(payload);
  return Buffer.byteLength(text) <= LIMITS.MAX_EVENT_BYTES ? text : '{"_truncated":true}';
}

/** Ends a claimed request atomically: its state, its event in the outbox, its objects' retention. */
export async function finishRequest(
  redis: RedisClient,
  claim: Claim,
  outcome: JobOutcome,
): Promise<FinishAnswer> {
  const { namespace, id, token } = claim;
  const retentions = outcome.objects.map(({ object, removeInMs }) => [
    encodeObject(object),
    removeInMs ?? -1,
  ]);
  const details =
    outcome.status === 'succeeded'
      ? {
          output: JSON.stringify(outcome.output),
          bucket: outcome.output.bucket,
          objectKey: outcome.output.keys[0] ?? '',
          payload: encodePayload(outcome.payload),
        }
      : { code: outcome.code, message: outcome.message.slice(0, MAX_MESSAGE_LENGTH) };
  return callFunction(redis, 'finish', [workKeys(namespace).request(id)], {
    ...{ namespace, id, token, status: outcome.status },
    ...{ code: '', message: '', output: '', bucket: '', objectKey: '', payload: '', ...details },
    retentions: retentions.length > 0 ? JSON.stringify(retentions) : '',
  });
}

/** Releases a claimed request to the head of the queue: drain, SIGTERM. False: it was not held (anymore). */
export async function releaseRequest(redis: RedisClient, { namespace, id, token }: Claim): Promise<boolean> {
  const key = workKeys(namespace).request(id);
  return (await callFunction(redis, 'release', [key], { namespace, id, token })) === 1;
}

export type Cancellation =
  | { verdict: 'canceled' | 'not_cancellable'; record: RequestRecord }
  | { verdict: 'unknown' };

/** Cancels a queued request (docs/api.md, "POST /v1/requests/{id}/cancel"). `token`: unique to this call, the same in its repeats. */
export async function cancelRequest(
  redis: RedisClient,
  { namespace, id, token }: Claim,
): Promise<Cancellation> {
  const key = workKeys(namespace).request(id);
  const [verdict, shown = null] = await callFunction(redis, 'cancel', [key], { namespace, id, token });
  const record = decodeShown(id, shown);
  return verdict === 'unknown' || !record ? { verdict: 'unknown' } : { verdict, record };
}
