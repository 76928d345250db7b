/** What makes alerts fire in a `make run`, and ends it again. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeClient } from '../../../kube/client.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { readSpentMicros } from '../../../redis/admission/admission-calls.ts';
import type { RedisClient } from '../../../redis/client.ts';
import type { LocalStack } from '../../support/local-stack.ts';
import { pollUntil } from '../../support/poll.ts';
import type { S3Server } from '../../support/s3-server.ts';

export const NAMESPACE = 'default';
export const BUCKET = 'results';
const CREDENTIAL_ID = 7;
const GRANTED = '1000';

export interface Cause {
  what: string;
  /** By name of the alert: labels that show that it fires for this cause. */
  alerts: Record<string, string>;
  begin?: () => Promise<unknown>;
  /** Repeated from the beginning until no alert fires any more. */
  work?: (isBroken: boolean) => Promise<unknown>;
  /** Also called where they did not fire. */
  end: () => unknown;
}

export interface Scene {
  stack: LocalStack;
  client: KubeClient;
  redis: RedisClient;
  s3: S3Server;
  /** A receiver of webhooks. */
  hook: { url: string; status: number };
}

const berth = (kind: string, name: string, spec: object) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind,
  metadata: { name, namespace: NAMESPACE },
  spec,
});
const describeModel = (name: string, spec: object = {}) =>
  berth('ModelDeployment', name, {
    kind: 'LLM',
    model: { id: name },
    engine: { preset: 'simulator' },
    ...spec,
  });
const IMAGES = { kind: 'Image', image: { sizes: ['64x64'], tasks: ['txt2img'] } };
const describeWorkspace = (credit: string) =>
  berth('Workspace', 'workspace', { ownerEmail: 'owner@example.com', credit });

/** A deployment for each cause, so that none hides another. */
export const describeObjects = (s3: S3Server): object[] => [
  describeWorkspace(GRANTED),
  describeModel('failing', { slo: { availability: 99 } }),
  describeModel('sick'),
  describeModel('hanging'),
  describeModel('priced', { pricing: { perMillionOutputTokens: '1000' } }),
  describeModel('queued', IMAGES),
  describeModel('picture', IMAGES),
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'keys', namespace: NAMESPACE },
    stringData: { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey },
  },
  berth('StorageCredential', 'bucket', {
    id: CREDENTIAL_ID,
    endpoint: s3.endpoint,
    bucket: BUCKET,
    secret: 'keys',
  }),
];

/** Causes that do not affect each other. */
export function listDeploymentCauses({ stack, client, redis, s3, hook }: Scene): Cause[] {
  const find = (name: string) => stack.endpoints.deployments.find((each) => each.name === name)!;
  const steer = (name: string, settings: object) =>
    fetch(`${find(name).simulatorURL}/control`, { method: 'PUT', body: JSON.stringify(settings) });
  const post = async (name: string, path: string, body: object = {}): Promise<{ id?: string }> => {
    const { baseURL, apiKey } = find(name);
    const response = await fetch(`${baseURL}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { id?: string };
  };
  const chat = (model: string) =>
    post(model, '/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] });
  const paint = (model: string, more: object = {}) =>
    post(model, '/images/generations?async=true', { model, prompt: 'A cat', size: '64x64', ...more });
  const setCredit = (credit: string) =>
    client.apply(BERTH_RESOURCES.Workspace, describeWorkspace(credit), { fieldManager: 'test', force: true });
  const buckets = [BUCKET, 'away'].map((name) => join(s3.folder, name)) as [string, string];
  let waiting: (string | undefined)[] = [];

  return [
    {
      what: 'an engine that fails one request of three',
      alerts: {
        BerthErrorBudgetBurnsFast: 'deployment="failing", objective="availability"',
        BerthErrorBudgetBurnsSlowly: 'deployment="failing", objective="availability"',
      },
      work: async (isBroken) => {
        if (isBroken) await steer('failing', { fault: { kind: 'status', status: 500 }, faultTimes: 1 });
        for (let call = 0; call < 3; call++) await chat('failing');
      },
      end: () => steer('failing', { fault: null }),
    },
    {
      what: 'an engine whose health check fails',
      alerts: {
        BerthEngineDown: 'deployment="sick"',
        BerthNotReady: 'name="sick", reason="EngineUnhealthy"',
      },
      begin: () => steer('sick', { healthy: false }),
      end: () => steer('sick', { healthy: true }),
    },
    {
      what: 'an engine whose event loop is too busy for its metrics',
      alerts: { BerthEngineHangs: 'deployment="hanging"' },
      begin: () => steer('hanging', { healthDelayMs: 2_500 }),
      end: () => steer('hanging', { healthDelayMs: 0 }),
    },
    {
      what: 'a workspace that has spent what it was granted',
      alerts: { BerthCreditGone: `namespace="${NAMESPACE}"` },
      begin: async () => {
        await chat('priced');
        await pollUntil(async () => (await readSpentMicros(redis, NAMESPACE)) > 1, 'the cost to be counted');
        await setCredit('0.000001');
      },
      end: () => setCredit(GRANTED),
    },
    {
      what: 'a request that waits behind a long one',
      alerts: { BerthQueueOld: 'deployment="queued"' },
      begin: async () => {
        await steer('queued', { jobSeconds: 600 });
        waiting = [(await paint('queued')).id, (await paint('queued')).id];
      },
      // The one that runs refuses.
      end: () => Promise.all(waiting.map((id) => post('queued', `/requests/${id}/cancel`))),
    },
    {
      what: 'a receiver that fails',
      alerts: { BerthWebhooksFailing: 'severity="critical"' },
      begin: async () => {
        hook.status = 500;
        await steer('picture', { jobSeconds: 0.01 });
      },
      work: () => paint('picture', { webhook_url: hook.url }),
      end: () => {
        hook.status = 204;
      },
    },
    {
      what: 'a bucket that is gone',
      alerts: { BerthStorageFailing: 'deployment="picture"' },
      begin: async () => renameSync(...buckets),
      work: () => paint('picture', { storage_credential_id: CREDENTIAL_ID }),
      end: () => renameSync(buckets[1], buckets[0]),
    },
  ];
}

/** Causes for one at a time: each affects all deployments. */
export function listPlatformCauses({ stack, redis }: Scene): Cause[] {
  const readInfo = async (name: string) =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await redis.info())![1]);
  const setMemory = (bytes: number) => redis.config('SET', 'maxmemory', String(bytes));
  let memory = 0;
  let server: number | undefined;
  return [
    {
      what: 'a Redis that is nearly full',
      alerts: { BerthRedisAlmostFull: 'severity="warning"', BerthQueueRefused: 'severity="critical"' },
      begin: async () => {
        memory = await readInfo('maxmemory');
        await setMemory(Math.round((await readInfo('used_memory')) / 0.9));
      },
      end: () => memory > 0 && setMemory(memory),
    },
    {
      what: 'a Redis that does not answer',
      alerts: { BerthRedisUnavailable: 'severity="critical"' },
      begin: async () => {
        server = await readInfo('process_id');
        process.kill(server, 'SIGSTOP');
      },
      end: () => server !== undefined && process.kill(server, 'SIGCONT'),
    },
    {
      what: 'an operator that hangs',
      alerts: { BerthOperatorDown: 'severity="critical"' },
      begin: async () => process.kill(stack.pid!, 'SIGSTOP'),
      end: () => process.kill(stack.pid!, 'SIGCONT'),
    },
  ];
}
