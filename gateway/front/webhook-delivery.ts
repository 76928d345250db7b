/** Webhook delivery of a front and `make run`. */
import { workspaceDataKey } from '../../api/identity.ts';
import type { RedisClient, RedisSettings } from '../../redis/client.ts';
import { listSweptWorkspaces } from '../../redis/workspaces/swept-workspaces.ts';
import { EgressAgent, type EgressSettings } from '../egress/agent.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { Tracer } from '../tracing/span.ts';
import { createMailer, type MailerOptions } from '../webhooks/mailer.ts';
import { startWebhooks, WEBHOOKS_IN_FLIGHT } from '../webhooks/webhook-service.ts';

export interface WebhookDeliveryOptions {
  redis: RedisClient;
  settings: RedisSettings;
  masterKey: string;
  egress: EgressSettings;
  /** null: no e-mail is sent. */
  mail: MailerOptions | null;
  log: Logger;
  metrics: Pick<GatewayMetrics, 'webhookAttempts' | 'webhookDuration'>;
  /** null or absent: no tracing. */
  tracer?: Tracer | null;
}

export interface WebhookDelivery {
  close(): Promise<void>;
}

export function openWebhookDelivery(options: WebhookDeliveryOptions): WebhookDelivery {
  const { redis, settings, masterKey, egress, mail, log, metrics, tracer } = options;
  const agent = new EgressAgent({ ...egress, inFlight: WEBHOOKS_IN_FLIGHT });
  const mailer = mail && createMailer(mail);
  const service = startWebhooks({
    redis,
    settings,
    agent,
    dataKey: (namespace) => workspaceDataKey(masterKey, namespace),
    mailer,
    listWorkspaces: () => listSweptWorkspaces(redis),
    onAttempt: ({ type }, isDelivered, seconds) => {
      metrics.webhookAttempts.inc({ outcome: isDelivered ? 'delivered' : 'failed' });
      metrics.webhookDuration.observe(type, seconds);
    },
    tracer: tracer ?? null,
    log,
  });
  return {
    close: async () => {
      await service.close();
      mailer?.close();
      await agent.close();
    },
  };
}
