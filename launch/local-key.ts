/** `make key` with `make run`: an APIKey object with the hash alone, as on a cluster. */
import { API_VERSION } from '../api/kubernetes-types.ts';
import type { EndpointsFile } from './endpoints-file.ts';
import type { KeyRequest } from './key.ts';

const PUBLISH_TIMEOUT_MS = 20_000;
const POLL_INTERVAL_MS = 50;

interface Answer {
  message?: string;
  status?: { conditions?: { type: string; status: string; message: string }[] };
}

/** Resolves once the gateways know it. Throws with what the API says. */
export async function createLocalKey(endpoints: EndpointsFile, request: KeyRequest): Promise<void> {
  const { namespace, name, ...spec } = request;
  const { url, token } = endpoints.objects!;
  const path = `${url}/apis/${API_VERSION}/namespaces/${namespace}/apikeys`;
  const call = async (path: string, body?: object): Promise<Answer> => {
    const response = await fetch(path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answer = (await response.json()) as Answer;
    if (!response.ok) throw new Error(answer.message);
    return answer;
  };
  await call(path, { apiVersion: API_VERSION, kind: 'APIKey', metadata: { name }, spec });
  const deadline = Date.now() + PUBLISH_TIMEOUT_MS;
  for (;;) {
    const { status } = await call(`${path}/${name}`);
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') return;
    if (Date.now() > deadline)
      throw new Error(`the key is not ready: ${ready?.message ?? 'not reconciled yet'}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}
