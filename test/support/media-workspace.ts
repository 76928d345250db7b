/** A Redis for the tests of one `describe`, and in it a new workspace with one media deployment for each test. */

import type { ResolvedLimits } from '../../api/model-limits.ts';
import { workKeys } from '../../api/redis-keys.ts';
import type { RequestRecord } from '../../api/request.ts';
import type { RedisClient } from '../../redis/client.ts';
import { type OutboxEvent, takeEvents } from '../../redis/deliveries/delivery-calls.ts';
import {
  type Cancellation,
  type ClaimedJob,
  cancelRequest,
  claimRequest,
  type NewRequest,
  type SubmissionAnswer,
  submitRequest,
} from '../../redis/requests/request-calls.ts';
import { readRequest } from '../../redis/requests/request-record.ts';
import type { RedisServer } from './redis-server.ts';
import { newToken, publishMedia, submissionOf } from './request-fixture.ts';
import { TestStack } from './test-stack.ts';

export interface MediaWorkspace {
  readonly server: RedisServer;
  readonly redis: RedisClient;
  readonly namespace: string;
  readonly deployment: string;
  /** Changes the deployment's limits. */
  publish(limits: Partial<ResolvedLimits>): Promise<void>;
  submit(fields?: Partial<NewRequest>): Promise<SubmissionAnswer>;
  /** The id of a submission that must be accepted. */
  submitted(fields?: Partial<NewRequest>): Promise<string>;
  claim(token?: string, leaseMs?: number): Promise<ClaimedJob | null>;
  cancel(id: string, token?: string): Promise<Cancellation>;
  /** A record that must exist. */
  read(id: string): Promise<RequestRecord>;
  /** Events since the last call. */
  events(): Promise<OutboxEvent[]>;
  /** Millionths. */
  spent(): Promise<number>;
}

/** Call it within a `describe`, before its own hooks. */
export function useMediaWorkspace(limits: Partial<ResolvedLimits> = {}): MediaWorkspace {
  const deployment = 'film';
  let stack: TestStack;
  let namespace: string;
  let workspaces = 0;

  const publish: MediaWorkspace['publish'] = (limits) =>
    publishMedia(stack.redis, { namespace, name: deployment, limits });
  const submit: MediaWorkspace['submit'] = (fields = {}) =>
    submitRequest(stack.redis, submissionOf({ namespace, deployment, ...fields }));

  before(async () => {
    stack = await TestStack.start();
  });
  beforeEach(() => {
    namespace = `space-${++workspaces}`;
    return publish(limits);
  });
  after(async () => {
    await stack?.stop();
  });

  return {
    get server() {
      return stack.server;
    },
    get redis() {
      return stack.redis;
    },
    get namespace() {
      return namespace;
    },
    deployment,
    publish,
    submit,
    submitted: async (fields) => {
      const answer = await submit(fields);
      if (answer.verdict !== 'accepted') throw new Error(`The submission was answered ${answer.verdict}`);
      return answer.id;
    },
    claim: (token = newToken(), leaseMs = 60_000) =>
      claimRequest(stack.redis, { namespace, deployment, token, leaseMs, pod: 'pod-1' }),
    cancel: (id, token = newToken()) => cancelRequest(stack.redis, { namespace, id, token }),
    read: async (id) => {
      const record = await readRequest(stack.redis, namespace, id);
      if (!record) throw new Error(`No record of ${id}`);
      return record;
    },
    events: () => takeEvents(stack.redis, namespace, { limit: 100, leaseMs: 60_000 }),
    spent: async () => Number((await stack.redis.get(workKeys(namespace).credit)) ?? 0),
  };
}
