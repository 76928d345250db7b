/** Events on objects (`kubectl describe` shows them): repeats are aggregated, floods rate-limited, errors only logged. */

import { LRUCache } from 'lru-cache';
import { type Clock, systemClock } from '../kit/clock.ts';
import { isNotFound } from './api-error.ts';
import type { KubeClient } from './client.ts';
import { type Log, silentLog } from './log.ts';
import { type KubeObject, objectKey } from './object.ts';
import { RESOURCES } from './resource.ts';
import { formatMicroTime } from './time.ts';

export interface EventRecorderOptions {
  client: Pick<KubeClient, 'create' | 'mergePatch'>;
  /** The controller's name, such as `example.dev/operator`. */
  controller: string;
  /** This process, such as its pod's name. */
  instance: string;
  clock?: Clock;
  log?: Log;
}

export interface EventNote {
  type: 'Normal' | 'Warning';
  /** UpperCamelCase, for machines. */
  reason: string;
  /** For people; truncated to 1,024 bytes. */
  note: string;
  /** What was done or attempted (default: the reason). */
  action?: string;
}

/** Repeats within this time are one event with a count; Kubernetes keeps events for an hour. */
const SERIES_MS = 10 * 60_000;
/** A series is written at most this often; repeats in between are counted with the next. */
const SERIES_WRITE_MS = 30_000;
/** New events of one object: this many at once, then one in so long. */
const BURST = 25;
const REFILL_MS = 60_000;
/** Events waiting to be written, and series and objects remembered. */
const MAX_PENDING = 1_000;

interface Series {
  name: string;
  namespace: string;
  count: number;
  writtenAt: number;
  seenAt: number;
  created: boolean;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

export function createEventRecorder(options: EventRecorderOptions) {
  const { client, controller, instance, clock = systemClock, log = silentLog } = options;
  const series = new LRUCache<string, Series>({ max: MAX_PENDING });
  const buckets = new LRUCache<string, Bucket>({ max: MAX_PENDING });
  let pending = 0;
  let dropped = 0;
  let writes: Promise<void> = Promise.resolve();

  /** Records an event on an object and returns at once. */
  function record(regarding: KubeObject, event: EventNote): void {
    const key = JSON.stringify([
      regarding.metadata.uid,
      objectKey(regarding),
      event.type,
      event.reason,
      event.note,
    ]);
    const now = clock.now();
    const known = series.get(key);
    if (known && now - known.seenAt < SERIES_MS) {
      known.count++;
      known.seenAt = now;
      if (now - known.writtenAt < SERIES_WRITE_MS) return;
      known.writtenAt = now;
      enqueue(() => (known.created ? writeSeries(known) : create(known, regarding, event)));
      return;
    }
    if (!takeToken(regarding, now)) {
      dropped++;
      return;
    }
    const namespace = regarding.metadata.namespace ?? 'default';
    const name = eventName(regarding, clock.date());
    const fresh = { name, namespace, count: 1, writtenAt: now, seenAt: now, created: false };
    series.set(key, fresh);
    enqueue(() => create(fresh, regarding, event));
  }

  function enqueue(write: () => Promise<unknown>): void {
    if (pending >= MAX_PENDING) {
      dropped++;
      return;
    }
    pending++;
    // Sequentially: events are not worth more than one connection.
    writes = writes.then(write).then(
      () => {
        pending--;
      },
      (error) => {
        pending--;
        dropped++;
        log.warn({ reason: (error as Error).message }, 'event not recorded');
      },
    );
  }

  async function create(fresh: Series, regarding: KubeObject, event: EventNote): Promise<void> {
    const { apiVersion, kind, metadata } = regarding;
    await client.create(RESOURCES.Event, {
      apiVersion: RESOURCES.Event.apiVersion,
      kind: 'Event',
      metadata: { name: fresh.name, namespace: fresh.namespace },
      eventTime: formatMicroTime(clock.date()),
      type: event.type,
      reason: event.reason.slice(0, 128),
      note: cutBytes(event.note, 1024),
      action: (event.action ?? event.reason).slice(0, 128),
      reportingController: controller,
      reportingInstance: instance.slice(0, 128),
      regarding: { apiVersion, kind, name: metadata.name, namespace: metadata.namespace, uid: metadata.uid },
    });
    fresh.created = true;
  }

  async function writeSeries(known: Series): Promise<void> {
    const { name, namespace, count } = known;
    const patch = { series: { count, lastObservedTime: formatMicroTime(clock.date()) } };
    await client.mergePatch(RESOURCES.Event, { at: { name, namespace }, patch }).catch((error) => {
      // It has expired: the next repeat starts a new one.
      if (!isNotFound(error)) throw error;
      known.seenAt = Number.NEGATIVE_INFINITY;
    });
  }

  function takeToken(regarding: KubeObject, now: number): boolean {
    const key = regarding.metadata.uid ?? objectKey(regarding);
    const bucket = buckets.get(key) ?? { tokens: BURST, filledAt: now };
    const refill = Math.floor((now - bucket.filledAt) / REFILL_MS);
    bucket.tokens = Math.min(BURST, bucket.tokens + refill);
    bucket.filledAt += refill * REFILL_MS;
    buckets.set(key, bucket);
    if (bucket.tokens === 0) return false;
    bucket.tokens--;
    return true;
  }

  return {
    record,
    /** Resolves when all events so far are written or dropped. */
    flush: () => writes,
    /** Events that were not written, since the start. */
    dropped: () => dropped,
  };
}

let sequence = 0;

/** As client-go names them: the object and a hexadecimal time, here with a counter against equal times. */
function eventName({ metadata }: KubeObject, date: Date): string {
  sequence = (sequence + 1) % 0x1000000;
  const suffix = date.getTime().toString(16) + sequence.toString(16).padStart(6, '0');
  return `${metadata.name.slice(0, 253 - suffix.length - 1)}.${suffix}`;
}

function cutBytes(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  // A truncated character at the end is dropped.
  const cut = Buffer.from(text)
    .subarray(0, bytes - 3)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
  return `${cut}…`;
}
