/** The front's part in webhooks: receives events, delivers them, notifies owners. */

import { channels, deliveryKeys, workKeys } from '../../api/redis-keys.ts';
import { PeriodicTask } from '../../kit/periodic-task.ts';
import { isRedisAway, type RedisClient, type RedisSettings } from '../../redis/client.ts';
import { readEndpoints, readOwnerEmail, readSigningSecret } from '../../redis/publication/published.ts';
import { subscribe } from '../../redis/subscription.ts';
import type { EgressAgent } from '../egress/agent.ts';
import { FreshCache } from '../http/fresh-cache.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Tracer } from '../tracing/span.ts';
import type { AttemptTiming } from './attempt.ts';
import { beginAttemptSpan } from './attempt-span.ts';
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';
import type { Mailer } from './mailer.ts';
import { OwnerMail } from './owner-mail.ts';
import { createSecretOpener } from './secret-opener.ts';

export interface WebhookServiceOptions {
  redis: RedisClient;
  /** With a subscription of its own. */
  settings: RedisSettings;
  agent: EgressAgent;
  /** 32 bytes, by namespace. */
  dataKey: (namespace: string) => Buffer;
  /** null = mail is not set up. */
  mailer: Mailer | null;
  /** All workspaces that may have something to deliver. */
  listWorkspaces: () => Promise<string[]>;
  onAttempt?: DispatcherOptions['onAttempt'];
  /** null or absent: no tracing. */
  tracer?: Tracer | null;
  log: Logger;
  timing?: AttemptTiming;
  /** Between two scans of all workspaces, for work of a lost front. */
  scanIntervalMs?: number;
}

export interface WebhookService {
  /** Finishes attempts in progress, starts none. */
  close(): Promise<void>;
}

/**
 * For the delivery agent. Waiting here would count as a slow receiver, so these limits are out of reach: each
 * address is limited in Redis, and each workspace at a front.
 */
export const WEBHOOKS_IN_FLIGHT = { inAll: 2_048, perDestination: 1_024 };

const SCAN_INTERVAL_MS = 10_000;
const ENDPOINTS_TTL_MS = 1_000;
const MAX_WORKSPACES = 10_000;
const CHANNEL = /^n:\{(.+)\}:events$/;

export function startWebhooks(options: WebhookServiceOptions): WebhookService {
  const {
    redis,
    settings,
    agent,
    dataKey,
    mailer,
    listWorkspaces,
    log,
    tracer,
    scanIntervalMs = SCAN_INTERVAL_MS,
  } = options;
  const endpoints = new FreshCache({
    load: (namespace) => readEndpoints(redis, namespace),
    ttlMs: ENDPOINTS_TTL_MS,
    maxEntries: MAX_WORKSPACES,
  });
  const ownerMail = new OwnerMail({
    redis,
    // Without a mail server nobody is notified, and pending mail must not accumulate.
    readOwner: async (namespace) => mailer && readOwnerEmail(redis, namespace),
    send: async (to, mail) => mailer?.send(to, mail),
    log,
  });
  const openSecrets = createSecretOpener(dataKey);
  const dispatcher = new Dispatcher({
    redis,
    agent,
    published: {
      readEndpoints: (namespace) => readEndpoints(redis, namespace),
      recallEndpoints: async (namespace) => endpoints.get(namespace),
      readSecrets: async (namespace) => openSecrets(namespace, await readSigningSecret(redis, namespace)),
    },
    onAbandoned: ({ namespace }) => ownerMail.wake(namespace),
    onAttempt: options.onAttempt,
    beginSpan: tracer ? (delivery) => beginAttemptSpan(tracer, redis, delivery) : undefined,
    log,
    timing: options.timing,
  });

  /** Covers lost pub/sub messages, and work that a lost front had started. */
  const scan = async () => {
    for (const namespace of await listWorkspaces()) {
      const keys = deliveryKeys(namespace);
      const [waiting, mails] = await Promise.all([
        redis.exists(workKeys(namespace).outbox, keys.destinations),
        redis.exists(keys.mail, keys.digest),
      ]);
      if (waiting > 0) dispatcher.wake(namespace);
      if (mails > 0) ownerMail.wake(namespace);
    }
  };
  const reportScan = (error: Error) => {
    if (!isRedisAway(error)) log.error({ err: error }, 'webhook scan failed');
  };
  const scans = new PeriodicTask({ run: scan, intervalMs: scanIntervalMs, onError: reportScan });
  scans.start(scanIntervalMs);
  const subscription = subscribe(settings, [channels.allEvents], {
    onMessage: (_, channel) => {
      const namespace = CHANNEL.exec(channel)?.[1];
      if (namespace) dispatcher.wake(namespace);
    },
    onResume: () => void scan().catch(reportScan),
  });

  return {
    close: async () => {
      await scans.stop();
      await subscription.close();
      await dispatcher.close();
      await ownerMail.close();
    },
  };
}
