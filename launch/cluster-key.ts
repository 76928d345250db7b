/** `make key` in a cluster: an APIKey object with only the hash. */
import { API_VERSION } from '../api/kubernetes-types.ts';
import type { EndpointsFile } from './endpoints-file.ts';
import type { KeyRequest } from './key-request.ts';
import { runKubectl } from './kubectl.ts';

/** Creates the key and waits until the gateways know it. Throws if there is one of its name, which would lose its own. */
export async function createClusterKey(endpoints: EndpointsFile, request: KeyRequest): Promise<void> {
  const { namespace, name, ...spec } = request;
  const object = { apiVersion: API_VERSION, kind: 'APIKey', metadata: { name, namespace }, spec };
  await runKubectl(endpoints.cluster!, ['create', '-f', '-'], JSON.stringify(object));
  await runKubectl(endpoints.cluster!, [
    'wait',
    `apikey/${name}`,
    '-n',
    namespace,
    '--for=condition=Ready',
    '--timeout=20s',
  ]);
}
