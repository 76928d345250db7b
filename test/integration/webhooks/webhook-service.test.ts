import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { workspaceDataKey } from '../../../api/identity.ts';
import { configKeys, deliveryKeys } from '../../../api/redis-keys.ts';
import { sealSigningSecret } from '../../../api/signing-secret.ts';
import { EgressAgent } from '../../../gateway/egress/agent.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { startWebhooks, type WebhookService } from '../../../gateway/webhooks/webhook-service.ts';
import { readDeliveryLog } from '../../../redis/deliveries/delivery-log.ts';
import { cancelRequest, submitRequest } from '../../../redis/requests/request-calls.ts';
import { pollUntil } from '../../support/poll.ts';
import { newToken, publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

const MASTER_KEY = 'master';
const dataKey = (namespace: string) => workspaceDataKey(MASTER_KEY, namespace);

describe('webhooks of real requests', () => {
  let stack: TestStack;
  let receiver: Server;
  let url: string;
  let namespace: string;
  let count = 0;
  let service: WebhookService | undefined;
  const agent = new EgressAgent({ allow: ['127.0.0.0/8'], deny: [], plainHTTP: true });
  const received: { headers: IncomingHttpHeaders; body: string }[] = [];

  before(async () => {
    stack = await TestStack.start();
    receiver = createServer(async (req, res) => {
      let body = '';
      for await (const chunk of req) body += chunk;
      received.push({ headers: req.headers, body });
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
  afterEach(async () => {
    await service?.close();
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
    // Once the subscription stands, nothing but its messages brings anything about.
    await pollUntil(async () => Number(await stack.redis.pubsub('NUMPAT')) === 1, 'the subscription');
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
    await pollUntil(async () => Number(await stack.redis.pubsub('NUMPAT')) === 1, 'the subscription');
    await stack.redis.set(
      `w:{${namespace}}:event:evt_1`,
      `${url}\n{"id":"evt_1","type":"request.failed","created_at":1,"data":{"id":"req_1"}}`,
    );
    await stack.redis.zadd(`w:{${namespace}}:outbox`, 0, 'evt_1');
    await pollUntil(() => received.length === 1, 'the delivery');
  });
});
