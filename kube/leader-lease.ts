/** Leader election by a Lease, with client-go's rules: the holder works, and must stop at once if it loses the lease. */

import { type Clock, sleep, systemClock } from '../kit/clock.ts';
import { isAlreadyExists, isConflict, isNotFound } from './api-error.ts';
import type { CallOptions } from './call.ts';
import type { KubeClient } from './client.ts';
import { type Log, silentLog } from './log.ts';
import type { KubeObject } from './object.ts';
import { RESOURCES } from './resource.ts';
import { formatMicroTime } from './time.ts';

export interface LeaderLeaseOptions {
  /** Preferably a separate client, so that no slow call delays a renewal. */
  client: Pick<KubeClient, 'find' | 'create' | 'update'>;
  namespace: string;
  name: string;
  /** Unique to this process, such as the pod's name with something random. */
  identity: string;
  /** The lease was lost while leading: exit, since another may already lead. */
  onLost: (reason: string) => void;
  timing?: Partial<LeaseTiming>;
  clock?: Clock;
  random?: () => number;
  log?: Log;
}

export interface LeaseTiming {
  /** How long the others wait before they take an unrenewed lease (15,000). */
  durationMs: number;
  /** Renew deadline; shorter than the duration (10,000). */
  renewDeadlineMs: number;
  /** Between renewals (2,000). */
  retryMs: number;
  /** Between polls of a standby (500): so much later than the lease's end it may lead. */
  pollIntervalMs: number;
}

export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

type Lease = KubeObject & { spec?: LeaseSpec };

