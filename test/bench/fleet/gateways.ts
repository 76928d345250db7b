/** Heartbeats for the gateways of pods simulated by kwok, and reports of a front with waiting requests. */

import type { RedisClient } from '../../../redis/client.ts';
import { publishWake, sayShare } from '../../../redis/demand/demand.ts';
import { heartbeat } from '../../../redis/heartbeats/heartbeats.ts';
import { describeReplica } from '../../support/heartbeat.ts';
import type { PodWatch } from '../../support/pod-watch.ts';
import type { ModelName } from '../operator-state.ts';

const INTERVAL_MS = 1_000;

interface Gateway {
  boot: string;
  busyMs: number;
  inflight: number;
  activeAt: number;
  readAt: number;
}

export interface Gateways {
  /** For how long each pod serves a request from when it is ready, in milliseconds. */
  serveMs: number;
  close(): void;
}

/** Sends a heartbeat for every ready pod each second. */
export function playGateways(redis: RedisClient, pods: PodWatch): Gateways {
  const gateways = new Map<string, Gateway>();
  const beat = () => {
    const now = performance.now();
    for (const [uid, { model, pod, readyAt, leavingAt }] of pods.records) {
      if (readyAt === undefined || leavingAt !== undefined) continue;
      const gateway = gateways.get(uid) ?? {
        boot: uid,
        busyMs: 0,
        inflight: 0,
        activeAt: Date.now(),
        readAt: now,
      };
      gateways.set(uid, gateway);
      gateway.busyMs += gateway.inflight * (now - gateway.readAt);
      gateway.readAt = now;
      gateway.inflight = now - readyAt < played.serveMs ? 1 : 0;
      if (gateway.inflight > 0) gateway.activeAt = Date.now();
      const [namespace, name] = model.split('/');
      const { boot, inflight, activeAt } = gateway;
      const words = {
        pod,
        boot,
        inflight,
        activeAt,
        busyMs: Math.floor(gateway.busyMs),
        limit: 8,
        every: 5_000,
      };
      heartbeat(redis, { namespace: namespace!, name: name!, heartbeat: describeReplica(words) }).catch(
        () => {},
      );
    }
  };
  const timer = setInterval(beat, INTERVAL_MS);
  const played: Gateways = { serveMs: 0, close: () => clearInterval(timer) };
  return played;
}

/** Requests that wait at a front until `stop`, reported again each second. */
export function holdRequests(redis: RedisClient, model: ModelName, count: number): { stop(): void } {
  const since = performance.now();
  let last = since;
  let heldMs = 0;
  const say = (held: number) => {
    const now = performance.now();
    heldMs += count * (now - last);
    last = now;
    const share = {
      v: 1 as const,
      front: 'bench-front',
      boot: `b${since}`,
      held,
      heldMs: Math.floor(heldMs),
      refused: 0,
      wantedAt: held > 0 ? Date.now() : 0,
      every: INTERVAL_MS,
    };
    sayShare(redis, model, share).catch(() => {});
    if (held > 0) publishWake(redis, model).catch(() => {});
  };
  say(count);
  const timer = setInterval(say, INTERVAL_MS, count);
  return {
    stop: () => {
      clearInterval(timer);
      say(0);
    },
  };
}

/** Counts calls of Redis from now on, without the commands within functions, which Redis counts, too. */
export async function watchCalls(redis: RedisClient): Promise<{ count: () => number; stop: () => void }> {
  const monitor = await redis.monitor();
  let calls = 0;
  monitor.on('monitor', (_time: string, _args: string[], source: string) => {
    if (source !== 'lua') calls++;
  });
  return { count: () => calls, stop: () => monitor.disconnect() };
}
