/** Intakes of some models beside one Redis with storage credentials, and calls as clients make them. */
import { expect } from 'chai';
import type { EgressAgentOptions } from '../../../gateway/egress/agent.ts';
import type { ImageRequest, VideoRequest } from '../../../gateway/jobs/media-request.ts';
import { publishCredentials } from '../../../redis/publication/publication.ts';
import { describeModel } from '../../support/model-replica.ts';
import { connectTo } from '../../support/redis-client.ts';
import { startRedis } from '../../support/redis-server.ts';
import { type IntakeEndpoint, startIntake } from './intake-endpoint.ts';

export const MODEL = 'berth/chat';
const NAMESPACE = 'team';

export interface Intakes<Name extends string> {
  endpoints: Record<Name, IntakeEndpoint>;
  expectNothingSpooled(): void;
  stop(): Promise<void>;
}

/** Credentials 7 and 10 (`usual`) are verified, 8 is not, 9 is another workspace's. */
export async function startIntakes<Name extends string>(
  specs: Record<Name, Record<string, unknown>>,
  egress?: EgressAgentOptions,
): Promise<Intakes<Name>> {
  const redis = await startRedis();
  const connection = await connectTo(redis);
  const published = (id: number, name: string, verified: boolean) => ({
    v: 1 as const,
    id,
    name,
    verified,
    endpoint: null,
    region: 'us-east-1',
    bucket: 'results',
    prefix: '',
    pathStyle: true,
    sealed: '',
  });
  await publishCredentials(connection.redis, NAMESPACE, [
    published(7, 'mine', true),
    published(8, 'broken', false),
    published(10, 'usual', true),
  ]);
  await publishCredentials(connection.redis, 'other', [published(9, 'theirs', true)]);
  const endpoints = {} as Record<Name, IntakeEndpoint>;
  for (const name in specs)
    endpoints[name] = await startIntake(describeModel(specs[name]), connection.redis, egress);
  const all = Object.values<IntakeEndpoint>(endpoints);
  return {
    endpoints,
    expectNothingSpooled: () => {
      for (const { spool, listSpooled } of all) expect([spool.used, listSpooled()]).to.deep.equal([0, []]);
    },
    stop: async () => {
      for (const endpoint of all) await endpoint.stop();
      await connection.close();
      await redis.stop();
    },
  };
}

type AnyRequest = Omit<ImageRequest, 'kind' | 'parameters'> &
  Omit<VideoRequest, 'kind' | 'parameters'> & { parameters: object };

export interface Outcome {
  status: number;
  code: string | null;
  param: string | null;
  message: string;
  request: AnyRequest;
}

async function send(endpoint: IntakeEndpoint, path: string, init: RequestInit): Promise<Outcome> {
  const response = await fetch(endpoint.origin + path, { method: 'POST', ...init });
  const body = (await response.json()) as {
    request: AnyRequest;
    error?: { code: string; param: string | null; message: string };
  };
  const { code = null, param = null, message = '' } = body.error ?? {};
  return { status: response.status, code, param, message, request: body.request };
}

export const sendJSON = (endpoint: IntakeEndpoint, path: string, change: object = {}, headers = {}) =>
  send(endpoint, path, {
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: MODEL, prompt: 'A ship', ...change }),
  });

/** null leaves a part out, a list repeats it. */
export type Part = string | Blob | (string | Blob)[] | null;

export function sendForm(
  endpoint: IntakeEndpoint,
  path: string,
  change: Record<string, Part> = {},
): Promise<Outcome> {
  const form = new FormData();
  const fields: Record<string, Part> = { model: MODEL, prompt: 'A ship', ...change };
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value]) if (each !== null) form.append(name, each);
  return send(endpoint, path, { body: form });
}

/** Typed as SDKs type files of unknown content. */
export const makeFile = (bytes: Buffer, type = 'application/octet-stream'): Blob =>
  new Blob([new Uint8Array(bytes)], { type });

export type Refusal = [
  what: string,
  act: () => Promise<Outcome>,
  status: number,
  code: string,
  param: string | null,
];

export async function expectRefusal([, act, status, code, param]: Refusal): Promise<void> {
  const answer = await act();
  expect([answer.status, answer.code, answer.param], answer.message).to.deep.equal([status, code, param]);
}
