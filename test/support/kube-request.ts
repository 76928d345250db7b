/** Plain requests to an API server, for tests of its responses. */
import { Agent, request as send } from 'undici';
import type { ControlPlane } from './control-plane.ts';
import { pollUntil } from './poll.ts';

export interface KubeAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what a test checks
  body: any;
}

export interface KubeRequest {
  (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    accept?: string,
  ): Promise<KubeAnswer>;
  /** Repeats a request until the response meets the condition; throws after 20 s. */
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
  const call = async (
    method: string,
    path: string,
    body?: object,
    accept = 'application/json',
  ): Promise<KubeAnswer> => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const answer = await send(`${url}${path}`, {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${token}`, accept, 'content-type': type },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: answer.statusCode, body: await answer.body.json().catch(() => ({})) };
  };
  const until: KubeRequest['until'] = async (method, path, isDone, body) => {
    let answer = await call(method, path, body);
    const isAnswered = async () => {
      if (isDone(answer)) return true;
      answer = await call(method, path, body);
      return false;
    };
    await pollUntil(isAnswered, path, DEADLINE_MS, 100).catch(() => {
      throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    });
    return answer;
  };
  return Object.assign(call, { until }) as KubeRequest;
}
