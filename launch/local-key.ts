/** `make key` with `make run`: an APIKey object with only the hash, as on a cluster. */
import { API_VERSION } from '../api/kubernetes-types.ts';
import type { EndpointsFile } from './endpoints-file.ts';
import type { KeyRequest } from './key-request.ts';
import { createObjectsCall, waitForCondition } from './objects-client.ts';

/** Resolves once the gateways know it. Throws with the API's error. */
export async function createLocalKey(endpoints: EndpointsFile, request: KeyRequest): Promise<void> {
  const { namespace, name, ...spec } = request;
  const call = createObjectsCall(endpoints.objects!);
  const path = `${namespace}/apikeys`;
  await call('POST', path, { apiVersion: API_VERSION, kind: 'APIKey', metadata: { name }, spec });
  await waitForCondition(call, `${path}/${name}`, { type: 'Ready' });
}
