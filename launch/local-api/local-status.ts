/** The statuses that the operator writes on a cluster, for the objects of `make run`. Pure. */
import type { APIKey } from '../../contract/api-key.ts';
import { hashApiKey } from '../../contract/identity.ts';
import { ANNOTATIONS, API_KEY_SECRET_FIELD } from '../../contract/names.ts';
import type { Heartbeat } from '../../contract/redis-keys.ts';
import type { WebhookEndpoint } from '../../contract/webhook-endpoint.ts';
import { type Verdict, verdict } from '../../operator/status/condition-list.ts';
import type { EndpointHealth } from '../../redis/delivery-log.ts';
import type { PlannedDeployment } from '../local-plan.ts';
import type { LocalObject } from './resources.ts';

/** Conditions without their times, and what else the status holds. */
export interface Told {
  verdicts: Record<string, Verdict>;
  fields: Record<string, unknown>;
}

export const ACCEPTED = verdict('True', 'Accepted', 'the spec is acted on');

/** `secret`: of a key that was made here. */
export function tellKey({ spec }: APIKey, secret: LocalObject | undefined, now: number): Told {
  const made = secret?.data?.[API_KEY_SECRET_FIELD];
  const sha256 = spec.sha256 ?? (made && hashApiKey(Buffer.from(made, 'base64').toString()));
  const secretName = spec.sha256 ? undefined : secret?.metadata.name;
  return { verdicts: { Ready: judgeKey(spec, now), Accepted: ACCEPTED }, fields: { sha256, secretName } };
}

function judgeKey({ disabled, expiresAt }: APIKey['spec'], now: number): Verdict {
  if (disabled) return verdict('False', 'Disabled', 'spec.disabled is true');
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now)
    return verdict('False', 'Expired', `expired at ${expiresAt}`);
  return verdict('True', 'Ready', 'requests with this key are let in');
}

/** `heartbeats`: of its replicas that live; the gateway of `make run` is one. */
export function tellDeployment(
  { config, port, controlPort }: PlannedDeployment,
  heartbeats: readonly Heartbeat[],
): Told {
  const isReady = heartbeats.some(({ ready }) => ready);
  const wanted = controlPort === null ? 0 : 1;
  const ready = wanted === 1 && isReady ? 1 : 0;
  const url = `http://127.0.0.1:${port}`;
  const [phase, obstacle] = config.paused
    ? ['Paused', verdict('False', 'Paused', 'spec.paused is true')]
    : ready === 0
      ? ['Starting', verdict('False', 'Starting', 'the engine does not answer its health check')]
      : ['Ready', null];
  const progress =
    ready === wanted
      ? verdict('False', 'Complete', `${ready} of ${wanted} replicas up to date`)
      : verdict('True', 'Scaling', `${ready} of ${wanted} replicas ready`);
  return {
    verdicts: {
      Ready: obstacle ?? verdict('True', 'Ready', 'requests are served'),
      Accepted: ACCEPTED,
      Progressing: progress,
      Available:
        ready > 0
          ? verdict('True', 'Available', `${ready} of ${wanted} replicas ready`)
          : verdict('False', 'NoReplicas', 'no replica is ready'),
      RouteReady: verdict('True', 'Routed', url),
    },
    fields: {
      phase,
      url,
      registrationId: config.registrationId,
      replicas: wanted,
      readyReplicas: ready,
      updatedReplicas: wanted,
      desiredReplicas: wanted,
    },
  };
}

/** `fault`: what is wrong with the URL; null = nothing, undefined = it is being checked. */
export function tellEndpoint(
  { spec }: WebhookEndpoint,
  fault: string | null | undefined,
  { failures, disabledAt }: EndpointHealth,
): Told {
  const accepted =
    fault === null
      ? ACCEPTED
      : fault === undefined
        ? verdict('Unknown', 'Checking', 'the URL is being checked')
        : verdict('False', 'InvalidURL', `spec.url ${fault}`);
  const fields = { consecutiveFailures: failures };
  if (accepted.status !== 'True') {
    const active = verdict(accepted.status, 'NotAccepted', `nothing is delivered: ${accepted.message}`);
    return { verdicts: { Accepted: accepted, Active: active }, fields };
  }
  if (!spec.enabled)
    return {
      verdicts: { Accepted: accepted, Active: verdict('False', 'Disabled', 'spec.enabled is false') },
      fields,
    };
  if (disabledAt === null)
    return {
      verdicts: { Accepted: accepted, Active: verdict('True', 'Active', 'deliveries are made') },
      fields,
    };
  const since = new Date(disabledAt).toISOString();
  const message = `disabled at ${since}: ${failures} deliveries in a row failed for good; a new value of the annotation ${ANNOTATIONS.reEnable} enables it`;
  return { verdicts: { Accepted: accepted, Active: verdict('False', 'AutoDisabled', message) }, fields };
}

/** `fault`: as of an endpoint. */
export function tellCredential(
  { id, lastHandledVerify }: { id: number; lastHandledVerify: string | undefined },
  fault: string | null | undefined,
): Told {
  const verified =
    fault === null
      ? verdict('True', 'Verified', 'a put, a get and a delete succeeded')
      : fault === undefined
        ? verdict('Unknown', 'Verifying', 'the bucket is being tried')
        : verdict('False', 'NotVerified', fault);
  return { verdicts: { Accepted: ACCEPTED, Verified: verified }, fields: { id, lastHandledVerify } };
}
