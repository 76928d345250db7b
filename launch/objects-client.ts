/** Calls of `make run`'s API server by its commands. */
import { API_VERSION } from '../api/kubernetes-types.ts';
import { waitUntil } from '../machine/wait-until.ts';
import type { EndpointsFile } from './endpoints-file.ts';

interface Answer {
  message?: string;
  status?: { conditions?: { type: string; status: string; message: string }[] };
}

/** `path`: `namespace/plural`, with a name. Throws with the API server's error. */
export type ObjectsCall = (method: string, path: string, body?: object) => Promise<Answer>;

export function createObjectsCall({ url, token }: NonNullable<EndpointsFile['objects']>): ObjectsCall {
  return async (method, path, body) => {
    const response = await fetch(`${url}/apis/${API_VERSION}/namespaces/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Answer;
    if (!response.ok) throw new Error(answer.message);
    return answer;
  };
}

const TIMEOUT_MS = 20_000;
const INTERVAL_MS = 50;

/** Resolves once a condition of the object is true, or the signal aborts; throws with its message after 20 s. */
export async function waitForCondition(
  call: ObjectsCall,
  path: string,
  { type, signal }: { type: string; signal?: AbortSignal },
): Promise<void> {
  let message = 'not reconciled yet';
  const isTrue = async () => {
    const { status } = await call('GET', path);
    const condition = status?.conditions?.find((each) => each.type === type);
    message = condition?.message ?? message;
    return condition?.status === 'True';
  };
  await waitUntil(
    async () => signal?.aborted || (await isTrue()),
    () => `${path} to be ${type}: ${message}`,
    TIMEOUT_MS,
    INTERVAL_MS,
  );
}
