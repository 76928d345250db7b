import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { generateSigningSecret, workspaceDataKey } from '../../../api/identity.ts';
import { configKeys, deliveryKeys, workKeys } from '../../../api/redis-keys.ts';
import { joinSigningSecrets, sealSigningSecret } from '../../../api/signing-secret.ts';
import { EgressAgent } from '../../../gateway/egress/agent.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { startWebhooks, type WebhookService } from '../../../gateway/webhooks/webhook-service.ts';
import { readDeliveryLog } from '../../../redis/deliveries/delivery-log.ts';
import { publishEndpoints } from '../../../redis/publication/publication.ts';
import { cancelRequest, submitRequest } from '../../../redis/requests/request-calls.ts';
import { pollUntil } from '../../support/poll.ts';
import { newToken, publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

const MASTER_KEY = 'master';
/** More than a workspace's events may hold. */
const TOO_MANY_BYTES = 1024 ** 3;
const dataKey = (namespace: string) => workspaceDataKey(MASTER_KEY, namespace);

describe('webhooks of real requests', () => {
  let stack: TestStack;
  let receiver: Server;
  let url: string;
  let namespace: string;
  let count = 0;
  let service: WebhookService | undefined;
  const agent = new EgressAgent({ allow: ['127.0.0.0/8'], deny: [], plainHTTP: true });
  const received: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];

  before(async () => {
    stack = await TestStack.start();
    receiver = createServer(async (req, res) => {
      let body = '';
      for await (const chunk of req) body += chunk;
      received.push({ path: req.url!, headers: req.headers, body });
      res.writeHead(204).end();
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  });
  beforeEach(async () => {
    namespace = `space-${++count}`;
    received.length = 0;
    await publishMedia(stack.redis, { namespace, name: 'film' });
    await stack.redis.hset(configKeys(namespace).workspace, {
      signingSecret: sealSigningSecret('whsec_test', namespace, dataKey(namespace)),
    });
  });
  const countSubscriptions = async () => Number(await stack.redis.pubsub('NUMPAT'));
  afterEach(async () => {
    await service?.close();
    // Or the next test takes it for its own.
    await pollUntil(async () => (await countSubscriptions()) === 0, 'the end of the subscription');
  });
  after(async () => {
    receiver.close();
    await agent.close();
    await stack?.stop();
  });

  const start = (options: Partial<Parameters<typeof startWebhooks>[0]> = {}) => {
    service = startWebhooks({
      redis: stack.redis,
      settings: { url: stack.server.url, name: 'front', role: 'front' },
      agent,
      dataKey,
      mailer: null,
      listWorkspaces: async () => [namespace],
      log: createLog('silent', {}),
      ...options,
    });
  };
  const endOne = async (webhookUrl = url) => {
    const submission = submissionOf({ namespace, deployment: 'film', webhookUrl });
    await submitRequest(stack.redis, submission);
    await cancelRequest(stack.redis, { namespace, id: submission.id, token: newToken() });
    return submission.id;
  };

  it('delivers the event of a canceled request at once, in the documented envelope', async () => {
    start({ scanIntervalMs: 3_600_000 });
    // Once the subscription stands, nothing but its messages triggers anything.
    await pollUntil(async () => (await countSubscriptions()) === 1, 'the subscription');
    const id = await endOne();
    await pollUntil(() => received.length === 1, 'the delivery');
    const [{ headers, body }] = received as [(typeof received)[0]];
    const event = JSON.parse(body);
    expect(event).to.deep.include({ id: id.replace('req', 'evt'), type: 'request.canceled' });
    expect(event.data).to.include({
      id,
      status: 'canceled',
      modality: 'video',
      namespace_name: namespace,
      output_object_key: null,
      error_code: null,
    });
    expect(event.data.registration_id).to.be.a('number');
    const [, time, signature] = /^t=(\d+),v1=(\w+)$/.exec(String(headers['x-service-signature']))!;
    const wanted = createHmac('sha256', 'whsec_test').update(`${time}.${body}`).digest('hex');
    expect(signature).to.equal(wanted);
  });

  for (const [how, earlyMs] of [
    ['in time', 0],
    // Node's may by 1 ms; a few more, since those of a busy machine end late.
    ['in time though timers end early', 5],
  ] as const)
    it(`delivers what found no room ${how}, without another event or a scan`, async () => {
      const inTime = globalThis.setTimeout;
      globalThis.setTimeout = ((run: () => void, ms = 0, ...args: []) =>
        inTime(run, Math.max(0, ms - earlyMs), ...args)) as typeof setTimeout;
      try {
        await deliverOnceThereIsRoom();
      } finally {
        globalThis.setTimeout = inTime;
      }
    });

  async function deliverOnceThereIsRoom(): Promise<void> {
    const keys = deliveryKeys(namespace);
    const other = 'evt_other';
    await stack.redis.hset(keys.held, { [other]: TOO_MANY_BYTES, total: TOO_MANY_BYTES });
    const event = (await endOne()).replace('req', 'evt');
    const readScore = async () => Number(await stack.redis.zscore(workKeys(namespace).outbox, event));
    const endedAt = await readScore();
    start({ scanIntervalMs: 3_600_000 });
    const isDueAgain = (score: number) => score > endedAt && score <= Date.now();
    await pollUntil(async () => isDueAgain(await readScore()), 'the end of the first try');
    expect(received).to.deep.equal([]);
    // The other has ended, and gives way.
    await stack.redis.zadd(keys.kept, 0, other);
    await pollUntil(() => received.length === 1, 'the delivery');
  }

  it('signs for an endpoint with its own secret, which standardwebhooks verifies', async () => {
    const [own, shared] = [generateSigningSecret(), generateSigningSecret()];
    const secrets = {
      workspace: { current: shared, previous: null },
      endpoints: new Map([['own', { current: own, previous: null }]]),
    };
    await stack.redis.hset(configKeys(namespace).workspace, {
      signingSecret: sealSigningSecret(joinSigningSecrets(secrets), namespace, dataKey(namespace)),
    });
    const eventTypes = ['request.canceled'];
    await publishEndpoints(
      stack.redis,
      namespace,
      new Map([['own', { v: 1, url: `${url}?own`, eventTypes, enabled: true, hasOwnSecret: true }]]),
    );
    start();
    const id = await endOne();
    await pollUntil(() => received.length === 2, 'both deliveries');
    const verify = (secret: string, { headers, body }: (typeof received)[0]) =>
      new Webhook(secret).verify(body, headers as Record<string, string>) as { id: string };
    const [toOwn, toCallback] = received.sort((a, b) => b.path.length - a.path.length) as [
      (typeof received)[0],
      (typeof received)[0],
    ];
    expect(verify(own, toOwn).id).to.equal(id.replace('req', 'evt'));
    expect(verify(shared, toCallback).id).to.equal(id.replace('req', 'evt'));
    expect(() => verify(shared, toOwn)).to.throw(WebhookVerificationError);
    const [, time, v1] = /^t=(\d+),v1=(\w+)$/.exec(String(toOwn.headers['x-service-signature']))!;
    expect(v1).to.equal(createHmac('sha256', own).update(`${time}.${toOwn.body}`).digest('hex'));
  });

  it('sends the next event to an endpoint that was published a moment ago', async () => {
    start();
    await endOne();
    await pollUntil(() => received.length === 1, 'the first delivery');
    await publishEndpoints(
      stack.redis,
      namespace,
      new Map([['late', { v: 1, url: `${url}?late`, eventTypes: ['request.canceled'], enabled: true }]]),
    );
    const id = await endOne();
    await pollUntil(async () => {
      const log = await readDeliveryLog(stack.redis, namespace);
      return log.some(({ requestId, state }) => requestId === id && state === 'delivered');
    }, 'the second delivery');
    await pollUntil(
      () => received.some(({ path }) => path.endsWith('?late')),
      'the delivery to the endpoint',
    );
  });

  it('delivers what ended while no front was there', async () => {
    await endOne();
    await endOne();
    start();
    await pollUntil(() => received.length === 2, 'both deliveries');
  });

  it('keeps no list of failed callbacks where there is no mail server', async () => {
    const keys = deliveryKeys(namespace);
    start({ timing: { attemptMs: 5_000, waitAfter: () => 0 } });
    await endOne('http://127.0.0.1:1/closed');
    await pollUntil(async () => {
      const [record] = await readDeliveryLog(stack.redis, namespace);
      return record?.state === 'failed' && (await stack.redis.exists(keys.mail)) === 0;
    }, 'the end of the delivery and of the list');
  });

  it('delivers in its regular scan what no message announced', async () => {
    start({ scanIntervalMs: 50 });
    await pollUntil(async () => (await countSubscriptions()) === 1, 'the subscription');
    await stack.redis.set(
      `w:{${namespace}}:event:evt_1`,
      `${url}\n{"id":"evt_1","type":"request.failed","created_at":1,"data":{"id":"req_1"}}`,
    );
    await stack.redis.zadd(`w:{${namespace}}:outbox`, 0, 'evt_1');
    await pollUntil(() => received.length === 1, 'the delivery');
  });
});
