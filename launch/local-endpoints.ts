/** The content of `.berth/endpoints.json` for `make run`, read from its API server. */

import { buildGatewayConfig } from '../api/gateway-config.ts';
import { deriveId } from '../api/identity.ts';
import { type ModelDeployment, modelDeployment } from '../api/model-deployment.ts';
import { CONTAINERS, LABELS, SIGNING_SECRET_FIELD, SIGNING_SECRET_NAME } from '../api/names.ts';
import type { MemoryApi } from '../kube/memory/memory-api.ts';
import { readCondition } from './conditions.ts';
import type { EndpointEntry, EndpointsFile } from './endpoints-file.ts';
import type { CustomerBucket } from './local-buckets.ts';
import { LOCAL_IMAGE } from './local-node/engine-programs.ts';
import type { PodAddress } from './local-node/pod-network.ts';
import { CONTROL_PORT } from './local-node/pod-runner.ts';
import type { Pod } from './local-node/pod-spec.ts';
import { isPodReady } from './local-node/pod-status.ts';
import { DEFAULT_NAMESPACE, deriveLocalKey, LOOPBACK, type LocalPorts, localRedisURL } from './local-plan.ts';
import { describeMedia } from './media-facts.ts';

export interface LocalInstance {
  api: MemoryApi;
  ports: LocalPorts;
  masterKey: string;
  /** Token for the console and the API server. */
  token: string;
  hasConsole: boolean;
  /** Buckets of the S3 server, if there is one. */
  buckets: readonly Pick<CustomerBucket, 'endpoint' | 'bucket' | 'keys'>[];
  /** undefined if none was left. */
  portOf: (deployment: { namespace: string; name: string }) => number | undefined;
  addressOf: (podUid: string) => PodAddress | undefined;
}

/** In the order of their ports. */
export const listDeployments = (api: MemoryApi): ModelDeployment[] =>
  api.list('modeldeployments.berth.dev').flatMap((object) => {
    const parsed = modelDeployment.safeParse(object);
    return parsed.success ? [parsed.data] : [];
  });

export function describeEndpoints(instance: LocalInstance): EndpointsFile {
  const { api, ports, masterKey, token, hasConsole, buckets, portOf } = instance;
  const entries = listDeployments(api)
    .flatMap((deployment) => {
      const port = portOf(deployment.metadata);
      return port === undefined ? [] : [{ deployment, port }];
    })
    .sort((a, b) => a.port - b.port)
    .map(({ deployment, port }) => describeDeployment(instance, deployment, port));
  const ofNamespace = (namespace: string) => {
    const deployments = entries.filter((entry) => entry.namespace === namespace);
    return deployments.length === 0
      ? null
      : { namespace, apiKey: deriveLocalKey(masterKey, namespace), deployments };
  };
  return {
    mode: 'local',
    deployments: entries.filter((entry) => entry.namespace === DEFAULT_NAMESPACE),
    otherWorkspace: ofNamespace('other'),
    exhaustedWorkspace: ofNamespace('spent'),
    storageCredentials: describeCredentials(api),
    unknownURL: `http://${LOOPBACK}:${ports.front}/v1`,
    s3: buckets[0] ? { endpoint: buckets[0].endpoint, bucket: buckets[0].bucket, ...buckets[0].keys } : null,
    redisURL: localRedisURL(ports.redis, masterKey, 'operator'),
    webhooks: { signingSecret: readSigningSecret(api), receiverHost: LOOPBACK, plainHTTP: true },
    console: hasConsole ? { url: `http://${LOOPBACK}:${ports.console}`, token } : null,
    objects: { url: `http://${LOOPBACK}:${ports.api}`, token },
    cluster: null,
  };
}

function describeDeployment(
  instance: LocalInstance,
  deployment: ModelDeployment,
  port: number,
): EndpointEntry {
  const config = buildGatewayConfig(deployment);
  const controls = listControls(instance, deployment);
  return {
    name: config.name,
    namespace: config.namespace,
    kind: config.kind,
    modelId: config.modelId,
    registrationId: config.registrationId,
    baseURL: `http://${LOOPBACK}:${port}/v1`,
    apiKey: deriveLocalKey(instance.masterKey, config.namespace),
    simulatorURL: controls[0] ?? null,
    simulatorURLs: controls.length === 0 ? null : controls,
    ...describeMedia(config),
    ...(config.paused ? { paused: true as const } : {}),
  };
}

/** Lists the control ports of ready pods whose engine is a simulator. */
function listControls({ api, addressOf }: LocalInstance, { metadata }: ModelDeployment): string[] {
  const pods = api.list('pods', metadata.namespace) as Pod[];
  return pods
    .filter(isPodReady)
    .filter(({ metadata: own, spec }) => {
      const isOwn = own.labels?.[LABELS.deployment] === metadata.name && !own.deletionTimestamp;
      return (
        isOwn &&
        spec.containers.some(({ name, image }) => name === CONTAINERS.engine && image === LOCAL_IMAGE)
      );
    })
    .flatMap((pod) => {
      const address = addressOf(pod.metadata.uid!);
      return address ? [`http://${address.ip}:${address.port(CONTROL_PORT)}`] : [];
    });
}

function describeCredentials(api: MemoryApi): EndpointsFile['storageCredentials'] {
  const own = api.list('storagecredentials.berth.dev', DEFAULT_NAMESPACE);
  if (own.length === 0) return null;
  return own
    .map((credential) => {
      const { id, bucket } = credential.spec as { id?: number; bucket: string };
      const { namespace, name } = credential.metadata;
      return {
        id: id ?? deriveId('StorageCredential', namespace!, name),
        verified: readCondition(credential, 'Verified')?.status === 'True',
        bucket,
      };
    })
    .sort((a, b) => a.id - b.id);
}

function readSigningSecret(api: MemoryApi): string {
  const [workspace] = api.list('workspaces.berth.dev', DEFAULT_NAMESPACE);
  const named = (workspace?.spec as { signingSecret?: string } | undefined)?.signingSecret;
  const secret = api.find('secrets', { namespace: DEFAULT_NAMESPACE, name: named ?? SIGNING_SECRET_NAME });
  const text = (secret?.data as Record<string, string> | undefined)?.[SIGNING_SECRET_FIELD] ?? '';
  return Buffer.from(text, 'base64').toString();
}
