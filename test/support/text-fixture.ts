/** For tests of the request path: a Redis, a simulator and an endpoint, with a client's calls. */

import type { ModelKind } from '../../api/engine-presets.ts';
import type { RedisConnection } from '../../redis/client.ts';
import { MODEL, RunningSimulator } from '../unit/simulator/running-simulator.ts';
import type { RedisServer } from './redis-server.ts';
import { TestStack } from './test-stack.ts';
import { startTextEndpoint, type TextEndpoint, type TextEndpointOptions } from './text-endpoint.ts';

type TextKind = Exclude<ModelKind, 'Image' | 'Video'>;

export interface TextFixture {
  redis: RedisServer;
  connection: RedisConnection;
  simulator: RunningSimulator;
  endpoint: TextEndpoint;
  /** With high limits. */
  key: string;
  post(path: string, body: object, init?: { key?: string; signal?: AbortSignal }): Promise<Response>;
  chat(body?: object, init?: { key?: string; signal?: AbortSignal }): Promise<Response>;
  stop(): Promise<void>;
}

export async function startTextFixture(
  options: Partial<TextEndpointOptions> & { kind?: TextKind } = {},
): Promise<TextFixture> {
  const { kind = 'LLM', settings, ...more } = options;
  const stack = await TestStack.start({}, { commandTimeoutMs: 2_000 });
  const { server: redis, connection } = stack;
  const simulator = await RunningSimulator.start({ kind });
  const endpoint = await startTextEndpoint({
    connection,
    engineURL: simulator.url,
    settings: { kind, servedModelName: MODEL, ...settings },
    ...more,
  });
  const key = await endpoint.makeKey();
  const post: TextFixture['post'] = (path, body, init = {}) =>
    fetch(`${endpoint.origin}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${init.key ?? key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: init.signal,
    });
  return {
    redis,
    connection,
    simulator,
    endpoint,
    key,
    post,
    chat: (body = {}, init) =>
      post('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], ...body }, init),
    stop: async () => {
      await endpoint.stop();
      await simulator.stop();
      await stack.stop();
    },
  };
}

export interface Envelope {
  status: number;
  code: string | null;
  message: string;
  headers: Headers;
}

export async function readEnvelope(response: Response): Promise<Envelope> {
  const { error } = (await response.json()) as { error: { code: string | null; message: string } };
  return { status: response.status, code: error.code, message: error.message, headers: response.headers };
}
