/** `make key` in a cluster: an APIKey object with only the hash. */
import { API_VERSION } from '../api/kubernetes-types.ts';
import type { EndpointsFile } from './endpoints-file.ts';
import type { KeyRequest } from './key-request.ts';
import { applyObjects, runKubectl } from './kubectl.ts';

/** Applies the key and waits until the gateways know it. */
export async function applyKey(endpoints: EndpointsFile, request: KeyRequest): Promise<void> {
  const { namespace, name, ...spec } = request;
  await applyObjects(endpoints.cluster!, [
    { apiVersion: API_VERSION, kind: 'APIKey', metadata: { name, namespace }, spec },
  ]);
  await runKubectl(endpoints.cluster!, [
    'wait',
    `apikey/${name}`,
    '-n',
    namespace,
    '--for=condition=Ready',
    '--timeout=20s',
  ]);
}
