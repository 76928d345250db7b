/** `make key` with `make run`: an APIKey object with the hash alone, as on a cluster. */
import { API_VERSION } from '../contract/kubernetes-types.ts';
import type { EndpointsFile } from './endpoints-file.ts';
import type { KeyRequest } from './key.ts';

/** Resolves once the gateways know it. Throws with what the API says. */
export async function createLocalKey(endpoints: EndpointsFile, request: KeyRequest): Promise<void> {
  const { namespace, name, ...spec } = request;
  const { url, token } = endpoints.objects!;
  const response = await fetch(`${url}/apis/${API_VERSION}/namespaces/${namespace}/apikeys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { name }, spec }),
  });
  if (!response.ok) throw new Error(((await response.json()) as { message: string }).message);
}
