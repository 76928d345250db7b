/** API keys of one's own in `make run`. */
import { API_VERSION } from '../../api/kubernetes-types.ts';
import type { EndpointsFile } from '../../launch/endpoints-file.ts';
import { pollUntil } from './poll.ts';

export interface LocalKey {
  namespace: string;
  name: string;
  sha256: string;
  rpm: number;
  tpd: number;
  priority: number;
}

/** Resolves once the gateways know it. Throws with the API's error. */
export async function createLocalKey({ objects }: EndpointsFile, key: LocalKey): Promise<void> {
  const { namespace, name, ...spec } = key;
  const { url, token } = objects!;
  const path = `${url}/apis/${API_VERSION}/namespaces/${namespace}/apikeys`;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const object = { apiVersion: API_VERSION, kind: 'APIKey', metadata: { name }, spec };
  const created = await fetch(path, { method: 'POST', headers, body: JSON.stringify(object) });
  if (!created.ok) throw new Error(await created.text());
  const isReady = async () => {
    const response = await fetch(`${path}/${name}`, { headers });
    const { status } = (await response.json()) as {
      status?: { conditions?: { type: string; status: string }[] };
    };
    return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
  };
  await pollUntil(isReady, `the key ${name}`, 20_000);
}
