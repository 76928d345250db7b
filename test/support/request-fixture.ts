/** A workspace with a media deployment whose limits a test chooses, and requests for it. */
import { randomBytes } from 'node:crypto';
import { buildGatewayConfig } from '../../api/gateway-config.ts';
import { modelDeployment } from '../../api/model-deployment.ts';
import type { ResolvedLimits } from '../../api/model-limits.ts';
import { generateRequestId, type RequestOutput, type StoredObject } from '../../api/request.ts';
import type { RedisClient } from '../../redis/client.ts';
import { publishDeployment } from '../../redis/publication/publication.ts';
import type { JobOutcome, NewRequest } from '../../redis/requests/request-calls.ts';

export const PREFIX = '0a1b2c3d';
export const newToken = (): string => randomBytes(16).toString('hex');
/** The id of the one event that a request causes: the request's digits. */
export const deriveEventId = (requestId: string): string => requestId.replace(/^req_/, 'evt_');
export const newRequestId = (): string => generateRequestId(PREFIX);

export interface DeploymentChoice {
  namespace: string;
  name: string;
  limits?: Partial<ResolvedLimits>;
  deleting?: boolean;
}

/** Publishes the deployment, or changes it. */
export async function publishMedia(redis: RedisClient, choice: DeploymentChoice): Promise<void> {
  const config = buildGatewayConfig(
    modelDeployment.parse({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name: choice.name, namespace: choice.namespace },
      spec: { kind: 'Video', model: { id: 'film', source: {} }, engine: { preset: 'simulator' } },
    }),
  );
  await publishDeployment(redis, {
    ...config,
    deleting: choice.deleting ?? false,
    limits: { ...config.limits, ...choice.limits },
  });
}

export const submissionOf = (
  fields: Pick<NewRequest, 'namespace' | 'deployment'> & Partial<NewRequest>,
): NewRequest => ({
  id: newRequestId(),
  modality: 'video',
  sha256: 'a'.repeat(64),
  idempotency: null,
  priceMicros: 0,
  slots: 1,
  expectedMs: 10_000,
  model: 'film',
  params: '{"prompt":"a cat"}',
  ...fields,
});

export const outputOf = (...keys: string[]): RequestOutput => ({
  bucket: 'results',
  keys,
  credential: null,
  provider: null,
  retentionMs: 86_400_000,
});

export const success = (
  objects: { object: StoredObject; removeInMs: number | null }[] = [],
): JobOutcome & { status: 'succeeded' } => ({
  status: 'succeeded',
  output: outputOf('results/one.mp4'),
  payload: { outputs: 1 },
  objects,
});

export const failure = (): JobOutcome => ({
  status: 'failed',
  code: 'upstream_error',
  message: 'The engine said "no".',
  objects: [],
});

/** Waits until `ms` have passed by Redis' clock, beyond the current millisecond. */
export async function passTime(redis: RedisClient, ms: number): Promise<void> {
  const read = async () => {
    const [seconds, micros] = await redis.time();
    return Number(seconds) * 1000 + Number(micros) / 1000;
  };
  const end = Math.floor(await read()) + ms + 1;
  while ((await read()) < end) await new Promise((resolve) => setImmediate(resolve));
}
