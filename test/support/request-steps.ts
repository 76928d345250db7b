/** Random steps of the queue, and their execution on a real Redis. */
import type { ResolvedLimits } from '../../api/model-limits.ts';
import { REQUEST_STATUSES, type StoredObject } from '../../api/request.ts';
import type { RedisClient } from '../../redis/client.ts';
import { removeDeployment } from '../../redis/publication/publication.ts';
import { registerObjects } from '../../redis/requests/object-cleanup.ts';
import {
  cancelRequest,
  claimRequest,
  finishRequest,
  releaseRequest,
  renewClaim,
  submitRequest,
} from '../../redis/requests/request-calls.ts';
import { listRequests } from '../../redis/requests/request-record.ts';
import { sweepRequests } from '../../redis/requests/request-sweep.ts';
import { failure, passTime, publishMedia, submissionOf, success } from './request-fixture.ts';
import { API_KEYS, type Limits, type Operation, type RequestModel, type Term } from './request-model.ts';

const MILLISECONDS: Record<Term, number> = { short: 1, long: 3_600_000 };
const EVERYTHING = 100_000;
const PRIORITIES = [0, 0, 100, -3, -100];

export interface Parties {
  namespace: string;
  /** Publishes. */
  admin: RedisClient;
  /** Calls the functions. */
  gateway: RedisClient;
  /** Ids whose inputs are uploaded: a repeated call does not upload again. */
  uploaded: Set<string>;
}

export const inputOf = (id: string): StoredObject => ({ credential: null, key: `inputs/${id}` });

/** Executes one step on Redis; returns the result in the model's format. */
export async function perform(parties: Parties, operation: Operation): Promise<unknown> {
  const answer = await call(parties, operation);
  // A short time is over in the next millisecond.
  if (operation.do !== 'list') await passTime(parties.admin, 0);
  return answer;
}

async function call(
  { namespace, admin, gateway, uploaded }: Parties,
  operation: Operation,
): Promise<unknown> {
  switch (operation.do) {
    case 'configure': {
      const { deployment: name, state } = operation;
      if (state === 'removed') await removeDeployment(admin, namespace, name);
      else {
        const limits = resolve(operation.limits);
        await publishMedia(admin, { namespace, name, limits, deleting: state === 'deleting' });
      }
      return null;
    }
    case 'submit': {
      const { id, deployment, apiKey, priority, digest, price } = operation;
      const inputs = [inputOf(id)];
      const fields = { namespace, deployment, id, idempotency: digest, priceMicros: price, inputs };
      if (!uploaded.has(id)) {
        await registerObjects(gateway, namespace, { objects: inputs, removeInMs: MILLISECONDS.long });
        uploaded.add(id);
      }
      const answer = await submitRequest(gateway, submissionOf({ ...fields, sha256: apiKey, priority }));
      return 'id' in answer ? { verdict: answer.verdict, id: answer.id, status: answer.status } : answer;
    }
    case 'claim': {
      const { deployment, token, lease } = operation;
      const leaseMs = MILLISECONDS[lease];
      const job = await claimRequest(gateway, { namespace, deployment, token, leaseMs, pod: 'pod' });
      return job && { id: job.claim.id, attempt: job.attempt };
    }
    case 'renew': {
      const { lease, progress, ...claim } = operation;
      return renewClaim(gateway, { namespace, ...claim }, { leaseMs: MILLISECONDS[lease], progress });
    }
    case 'finish': {
      const { status, ...claim } = operation;
      return finishRequest(gateway, { namespace, ...claim }, status === 'failed' ? failure() : success());
    }
    case 'release':
      return releaseRequest(gateway, { namespace, ...operation });
    case 'cancel': {
      const answer = await cancelRequest(gateway, { namespace, ...operation });
      return 'record' in answer ? { verdict: answer.verdict, status: answer.record.status } : answer;
    }
    case 'sweep': {
      const options = { expireUntil: operation.mayExpire ? Number.MAX_SAFE_INTEGER : 0, limit: EVERYTHING };
      const { ended, released, forgotten } = await sweepRequests(gateway, namespace, options);
      return { ended, released, forgotten };
    }
    case 'list': {
      const found = await listRequests(gateway, { namespace, ...operation });
      return found.map(({ id, status, progress, errorCode }) => ({ id, status, progress, code: errorCode }));
    }
  }
}

const resolve = ({ maxQueued, queue, job, records }: Limits): Partial<ResolvedLimits> => ({
  maxQueued,
  queueTTLMs: MILLISECONDS[queue],
  videoTimeoutMs: MILLISECONDS[job],
  recordRetentionMs: MILLISECONDS[records],
});

/** Draws steps that fit the model's state, and repeats of old ones, like late or repeated calls. */
export function createStepSource(random: () => number, deployments: readonly string[]) {
  const history: Operation[] = [];
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const term = (short: number): Term => (random() < short ? 'short' : 'long');
  const hex = (length: number) =>
    Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('');

  const draw = (model: RequestModel): Operation => {
    const deployment = pick(deployments);
    const requests = [...model.requests.values()];
    const running = requests.filter(({ status }) => status === 'running');
    const queued = requests.filter(({ status }) => status === 'queued');
    const anyone = pick([running, running, queued, requests].filter((list) => list.length > 0));
    const target = anyone ? pick(anyone) : undefined;
    const held = { id: target?.id ?? 'req_none', token: (random() < 0.9 && target?.claim) || hex(8) };
    const chance = random() * 100;
    if (chance < 30) {
      const digest = random() < 0.3 ? `digest-${Math.floor(random() * 40)}` : null;
      const apiKey = pick(API_KEYS);
      // Each key has its own, which changes now and then.
      const priority = random() < 0.8 ? PRIORITIES[API_KEYS.indexOf(apiKey)]! : pick(PRIORITIES);
      const price = Math.floor(random() * 5);
      return { do: 'submit', id: `req_${hex(32)}`, deployment, apiKey, priority, digest, price };
    }
    if (chance < 55) return { do: 'claim', deployment, token: hex(32), lease: term(0.3) };
    if (chance < 62) {
      return { do: 'renew', ...held, lease: term(0.3), progress: Math.floor(random() * 100) };
    }
    if (chance < 74) return { do: 'finish', ...held, status: pick(['succeeded', 'failed']) };
    if (chance < 78) return { do: 'release', ...held };
    if (chance < 84) return { do: 'cancel', id: held.id, token: hex(8) };
    if (chance < 91) return { do: 'sweep', mayExpire: random() < 0.7 };
    if (chance < 95) {
      const status = pick([undefined, ...REQUEST_STATUSES]);
      return { do: 'list', deployment, status, limit: 1 + Math.floor(random() * 20) };
    }
    const limits = { maxQueued: 6, queue: term(0.2), job: term(0.2), records: term(0.3) };
    return {
      do: 'configure',
      deployment,
      state: pick(['served', 'served', 'served', 'deleting', 'removed']),
      limits,
    };
  };
  return (model: RequestModel): Operation => {
    const late = random() < 0.12 ? pick([...history.slice(-3), ...history]) : undefined;
    // A repeated submission of a removed request would create it again; calls are not repeated after a week.
    if (late && (late.do !== 'submit' || model.requests.has(late.id))) return late;
    const operation = draw(model);
    if (!['configure', 'list', 'sweep'].includes(operation.do)) history.push(operation);
    return operation;
  };
}
