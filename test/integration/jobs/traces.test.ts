import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { hashApiKey, storageToken, workspaceDataKey } from '../../../api/identity.ts';
import { configKeys, workKeys } from '../../../api/redis-keys.ts';
import { sealSigningSecret } from '../../../api/signing-secret.ts';
import { publishApiKeys } from '../../../redis/publication/publication.ts';
import { findFreePort } from '../../support/child-program.ts';
import { MASTER_KEY, startFrontProcess } from '../../support/front-process.ts';
import { API_KEY } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { type ReceivedSpan, startTraceReceiver, type TraceReceiver } from '../../support/trace-receiver.ts';
import { type JobStack, type Pod, startJobStack } from './job-stack.ts';

const PROMPT = 'a sentence that nobody else may read';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const FAILED_TRACE = '1af7651916cd43dd8448eb211c80319c';
const OTHER_TRACE = '2af7651916cd43dd8448eb211c80319c';
const HELD_TRACE = '3af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

interface Generation {
  webhook_url?: string;
  signal?: AbortSignal;
}

/** Reads the trace of the last call to a pod's engine. */
const readTraceparent = async ({ engine }: Pod): Promise<string | undefined> =>
  ((await engine.read()).last?.headers as Record<string, string> | undefined)?.traceparent;

