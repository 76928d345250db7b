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
import { type JobStack, startJobStack } from './job-stack.ts';

const PROMPT = 'a sentence that nobody else may read';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const FAILED_TRACE = '1af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

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
    stack = await startJobStack({ kind: 'Image', env, startFront });
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

  const submit = async (traceparent: string): Promise<string> => {
    const { port } = hook.address() as AddressInfo;
    const response = await fetch(`${stack.pods[0]!.replica.url}/images/generations?async=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', traceparent },
      body: JSON.stringify({
        model: 'berth/chat',
        prompt: PROMPT,
        size: '64x64',
        webhook_url: `http://127.0.0.1:${port}/secret-path`,
      }),
    });
    const text = await response.text();
    expect(response.status, text).to.equal(202);
    return JSON.parse(text).id;
  };

  it('go from the submission over the queue, the engine and the upload to the delivery of the event', async () => {
    const id = await submit(`00-${TRACE}-${CALLER}-01`);
    const names = ['POST /v1/images/generations', 'submit', 'job', 'queue', 'upload', 'webhook'];
    const spans = await receiver.untilComplete(({ traceId }) => traceId === TRACE, names);
    const find = (name: string): ReceivedSpan => spans.find((span) => span.name === name)!;
    const [submission, job] = [find('submit'), find('job')];
    const call = find('generate_content berth/chat');
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
    const [pod] = stack.pods;
    await pod!.engine.control({ fault: { kind: 'status', status: 500 } });
    const id = await submit(`00-${FAILED_TRACE}-${CALLER}-00`);
    await stack.untilIs(id, 'failed');
    await pod!.engine.control({ fault: null });
    const spans = await receiver.untilComplete(({ traceId }) => traceId === FAILED_TRACE, ['job', 'queue']);
    const job = spans.find(({ name }) => name === 'job')!;
    expect(job.isError).to.equal(true);
    expect(job.attributes['error.type']).to.equal('upstream_error');
    // What went well in other programs is not known to have led there.
    expect(spans.map(({ name }) => name)).to.not.include('submit');
    await pollUntil(async () => (await pod!.replica.admin('/readyz')).ok, 'a healthy engine', 20_000);
  });
});