export function createLeaderLease(options: LeaderLeaseOptions) {
  const { client, namespace, name, identity, onLost, timing = {} } = options;
  const { durationMs = 15_000, renewDeadlineMs = 10_000, retryMs = 2_000, pollIntervalMs = 500 } = timing;
  const { clock = systemClock, random = Math.random, log = silentLog } = options;
  if (!(retryMs < renewDeadlineMs && renewDeadlineMs < durationMs))
    throw new Error('a lease needs retryMs < renewDeadlineMs < durationMs');

  const stopping = new AbortController();
  /** The record as last seen, and when it last changed by this machine's clock: other clocks prove nothing. */
  let observed: Lease | undefined;
  let observedAt = 0;
  let renewedAt: number | undefined;
  let renewing: Promise<void> | undefined;

  function observe(lease: Lease): void {
    if (observed?.metadata.resourceVersion !== lease.metadata.resourceVersion) observedAt = clock.now();
    observed = lease;
  }

  /** Remaining time of another's lease; 0 or less if it is free. */
  function heldForMs({ spec = {} }: Lease): number {
    if (!spec.holderIdentity || spec.holderIdentity === identity) return 0;
    return observedAt + (spec.leaseDurationSeconds ?? durationMs / 1000) * 1000 - clock.now();
  }

  /** Jitter, so that standbys do not all poll at the same moment. */
  function untilNextPoll(): number {
    const heldMs = observed ? heldForMs(observed) : 0;
    const intervalMs = pollIntervalMs * (1 + random() * 0.2);
    return heldMs > 0 ? Math.min(heldMs, intervalMs) : intervalMs;
  }

  function nextSpec(previous: LeaseSpec = {}): LeaseSpec {
    const now = formatMicroTime(clock.date());
    const mine = previous.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      acquireTime: mine ? previous.acquireTime : now,
      renewTime: now,
      leaseTransitions: (previous.leaseTransitions ?? 0) + (mine || !previous.holderIdentity ? 0 : 1),
    };
  }

  async function read(call: CallOptions): Promise<Lease | undefined> {
    const live = await client.find<Lease>(RESOURCES.Lease, { name, namespace }, call);
    if (live) observe(live);
    else observed = undefined;
    return live;
  }

  /** One attempt to acquire or renew; false if another holds it. */
  async function attempt(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const call = { timeoutMs, signal };
    const began = clock.now();
    // The holder knows the record as it wrote it; everybody else reads it first.
    const live = renewedAt === undefined ? await read(call) : observed;
    if (live && heldForMs(live) > 0) return false;
    const { apiVersion, kind } = RESOURCES.Lease;
    const metadata = live ? live.metadata : { name, namespace };
    const wanted: Lease = { apiVersion, kind, metadata, spec: nextSpec(live?.spec) };
    try {
      // With the resource version, the API server accepts only one of several attempts.
      observe(await (live ? client.update : client.create)(RESOURCES.Lease, wanted, call));
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error) && !isNotFound(error)) throw error;
      await read(call);
      return false;
    }
    // From before the call: the others count from when they see it, which is later.
    renewedAt = began;
    return true;
  }

  async function renewUntilLost(): Promise<void> {
    let attemptedAt = renewedAt!;
    while (!stopping.signal.aborted) {
      const left = () => renewedAt! + renewDeadlineMs - clock.now();
      const wait = attemptedAt + retryMs - clock.now();
      await sleep(clock, Math.max(0, Math.min(wait, left())), stopping.signal);
      if (stopping.signal.aborted) return;
      const leftMs = left();
      attemptedAt = clock.now();
      let reason = `not renewed within ${renewDeadlineMs} ms`;
      if (leftMs > 0) {
        try {
          // An attempt without a response leaves time for another.
          if (await attempt(Math.min(leftMs, renewDeadlineMs / 2), stopping.signal)) continue;
          const holder = observed?.spec?.holderIdentity;
          // A conflict with a writer of our own record (such as an annotation) is not a loss: reread it.
          if (!holder || holder === identity) continue;
          reason = `held by ${holder}`;
        } catch (error) {
          if (stopping.signal.aborted) return;
          log.warn({ lease: name, reason: (error as Error).message }, 'lease renewal failed, retrying');
          continue;
        }
      }
      renewedAt = undefined;
      log.error({ lease: name, identity, reason }, 'lease lost');
      onLost(reason);
      return;
    }
  }

  return {
    /** Whether this process may act as the leader at this moment. */
    isLeading: () => renewedAt !== undefined && clock.now() < renewedAt + durationMs,

    /** Watches who holds the lease until `ready`: one that its holder left meanwhile then counts from when it was last renewed. */
    async follow(ready: Promise<unknown>): Promise<void> {
      const ending = new AbortController();
      const end = () => ending.abort();
      void ready.then(end, end);
      const signal = AbortSignal.any([ending.signal, stopping.signal]);
      while (!signal.aborted) {
        // If it cannot be read now, it is read at the next poll, or when acquiring it.
        await read({ timeoutMs: renewDeadlineMs, signal }).catch(() => {});
        await sleep(clock, untilNextPoll(), signal);
      }
    },

    /** Waits until this process leads and keeps renewing from then on; false if the signal ended the wait. */
    async acquire(caller: AbortSignal = stopping.signal): Promise<boolean> {
      const signal = AbortSignal.any([caller, stopping.signal]);
      while (!signal.aborted) {
        try {
          if (await attempt(renewDeadlineMs, signal)) {
            log.info({ lease: name, identity }, 'lease acquired');
            renewing = renewUntilLost();
            return true;
          }
        } catch (error) {
          if (!signal.aborted)
            log.warn({ lease: name, reason: (error as Error).message }, 'lease acquisition failed, retrying');
        }
        await sleep(clock, untilNextPoll(), signal);
      }
      return false;
    },

    /** Stops renewing and releases a held lease, so that the next leader need not wait for its expiry. */
    async release(): Promise<void> {
      stopping.abort();
      await renewing;
      if (renewedAt === undefined || !observed) return;
      renewedAt = undefined;
      const now = formatMicroTime(clock.date());
      const spec = { ...observed.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: now };
      await client
        .update(RESOURCES.Lease, { ...observed, spec }, { timeoutMs: retryMs })
        .catch((error) =>
          log.warn({ lease: name, reason: error.message }, 'lease release failed, it will expire'),
        );
    },
  };
}