describe('traces of queued requests', () => {
  let receiver: TraceReceiver;
  let hook: Server;
  let folder: string;
  let stack: JobStack;
  let env: Record<string, string>;

  before(async () => {
    receiver = await startTraceReceiver();
    hook = createServer((request, response) => {
      request.resume();
      response.writeHead(204).end();
    }).listen(0, '127.0.0.1');
    await once(hook, 'listening');
    folder = mkdtempSync(join(tmpdir(), 'berth-bucket-'));
    env = {
      [GATEWAY_ENV.tracingEndpoint]: receiver.endpoint,
      [GATEWAY_ENV.tracingRatio]: '0',
      [GATEWAY_ENV.egressAllow]: '127.0.0.0/8',
      [GATEWAY_ENV.egressPlainHTTP]: 'true',
    };
    stack = await startJobStack({ kind: 'Image', pods: 2, env, startFront });
    const { redis } = stack.connection;
    const key = { n: 'test', rpm: 100_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
    await publishApiKeys(redis, 'team', new Map([[hashApiKey(API_KEY), key]]));
    const secret = sealSigningSecret('whsec_test', 'team', workspaceDataKey(MASTER_KEY, 'team'));
    await redis.hset(configKeys('team').workspace, { signingSecret: secret });
  });
  after(async () => {
    await stack?.stop();
    receiver?.stop();
    hook?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function startFront({ url: redisURL }: RedisServer) {
    const front = await startFrontProcess({
      redisURL,
      replicaPort: await findFreePort(),
      env: { ...env, [GATEWAY_ENV.storageFolder]: folder },
    });
    return {
      url: front.internalOrigin,
      token: storageToken(MASTER_KEY, 'team'),
      stop: () => front.stop('SIGKILL'),
    };
  }

  /** At the first pod. */
  const generate = (traceparent: string, path: string, { signal, ...more }: Generation = {}) =>
    fetch(`${stack.pods[0]!.replica.url}/images/generations${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', traceparent },
      body: JSON.stringify({ model: 'berth/chat', prompt: PROMPT, size: '64x64', ...more }),
      ...(signal && { signal }),
    });
  const submit = async (traceparent: string): Promise<string> => {
    const { port } = hook.address() as AddressInfo;
    const webhook_url = `http://127.0.0.1:${port}/secret-path`;
    const response = await generate(traceparent, '?async=true', { webhook_url });
    const text = await response.text();
    expect(response.status, text).to.equal(202);
    return JSON.parse(text).id;
  };

  it('name the span of the call to an engine whose image a client waits for', async () => {
    const response = await generate(`00-${OTHER_TRACE}-${CALLER}-01`, '');
    expect(response.status, await response.text()).to.equal(200);
    const name = 'generate_content berth/chat';
    const spans = await receiver.untilComplete(({ traceId }) => traceId === OTHER_TRACE, [name]);
    const call = spans.find((span) => span.name === name)!;
    expect(await readTraceparent(stack.pods[0]!)).to.equal(`00-${OTHER_TRACE}-${call.spanId}-01`);
  });

  it('go from the submission over the queue, another pod, its engine and the upload to the delivery of the event', async () => {
    const [first, second] = stack.pods;
    // It has one slot.
    await first!.engine.control({ jobSeconds: 600 });
    const held = new AbortController();
    const { signal } = held;
    const holding = generate(`00-${HELD_TRACE}-${CALLER}-00`, '', { signal }).catch(() => {});
    await pollUntil(async () => (await first!.engine.read()).inflight === 1, 'a busy pod');
    const id = await submit(`00-${TRACE}-${CALLER}-01`);
    const names = ['POST /v1/images/generations', 'submit', 'job', 'queue', 'upload', 'webhook'];
    const spans = await receiver.untilComplete(({ traceId }) => traceId === TRACE, names);
    held.abort();
    await holding;
    await first!.engine.control({ jobSeconds: 0.3 });
    const find = (name: string): ReceivedSpan => spans.find((span) => span.name === name)!;
    const [submission, job] = [find('submit'), find('job')];
    const call = find('generate_content berth/chat');
    expect(submission.resource).to.include({ 'k8s.pod.name': `pod-${first!.address}` });
    for (const step of [job, find('queue'), call, find('upload')])
      expect(step.resource, step.name).to.include({ 'k8s.pod.name': `pod-${second!.address}` });
    expect(await readTraceparent(second!)).to.equal(`00-${TRACE}-${call.spanId}-01`);
    expect(find('POST /v1/images/generations').parentSpanId).to.equal(CALLER);
    expect(submission.parentSpanId).to.equal(find('POST /v1/images/generations').spanId);
    expect(job.parentSpanId).to.equal(submission.spanId);
    for (const step of [find('queue'), call, find('upload')])
      expect(step.parentSpanId, step.name).to.equal(job.spanId);
    expect(find('webhook').parentSpanId).to.equal(submission.spanId);
    expect(find('webhook').resource['service.name']).to.equal('berth-front');
    expect(find('webhook').attributes).to.include({
      'http.response.status_code': '204',
      'server.address': '127.0.0.1',
      'berth.job_id': id,
      'berth.event': 'request.completed',
    });
    expect(job.attributes).to.include({ 'berth.job_id': id, 'berth.attempt': '1' });
    const order = [find('queue'), call, find('upload'), find('webhook')];
    for (const [index, step] of order.slice(1).entries())
      expect(step.start, step.name).to.be.at.least(order[index]!.end - 2);
    expect(job.start).to.be.at.most(find('queue').end);
    for (const span of spans) expect(span.isError, span.name).to.equal(false);
    const text = receiver.bodies.join();
    for (const secret of [PROMPT, API_KEY, 'secret-path']) expect(text).to.not.contain(secret);
    // Ids alone are kept.
    const record = await stack.connection.redis.hget(workKeys('team').request(id), 'traceparent');
    expect(record).to.equal(`00-${TRACE}-${submission.spanId}-01`);
  });

  it('are exported of a job that failed, though none is sampled', async () => {
    const setFault = (fault: object | null) =>
      Promise.all(stack.pods.map(({ engine }) => engine.control({ fault })));
    await setFault({ kind: 'status', status: 500 });
    const id = await submit(`00-${FAILED_TRACE}-${CALLER}-00`);
    await stack.untilIs(id, 'failed');
    await setFault(null);
    const spans = await receiver.untilComplete(({ traceId }) => traceId === FAILED_TRACE, ['job', 'queue']);
    const job = spans.find(({ name }) => name === 'job')!;
    expect(job.isError).to.equal(true);
    expect(job.attributes['error.type']).to.equal('upstream_error');
    // Other programs do not know of the failure, so their spans that ended well are dropped.
    expect(spans.map(({ name }) => name)).to.not.include('submit');
  });
});

describe('traces of videos', () => {
  it('name the span of the call to the engine', async () => {
    const receiver = await startTraceReceiver();
    const env = { [GATEWAY_ENV.tracingEndpoint]: receiver.endpoint, [GATEWAY_ENV.tracingRatio]: '1' };
    const stack = await startJobStack({ kind: 'Video', env });
    try {
      await stack.untilIs(await stack.submit(), 'succeeded');
      const name = 'generate_content berth/chat';
      const spans = await receiver.untilComplete(() => true, [name, 'job']);
      const call = spans.find((span) => span.name === name)!;
      expect(call.parentSpanId).to.equal(spans.find((span) => span.name === 'job')!.spanId);
      expect(await readTraceparent(stack.pods[0]!)).to.equal(`00-${call.traceId}-${call.spanId}-01`);
    } finally {
      await stack.stop();
      receiver.stop();
    }
  });
});
