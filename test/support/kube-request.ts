/** Plain requests to an API server, for tests that look at what it answers. */
import { Agent, request as send } from 'undici';
import type { ControlPlane } from './control-plane.ts';

export interface KubeAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what a test looks at
  body: any;
}

export interface KubeRequest {
  (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<KubeAnswer>;
  /** Repeats a request until the answer satisfies; throws after 20 s. */
  until(
    method: 'GET' | 'POST',
    path: string,
    isDone: (answer: KubeAnswer) => boolean,
    body?: object,
  ): Promise<KubeAnswer>;
}

const DEADLINE_MS = 20_000;

export function createKubeRequest({ url, token, authority }: ControlPlane): KubeRequest {
  const dispatcher = new Agent({ connect: { ca: authority } });
  const call = async (method: string, path: string, body?: object): Promise<KubeAnswer> => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const answer = await send(`${url}${path}`, {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: answer.statusCode, body: await answer.body.json().catch(() => ({})) };
  };
  const until: KubeRequest['until'] = async (method, path, isDone, body) => {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      const answer = await call(method, path, body);
      if (isDone(answer)) return answer;
      if (Date.now() > deadline) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  return Object.assign(call, { until }) as KubeRequest;
}
