/** A real HPA that scales a deployment by the front's demand, on fake nodes, with the documented example. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { KubeClient } from '../../../kube/client.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { serveExternalMetrics } from '../../support/external-metrics.ts';
import { pollUntil } from '../../support/poll.ts';
import { createModel } from '../operator-state.ts';
import { holdRequests } from './gateways.ts';
import type { Installation, Operator } from './installation.ts';
import { pause, requireRunning } from './rest.ts';
import { readReplicas } from './wakes.ts';

const EXAMPLE = 'examples/autoscalers/hpa.yaml';
const MODEL = { namespace: 'default', name: 'chat' };
/** The target is 8 per replica. */
const REQUESTS = 20;
const TIMEOUT_MS = 600_000;

export interface HPAFigures {
  /** Seconds from the beginning of the load to three replicas, and from its end to one. */
  upSeconds: number;
  downSeconds: number;
  /** What it saw under load. */
  demand: number;
}

export async function measureHPA(installation: Installation, operator: Operator): Promise<HPAFigures> {
  const { client, redis, front } = installation;
  const { apiVersion, kind } = BERTH_RESOURCES.APIKey;
  const key = { apiVersion, kind, metadata: { name: 'key', namespace: MODEL.namespace }, spec: {} };
  await client.create(BERTH_RESOURCES.APIKey, key);
  const spec = {
    model: { id: 'chat' },
    engine: { preset: 'simulator' },
    gpu: undefined,
    resources: undefined,
  };
  await createModel(client, MODEL, { ...spec, replicas: 1 });
  const metrics = await serveExternalMetrics(front.origin, await installation.readKey(MODEL.namespace));
  try {
    for (const object of [...metrics.objects, parse(readFileSync(EXAMPLE, 'utf8'))] as KubeObject[])
      await client.create(
        { ...describe(object), apiVersion: object.apiVersion!, kind: object.kind! },
        object,
      );
    await pollUntil(() => metrics.values.has(MODEL.name), 'the HPA to ask for the demand', TIMEOUT_MS);
    const startedAt = performance.now();
    const load = holdRequests(redis.redis, MODEL, REQUESTS);
    const until = (replicas: number) =>
      pollUntil(
        async () => {
          // Without it the deployment keeps its pods, whatever the HPA wants.
          requireRunning(operator);
          const model = await client.get<KubeObject & { spec?: { replicas?: number } }>(
            BERTH_RESOURCES.ModelDeployment,
            MODEL,
          );
          return model.spec?.replicas === replicas && (await readReplicas(installation, MODEL)) === replicas;
        },
        `${replicas} replicas`,
        TIMEOUT_MS,
      ).catch(async (error: Error) => {
        throw new Error(`${error.message}: ${await describeState(client, metrics.values)}`, { cause: error });
      });
    await until(3);
    const upSeconds = (performance.now() - startedAt) / 1_000;
    await pause(2_000);
    const demand = metrics.values.get(MODEL.name)!;
    load.stop();
    const endedAt = performance.now();
    await until(1);
    return { upSeconds, downSeconds: (performance.now() - endedAt) / 1_000, demand };
  } finally {
    metrics.close();
  }
}

const HPA = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  namespaced: true,
};

/** State of the HPA, the metrics it got, and the Deployment: afterwards it would be unknown which of these failed. */
async function describeState(client: KubeClient, values: ReadonlyMap<string, number>): Promise<string> {
  const at = { namespace: MODEL.namespace, name: MODEL.name };
  const [hpa, model] = await Promise.all([
    client.get<KubeObject & { status?: object }>(HPA, at),
    client.get<KubeObject & { spec?: { replicas?: number }; status?: object }>(
      BERTH_RESOURCES.ModelDeployment,
      at,
    ),
  ]);
  const demand = values.get(MODEL.name);
  return JSON.stringify({ demand, hpa: hpa.status, replicas: model.spec?.replicas, status: model.status });
}

const PLURALS: Record<string, { plural: string; namespaced: boolean }> = {
  Service: { plural: 'services', namespaced: true },
  APIService: { plural: 'apiservices', namespaced: false },
  HorizontalPodAutoscaler: { plural: 'horizontalpodautoscalers', namespaced: true },
};

const describe = ({ kind }: KubeObject) => PLURALS[kind!]!;
