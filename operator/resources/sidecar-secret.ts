/** The Secret with a sidecar's configuration and credentials. */
import { buildGatewayConfig } from '../../api/gateway-config.ts';
import {
  peerToken,
  storageToken,
  workspacePrefix,
  workspaceRedisPassword,
  workspaceRedisUser,
} from '../../api/identity.ts';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { childNames, SIDECAR_SECRET_FILES } from '../../api/names.ts';
import type { KubeObject } from '../../kube/object.ts';
import { buildAdapterConfig } from './adapter-config.ts';
import type { ServedAdapter } from './adapters.ts';
import { childMetadata } from './metadata.ts';
import { decideURL, type URLSettings } from './route.ts';
import type { BuildSettings } from './settings.ts';

type SecretSettings = URLSettings &
  Pick<
    BuildSettings,
    'masterKey' | 'redisUsers' | 'redisUsername' | 'redisPassword' | 'readRedisCA' | 'documentationURL'
  >;

/** What a sidecar needs to start while Redis is down: its configuration and credentials. */
export function buildSidecarSecret(
  model: ModelDeployment,
  settings: SecretSettings,
  adapters: readonly ServedAdapter[] = [],
): KubeObject {
  const { name, namespace } = model.metadata;
  const { username, password } = redisCredentials(namespace, settings);
  const files = {
    [SIDECAR_SECRET_FILES.config]: JSON.stringify({
      ...buildGatewayConfig(model, { ...settings, baseURL: decideURL(model, settings) }),
      ...(adapters.length > 0 && {
        adapters: adapters.map((adapter) => buildAdapterConfig(adapter, settings)),
      }),
    }),
    [SIDECAR_SECRET_FILES.redisUsername]: username,
    [SIDECAR_SECRET_FILES.redisPassword]: password,
    [SIDECAR_SECRET_FILES.redisCA]: settings.readRedisCA(),
    [SIDECAR_SECRET_FILES.peerToken]: peerToken(settings.masterKey, namespace, name),
    [SIDECAR_SECRET_FILES.storageToken]: storageToken(settings.masterKey, namespace),
    [SIDECAR_SECRET_FILES.requestPrefix]: workspacePrefix(settings.masterKey, namespace),
  };
  const present = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: childMetadata(model, childNames(name).sidecarSecret),
    type: 'Opaque',
    data: Object.fromEntries(present.map(([file, text]) => [file, Buffer.from(text).toString('base64')])),
  };
}

interface Credentials {
  username?: string | undefined;
  password?: string | undefined;
}

/** With `external` they come from the workspace's own Secret, which the pod mounts beside this one. */
function redisCredentials(namespace: string, settings: SecretSettings): Credentials {
  if (settings.redisUsers === 'external') return {};
  if (settings.redisUsers === 'off')
    return { username: settings.redisUsername, password: settings.redisPassword };
  return {
    username: workspaceRedisUser(namespace),
    password: workspaceRedisPassword(settings.masterKey, namespace),
  };
}
