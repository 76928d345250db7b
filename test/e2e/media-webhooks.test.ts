import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import { SIGNING_SECRET_NAME } from '../../api/names.ts';
import { installRelease, RELEASE_NAMESPACE } from '../../launch/release.ts';
import { connectRedis, type RedisConnection } from '../../redis/client.ts';
import { readDeliveryLog } from '../../redis/deliveries/delivery-log.ts';
import { killContainer, readContainer } from './containers.ts';
import { expectError } from './envelope.ts';
import {
  apply,
  cluster,
  endpoints,
  findEndpoint,
  isPodReady,
  kubectl,
  listPods,
  type Pod,
  readObject,
  waitUntil,
} from './installation.ts';
import { makeForm, send, steer, waitForEnd, waitForSuccess } from './media.ts';
import { isSigned, type MailServer, type Receiver, startMailServer, startReceiver } from './receivers.ts';

interface WebhookEndpoint {
  status?: {
    consecutiveFailures?: number;
    conditions?: { type: string; status: string; reason: string; message: string }[];
  };
}

const FRONT = 'app.kubernetes.io/component=front';
const video = findEndpoint('free-video');
const image = findEndpoint('tiny-image');
const otherImage = findEndpoint('tiny-image', 'other');

describe('webhooks', function () {
  this.timeout(600_000);
  let receiver: Receiver;
  let mailServer: MailServer;
  let connection: RedisConnection;
  const made: [namespace: string, name: string][] = [];
  /** 500 at first. */
  let isHealed = false;
  let areFrontsKilled = false;

  const behaviors: Record<string, RequestListener> = {
    '/204': (_, response) => response.writeHead(204).end(),
    '/500': (_, response) => response.writeHead(500).end('of the inside'),
    '/redirect': (_, response) => response.writeHead(302, { location: '/trap' }).end(),
    '/hang': () => {},
    '/close': (request) => request.socket.destroy(),
    '/third': (_, response) => response.writeHead(receiver.at('/third').length === 3 ? 200 : 503).end(),
    '/old': (_, response) => {
      const { id } = receiver.deliveries.at(-1)!.event.data;
      response.writeHead(deliveriesOf(String(id)).length === 3 ? 200 : 503).end();
    },
    '/slow': (_, response) => void (areFrontsKilled && response.writeHead(204).end()),
    '/dead': (_, response) => response.writeHead(isHealed ? 200 : 500).end(),
  };

  before(async () => {
    receiver = await startReceiver(cluster.nodeIP, behaviors);
    mailServer = await startMailServer(cluster.nodeIP);
    connection = connectRedis({ url: endpoints.redisURL!, name: 'e2e', role: 'operator' });
    await connection.untilUp(10_000);
    // A kubelet takes its time to hand a change on: with another name the fronts restart.
    const smtpSecretName = `e2e-mail-${mailServer.port}`;
    await apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: smtpSecretName, namespace: RELEASE_NAMESPACE },
      stringData: { 'smtp-url': `smtp://${cluster.nodeIP}:${mailServer.port}` },
    });
    await installRelease(cluster, { mail: { smtpSecretName, from: 'berth@example.com' } });
    for (const each of [image, otherImage]) await steer(each, { jobSeconds: 0.1 });
  });
  after(async () => {
    for (const each of [image, otherImage, video]) await steer(each, null);
    for (const [namespace, name] of made)
      await kubectl('delete', 'webhookendpoint', name, '-n', namespace, '--ignore-not-found');
    await connection?.close();
    await mailServer?.stop();
    receiver?.stop();
  });

  const subscribe = async (namespace: string, name: string, spec: object) => {
    made.push([namespace, name]);
    await apply({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'WebhookEndpoint',
      metadata: { name, namespace },
      spec,
    });
  };
  const findCondition = async (namespace: string, name: string, type: string) => {
    const { status } = await readObject<WebhookEndpoint>('WebhookEndpoint', name, namespace);
    return status?.conditions?.find((each) => each.type === type);
  };
  const untilReason = (namespace: string, name: string, wanted: string, seconds = 60) =>
    waitUntil(
      `${name} to be ${wanted}`,
      seconds,
      async () => (await findCondition(namespace, name, 'Active'))?.reason === wanted,
    );
  const makeVideo = async (fields: Record<string, string> = {}) => {
    const order = { model: video.modelId, prompt: 'A ship', size: '320x192', seconds: 1, fps: 8, ...fields };
    return send(video, '/videos', { body: makeForm(order) });
  };
  /** In the background; answers the request's id. */
  const makeImage = async (target = image, webhook_url?: string): Promise<string> => {
    const order = { model: target.modelId, prompt: 'A ship', size: '256x256', webhook_url };
    const { status, body } = await send(target, '/images/generations?async=true', { body: order });
    expect(status, JSON.stringify(body)).to.equal(202);
    return body.id!;
  };
  const deliveriesOf = (id: string) => receiver.deliveries.filter(({ event }) => event.data.id === id);
  const arrive = (id: string, count: number) =>
    waitUntil(`${count} deliveries of ${id}`, 60, async () => deliveriesOf(id).length >= count);
  /** Finds the callback's record, unless an endpoint is named. */
  const findRecord = async (id: string, { namespace = 'default', endpoint = '' } = {}) => {
    const log = await readDeliveryLog(connection.redis, namespace);
    return log.find((record) => record.requestId === id && record.endpoint === endpoint);
  };
  const haveEnded = async (ids: string[]) => {
    const records = await Promise.all(ids.map((id) => findRecord(id)));
    return records.every((record) => record !== undefined && record.state !== 'pending');
  };
  const secretOf = async (namespace: string) => {
    const { data } = await readObject<{ data: { secret: string } }>('Secret', SIGNING_SECRET_NAME, namespace);
    return Buffer.from(data.secret, 'base64').toString();
  };

  it('notify a callback and all subscribers of how a video ended', async () => {
    await subscribe('default', 'e2e-all', { url: receiver.urlOf('/all') });
    await subscribe('default', 'e2e-failures', {
      url: receiver.urlOf('/failures'),
      eventTypes: ['request.failed', 'request.canceled'],
    });
    for (const name of ['e2e-all', 'e2e-failures']) await untilReason('default', name, 'Active');

    const { body } = await makeVideo({ webhook_url: receiver.urlOf('/inline') });
    const id = body.id!;
    const done = await waitForSuccess(video, id);
    await arrive(id, 2);
    const got = deliveriesOf(id);
    expect(got.map(({ path }) => path).sort()).to.deep.equal(['/all', '/inline']);
    expect(new Set(got.map(({ event }) => event.id)).size, 'one event').to.equal(1);
    const idsOf = got.map(({ headers }) => headers['x-service-delivery-id']);
    expect(new Set(idsOf).size, 'two deliveries').to.equal(2);
    const secret = await secretOf('default');
    for (const delivery of got) {
      expect(isSigned(delivery, secret)).to.equal(true);
      expect(delivery.headers).to.include({
        'x-service-event': 'request.completed',
        'user-agent': 'Service-Webhook/1.0',
      });
      const { data, ...envelope } = delivery.event;
      expect(envelope).to.have.all.keys('id', 'type', 'created_at');
      expect(envelope.id).to.match(/^evt_[0-9a-f]+$/);
      const { created_at, completed_at, result_payload, ...facts } = data;
      expect(facts).to.deep.equal({
        id,
        status: 'succeeded',
        modality: 'video',
        namespace_name: 'default',
        registration_id: video.registrationId,
        output_object_key: done.output_object_key,
        output_bucket: done.output_bucket,
        error_code: null,
        error_message: null,
      });
      expect(result_payload).to.be.an('object');
      for (const time of [created_at, completed_at]) expect(time).to.be.a('number');
    }
  });

  it('report failed and canceled videos, once to each address', async () => {
    await steer(video, { fault: { kind: 'status', status: 400 }, faultTimes: 1 });
    const failed = (await makeVideo()).body.id!;
    await waitForEnd(video, failed);
    await steer(video, { jobSeconds: 5 });
    const running = (await makeVideo()).body.id!;
    const waiting = (await makeVideo({ webhook_url: receiver.urlOf('/all') })).body.id!;
    const { status } = await send(video, `/requests/${waiting}/cancel`, { method: 'POST' });
    expect(status).to.equal(200);
    await steer(video, null);
    await arrive(failed, 2);
    await arrive(waiting, 2);
    await waitForEnd(video, running);
    const listOf = (id: string) => deliveriesOf(id).map(({ path, event }) => `${path} ${event.type}`);
    expect(listOf(failed).sort()).to.deep.equal(['/all request.failed', '/failures request.failed']);
    expect(listOf(waiting).sort()).to.deep.equal(['/all request.canceled', '/failures request.canceled']);
    await kubectl('delete', 'webhookendpoint', 'e2e-all', 'e2e-failures', '-n', 'default');
  });

  it('lose nothing when the fronts are killed in mid-delivery', async () => {
    const pods = (await listPods(FRONT, RELEASE_NAMESPACE)).filter(isPodReady);
    // The list may include a pod that the previous rollout has not removed yet.
    const countRestarts = (of: readonly Pod[]) =>
      pods.map(({ metadata: { name } }) => {
        const pod = of.find(({ metadata }) => metadata.name === name);
        return pod && readContainer(pod, 'front').restartCount;
      });
    const restarts = countRestarts(pods);
    const ids = await Promise.all(
      Array.from({ length: 10 }, () => makeImage(image, receiver.urlOf('/slow'))),
    );
    await waitUntil('deliveries under way', 60, async () => receiver.at('/slow').length >= 3);
    await Promise.all(pods.map((pod) => killContainer(pod, 'front')));
    areFrontsKilled = true;
    await waitUntil('all deliveries', 120, () => haveEnded(ids));
    for (const id of ids) expect((await findRecord(id))!.state).to.equal('delivered');
    const seen = receiver.at('/slow').map(({ event }) => event.data.id);
    expect(new Set(seen)).to.deep.equal(new Set(ids));
    expect(seen.length, 'some twice').to.be.greaterThan(ids.length);
    await waitUntil('the fronts to be back', 120, async () => {
      const now = (await listPods(FRONT, RELEASE_NAMESPACE)).filter(isPodReady);
      return pods.every(({ metadata }) => now.some((pod) => pod.metadata.name === metadata.name));
    });
    const after = countRestarts(await listPods(FRONT, RELEASE_NAMESPACE));
    expect(after).to.deep.equal(restarts.map((count) => count! + 1));
  });

  it('are signed with a rolled secret at once, older events too', async function () {
    // The operator has the few seconds between the first attempt and the third.
    this.retries(2);
    const before = await secretOf('other');
    const id = await makeImage(otherImage, receiver.urlOf('/old'));
    await waitUntil('the first attempt', 60, async () => deliveriesOf(id).length === 1);
    await kubectl('delete', 'secret', SIGNING_SECRET_NAME, '-n', 'other');
    // Any change of the Workspace has the operator look now.
    await kubectl(
      'annotate',
      '--overwrite',
      'workspace',
      'workspace',
      '-n',
      'other',
      `e2e/rolled=${Date.now()}`,
    );
    await waitUntil('the third attempt', 60, async () => deliveriesOf(id).length === 3);
    const now = await secretOf('other');
    expect(now).to.not.equal(before);
    const [first, , third] = deliveriesOf(id);
    const verdicts = [first!, third!].map((delivery) => [
      isSigned(delivery, before),
      isSigned(delivery, now),
    ]);
    expect(verdicts).to.deep.equal([
      [true, false],
      [false, true],
    ]);
  });

  const inside: [url: string, words: RegExp][] = [
    ['http://93.184.215.14/', /must start with https/],
    ['https://10.0.0.1/', /does not resolve to a public address/],
    ['https://169.254.169.254/latest', /does not resolve to a public address/],
    ['https://kubernetes.default.svc.cluster.local/', /does not resolve to a public address/],
    ['https://user:password@example.com/', /user name/],
    ['https://example.com:22/', /port/],
    ['not a url', /not a valid URL/],
  ];
  it('go to no address inside, in words that say why', async () => {
    for (const [url, words] of inside) {
      const refused = await makeVideo({ webhook_url: url });
      expectError(refused, 422, 'invalid_webhook_url');
      expect(refused.body.error!.message).to.match(words);
    }
    await Promise.all(
      inside.slice(0, -1).map(([url], index) => subscribe('default', `e2e-bad-${index}`, { url })),
    );
    for (const [index, [, words]] of inside.slice(0, -1).entries()) {
      const name = `e2e-bad-${index}`;
      await untilReason('default', name, 'NotAccepted');
      const accepted = await findCondition('default', name, 'Accepted');
      expect([accepted!.status, accepted!.reason]).to.deep.equal(['False', 'InvalidURL']);
      expect(accepted!.message).to.match(words);
    }
  });

  // Their attempts take half a minute, so they go on side by side, in two workspaces.
  describe('whose attempts fail', () => {
    const outcomes: [path: string, attempts: number, status: number | null, error: RegExp | null][] = [
      ['/204', 1, 204, null],
      ['/third', 3, 200, null],
      ['/500', 3, 500, /^answered 500$/],
      ['/redirect', 3, 302, /^answered 302; redirects are not followed$/],
      ['/hang', 3, null, /did not respond in time/],
      ['/close', 3, null, /closed the connection/],
    ];
    let ids: string[];
    before(async () => {
      await subscribe('other', 'e2e-dead', { url: receiver.urlOf('/dead') });
      await untilReason('other', 'e2e-dead', 'Active');
      ids = await Promise.all(outcomes.map(([path]) => makeImage(image, receiver.urlOf(path))));
      await Promise.all(Array.from({ length: 20 }, () => makeImage(otherImage)));
    });

    it('are attempted as documented, and the owner is notified once of each that failed', async () => {
      await waitUntil('the end of all deliveries', 120, () => haveEnded(ids));
      const failed: string[] = [];
      for (const [index, [path, attempts, status, error]] of outcomes.entries()) {
        const id = ids[index]!;
        if (error) failed.push(id);
        const record = await findRecord(id);
        expect(record, path).to.include({ attempts, status, state: error ? 'failed' : 'delivered' });
        if (error) expect(record!.error).to.match(error);
        const got = receiver.at(path).filter(({ event }) => event.data.id === id);
        expect(got, path).to.have.length(attempts);
        const deliveryIds = got.map(({ headers }) => headers['x-service-delivery-id']);
        expect(new Set(deliveryIds), path).to.deep.equal(new Set([record!.id]));
      }
      expect(receiver.at('/trap')).to.deep.equal([]);

      const mailsOf = (id: string) => mailServer.mails.filter(({ text }) => text.includes(id));
      await waitUntil('the mails', 60, async () => failed.every((id) => mailsOf(id).length > 0));
      for (const id of ids) {
        const recipients = mailsOf(id).map(({ to }) => to);
        expect(recipients).to.deep.equal(failed.includes(id) ? [['owner@example.com']] : []);
      }
    });

    it('stop for an endpoint after 20 failures in a row, until it is enabled again', async () => {
      await untilReason('other', 'e2e-dead', 'AutoDisabled', 90);
      expect(receiver.at('/dead')).to.have.length(60);
      const { status } = await readObject<WebhookEndpoint>('WebhookEndpoint', 'e2e-dead', 'other');
      expect(status!.consecutiveFailures).to.equal(20);

      isHealed = true;
      await kubectl('annotate', 'webhookendpoint', 'e2e-dead', '-n', 'other', 'berth.dev/re-enable=now');
      await untilReason('other', 'e2e-dead', 'Active');
      const id = await makeImage(otherImage);
      await arrive(id, 1);
      const record = await findRecord(id, { namespace: 'other', endpoint: 'e2e-dead' });
      expect(record!.attempts).to.equal(1);
    });
  });
});
