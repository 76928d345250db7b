import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect } from 'chai';
import { operatorToken, workspaceDataKey } from '../../../api/identity.ts';
import { type CheckURLAnswer, INTERNAL_PATHS } from '../../../api/internal-api.ts';
import type { Condition } from '../../../api/kubernetes-types.ts';
import { deliveryKeys } from '../../../api/redis-keys.ts';
import { openSigningSecret, splitSigningSecrets } from '../../../api/signing-secret.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { readEndpointHealth } from '../../../redis/deliveries/delivery-log.ts';
import { readEndpoints, readOwnerEmail, readSigningSecret } from '../../../redis/publication/published.ts';
import { makeSettings } from '../../integration/operator/operator-settings.ts';
import { passSecond, pollUntil } from '../../support/poll.ts';
import { useHarness } from './operator-harness.ts';

const { ModelDeployment, WebhookEndpoint, Workspace } = BERTH_RESOURCES;
const GOOD: CheckURLAnswer = { ok: true, message: '' };
const BAD: CheckURLAnswer = { ok: false, message: 'does not resolve to a public address' };
const URL_A = 'https://hooks.example.com/a';
/** More than the hour with its spread. */
const HOUR_MS = 4_000_000;

const ROLLED = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const OURS = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;

describe('webhook endpoints', () => {
  const harness = useHarness();
  let namespace: string;
  /** Stands for the front: which addresses are good is the gateway's to test. */
  let front: Server;
  let answer: (url: string) => CheckURLAnswer | number;
  let asked: string[];
  const clock = { offset: 0 };

  before(async () => {
    front = createServer(async (request, response) => {
      const isOurs =
        request.url === INTERNAL_PATHS.checkURL &&
        request.headers.authorization === `Bearer ${operatorToken('master')}`;
      const { url } = (await json(request)) as { url: string };
      asked.push(url);
      const given = isOurs ? answer(url) : 401;
      response.statusCode = typeof given === 'number' ? given : 200;
      response.end(JSON.stringify(given));
    }).listen(0, '127.0.0.1');
    await once(front, 'listening');
  });
  after(() => front.close());
  beforeEach(async () => {
    namespace = await harness.cluster.makeNamespace();
    answer = () => GOOD;
    asked = [];
    clock.offset = 0;
  });

  const start = () =>
    harness.startOperator({
      settings: makeSettings({ storageURL: `http://127.0.0.1:${(front.address() as AddressInfo).port}` }),
      now: () => Date.now() + clock.offset,
    });
  const create = (name: string, spec: object = {}) =>
    harness.cluster.create(WebhookEndpoint, { namespace, name }, { url: URL_A, ...spec });
  const statusOf = async (name: string) =>
    ((await harness.cluster.find(WebhookEndpoint, namespace, name))?.status ?? {}) as {
      consecutiveFailures?: number;
      conditions?: Condition[];
    };
  const reasonOf = async (name: string, type: string) =>
    (await statusOf(name)).conditions?.find((each) => each.type === type)?.reason;
  const patch = (name: string, change: object) =>
    harness.cluster.client.mergePatch(WebhookEndpoint, { at: { namespace, name }, patch: change });
  const annotate = (name: string, annotations: object) => patch(name, { metadata: { annotations } });
  let pokes = 0;
  const poke = (name: string) => annotate(name, { poke: String(++pokes) });
  const published = () => readEndpoints(harness.redis.redis, namespace);
  const health = (name: string) => readEndpointHealth(harness.redis.redis, namespace, name);
  /** As the front does when deliveries fail for good. */
  const fail = (name: string, failures: number, disabledAt?: number) =>
    harness.redis.redis.hset(deliveryKeys(namespace).endpoint(name), {
      failures,
      ...(disabledAt && { disabled_at: disabledAt }),
    });
  const isActive = (name: string) => pollUntil(async () => (await reasonOf(name, 'Active')) === 'Active');
  const secretText = async () => {
    const secret = await harness.cluster.find<KubeObject & { data?: Record<string, string> }>(
      RESOURCES.Secret,
      namespace,
      'berth-signing-secret',
    );
    return secret && Buffer.from(secret.data!.secret!, 'base64').toString();
  };
  const publishedSecret = async () => {
    const sealed = await readSigningSecret(harness.redis.redis, namespace);
    return sealed && openSigningSecret(sealed, namespace, workspaceDataKey('master', namespace));
  };

  it('are checked by a front, published and reported as active', async () => {
    start();
    await create('all');
    await create('some', { eventTypes: ['request.failed'], enabled: false });
    await isActive('all');
    expect(asked).to.include(URL_A);
    const types = ['request.canceled', 'request.completed', 'request.failed'];
    await pollUntil(async () => (await published()).size === 2);
    expect(await published()).to.deep.equal(
      new Map([
        ['all', { v: 1, url: URL_A, eventTypes: types, enabled: true }],
        ['some', { v: 1, url: URL_A, eventTypes: ['request.failed'], enabled: false }],
      ]),
    );
    expect(await reasonOf('all', 'Accepted')).to.equal('Accepted');
    await pollUntil(async () => (await reasonOf('some', 'Active')) === 'Disabled');
    await pollUntil(async () => (await harness.cluster.events(namespace, 'all')).includes('Active'));
  });

  it('are reported as active once they are published, and not while Redis is away', async () => {
    start();
    await create('early');
    await isActive('early');
    expect([...(await published()).keys()]).to.deep.equal(['early']);
    harness.server.pause();
    try {
      await create('late');
      await pollUntil(async () => (await reasonOf('late', 'Active')) === 'NotPublished', 'the reason');
    } finally {
      harness.server.resume();
    }
    await isActive('late');
    expect((await published()).size).to.equal(2);
  });

  it('are not published while their URL is bad, and are once it is good', async () => {
    answer = (url) => (url === URL_A ? BAD : GOOD);
    start();
    await create('hook');
    await pollUntil(async () => (await reasonOf('hook', 'Accepted')) === 'InvalidURL');
    const { conditions } = await statusOf('hook');
    expect(conditions!.find(({ type }) => type === 'Accepted')!.message).to.equal(`spec.url ${BAD.message}`);
    expect(await reasonOf('hook', 'Active')).to.equal('NotAccepted');
    expect((await published()).size).to.equal(0);
    await pollUntil(async () => (await harness.cluster.events(namespace, 'hook')).includes('InvalidURL'));
    await patch('hook', { spec: { url: 'https://hooks.example.com/b' } });
    await isActive('hook');
    await pollUntil(async () => (await published()).size === 1);
    await patch('hook', { spec: { url: URL_A } });
    await pollUntil(async () => (await published()).size === 0);
  });

  it('stay published through transient DNS failures, and are withdrawn when these persist', async () => {
    start();
    await create('hook');
    await isActive('hook');
    await pollUntil(async () => (await published()).size === 1);
    answer = () => BAD;
    for (const wait of [HOUR_MS, 20_000]) {
      const before = asked.length;
      clock.offset += wait;
      await poke('hook');
      await pollUntil(() => asked.length > before);
      await pollUntil(async () => (await reasonOf('hook', 'Accepted')) === 'CheckFailed');
      expect((await published()).size).to.equal(1);
    }
    clock.offset += 40_000;
    await poke('hook');
    await pollUntil(async () => (await reasonOf('hook', 'Accepted')) === 'InvalidURL');
    await pollUntil(async () => (await published()).size === 0);
  });

  it('wait unpublished, with the reason, while no front answers', async () => {
    answer = () => 503;
    start();
    await create('hook');
    await pollUntil(async () => (await reasonOf('hook', 'Accepted')) === 'FrontUnavailable');
    expect((await published()).size).to.equal(0);
    answer = () => GOOD;
    clock.offset += 20_000;
    await poke('hook');
    await isActive('hook');
  });

  it('survive a restart: no write, no question, never unpublished', async () => {
    const first = start();
    await create('hook');
    await isActive('hook');
    await harness.settle(first);
    const before = await published();
    await first.stop();
    const questions = asked.length;
    const second = start();
    await harness.settle(second);
    expect(await published()).to.deep.equal(before);
    expect(second.writes().filter((write) => !write.endsWith(' leases'))).to.deep.equal([]);
    expect(asked.length).to.equal(questions);
  });

  it('report what Redis counts, and when they were disabled; another annotation enables them', async () => {
    const operator = start();
    await create('hook');
    await isActive('hook');
    await fail('hook', 3);
    await poke('hook');
    await pollUntil(async () => (await statusOf('hook')).consecutiveFailures === 3);
    const at = Date.UTC(2026, 0, 1);
    await fail('hook', 20, at);
    await poke('hook');
    await pollUntil(async () => (await reasonOf('hook', 'Active')) === 'AutoDisabled');
    const { conditions } = await statusOf('hook');
    expect(conditions!.find(({ type }) => type === 'Active')!.message).to.contain('2026-01-01T00:00:00.000Z');
    await pollUntil(async () => (await harness.cluster.events(namespace, 'hook')).includes('AutoDisabled'));
    await harness.settle(operator);
    await annotate('hook', { 'berth.dev/re-enable': 'now' });
    await isActive('hook');
    expect((await statusOf('hook')).consecutiveFailures).to.equal(0);
    expect(await health('hook')).to.deep.equal({ failures: 0, disabledAt: null });
    await fail('hook', 2);
    await annotate('hook', { 'berth.dev/re-enable': 'again' });
    await pollUntil(async () => (await health('hook')).failures === 0);
  });

  const changes: [string, object][] = [
    ['another URL', { url: 'https://hooks.example.com/b' }],
    ['being disabled', { enabled: false }],
  ];
  for (const [what, spec] of changes)
    it(`start counting over after ${what}, but not after other event types`, async () => {
      start();
      await create('hook');
      await isActive('hook');
      await fail('hook', 5);
      await patch('hook', { spec: { eventTypes: ['request.failed'] } });
      await pollUntil(async () => (await statusOf('hook')).consecutiveFailures === 5);
      await patch('hook', { spec });
      await pollUntil(async () => (await statusOf('hook')).consecutiveFailures === 0);
      expect(await health('hook')).to.deep.equal({ failures: 0, disabledAt: null });
    });

  it('have what Redis lost put back from their status, and published again', async () => {
    start();
    await create('hook');
    await isActive('hook');
    const disabledAt = Date.UTC(2026, 0, 1, 12);
    await fail('hook', 20, disabledAt);
    await poke('hook');
    await pollUntil(async () => (await reasonOf('hook', 'Active')) === 'AutoDisabled');
    await harness.redis.redis.flushall();
    await poke('hook');
    await pollUntil(async () => (await health('hook')).failures === 20);
    expect(await health('hook')).to.deep.equal({ failures: 20, disabledAt });
    expect(await reasonOf('hook', 'Active')).to.equal('AutoDisabled');
    await pollUntil(async () => (await published()).size === 1);
  });

  it('are unpublished and removed when they are deleted; a new one of that name starts at zero', async () => {
    start();
    await create('hook');
    await isActive('hook');
    await fail('hook', 7);
    await harness.cluster.delete(WebhookEndpoint, namespace, 'hook');
    await pollUntil(async () => (await published()).size === 0);
    await pollUntil(
      async () => (await harness.redis.redis.exists(deliveryKeys(namespace).endpoint('hook'))) === 0,
    );
    await fail('hook', 9);
    await create('hook');
    await isActive('hook');
    expect((await health('hook')).failures).to.equal(0);
  });

  it('are at most 50 in a namespace: a younger one waits until an older one goes', async () => {
    start();
    for (let index = 0; index < 50; index++) await create(`hook-${index}`);
    await pollUntil(async () => (await published()).size === 50);
    await passSecond();
    await create('a-late-one');
    await pollUntil(async () => (await reasonOf('a-late-one', 'Accepted')) === 'TooManyEndpoints');
    expect([...(await published()).keys()]).not.to.include('a-late-one');
    await harness.cluster.delete(WebhookEndpoint, namespace, 'hook-7');
    await pollUntil(async () => (await published()).has('a-late-one'));
    expect((await published()).size).to.equal(50);
  });

  it('make a signing secret in a namespace without Workspace, and so does a video deployment', async () => {
    start();
    await create('hook');
    await pollUntil(async () => (await secretText()) !== undefined);
    const secret = await secretText();
    expect(secret).to.match(/^whsec_[\w+/]{43}=$/);
    await pollUntil(async () => (await publishedSecret()) === secret);
    namespace = await harness.cluster.makeNamespace();
    await harness.cluster.createModel(namespace, 'chat');
    await pollUntil(
      async () => (await harness.cluster.find(ModelDeployment, namespace, 'chat'))?.status !== undefined,
    );
    expect(await secretText()).to.equal(undefined);
    await harness.cluster.createModel(namespace, 'film', { kind: 'Video' });
    await pollUntil(async () => (await publishedSecret()) != null);
    expect(await publishedSecret()).to.equal(await secretText());
  });

  it('have their secret kept when a Workspace comes and goes, and its owner published', async () => {
    start();
    await create('hook');
    await pollUntil(async () => (await publishedSecret()) != null);
    const secret = await publishedSecret();
    await harness.cluster.create(
      Workspace,
      { namespace, name: 'workspace' },
      { ownerEmail: 'a@example.com' },
    );
    const owner = () => readOwnerEmail(harness.redis.redis, namespace);
    await pollUntil(async () => (await owner()) === 'a@example.com');
    await harness.cluster.delete(Workspace, namespace, 'workspace');
    await pollUntil(async () => (await owner()) === null);
    expect(await publishedSecret()).to.equal(secret);
    expect(await secretText()).to.equal(secret);
  });

  it('are signed with a new secret soon after the Secret was deleted, also by one that a Workspace names', async () => {
    start();
    await harness.cluster.create(Workspace, { namespace, name: 'workspace' }, {});
    await pollUntil(async () => (await publishedSecret()) != null);
    const before = await publishedSecret();
    await harness.cluster.delete(RESOURCES.Secret, namespace, 'berth-signing-secret');
    await pollUntil(async () => (await publishedSecret()) !== before);
    expect(await publishedSecret()).to.equal(await secretText());
    await harness.cluster.client.create(RESOURCES.Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'ours', namespace },
      stringData: { secret: OURS },
    });
    const at = { namespace, name: 'workspace' };
    await harness.cluster.client.mergePatch(Workspace, { at, patch: { spec: { signingSecret: 'ours' } } });
    await pollUntil(async () => (await publishedSecret()) === OURS);
  });

  describe('with a secret of their own', () => {
    const texts = async (): Promise<Record<string, string>> => {
      const secret = await harness.cluster.find<KubeObject & { data?: Record<string, string> }>(
        RESOURCES.Secret,
        namespace,
        'berth-signing-secret',
      );
      return Object.fromEntries(
        Object.entries(secret?.data ?? {}).map(([field, text]) => [
          field,
          Buffer.from(text, 'base64').toString(),
        ]),
      );
    };
    const published = async () => splitSigningSecrets((await publishedSecret()) ?? '');
    const currents = async () =>
      [...(await published()).endpoints].map(([name, { current }]) => [name, current]);

    it('have it made and published beside the one of the workspace, and only then', async () => {
      start();
      await create('plain');
      await create('own', { signingSecret: 'Own' });
      await pollUntil(async () => (await currents()).length === 1);
      const { secret, endpoint_own: own, ...rest } = await texts();
      expect(own).to.match(/^whsec_[\w+/]{43}=$/);
      expect(own).to.not.equal(secret);
      expect(rest).to.deep.equal({});
      expect((await published()).workspace.current).to.equal(secret);
      expect(await currents()).to.deep.equal([['own', own]]);
      await pollUntil(async () => (await readEndpoints(harness.redis.redis, namespace)).size === 2);
      const endpoints = await readEndpoints(harness.redis.redis, namespace);
      expect([...endpoints].filter(([, each]) => each.hasOwnSecret).map(([name]) => name)).to.deep.equal([
        'own',
      ]);
      await patch('plain', { spec: { signingSecret: 'Own' } });
      await pollUntil(async () => (await currents()).length === 2);
      expect((await texts()).endpoint_own).to.equal(own);
    });

    it('keep a rolled one beside the old one, and lose both with the endpoint', async () => {
      start();
      await create('own', { signingSecret: 'Own' });
      await create('stays', { signingSecret: 'Own' });
      await pollUntil(async () => (await currents()).length === 2);
      const before = await texts();
      const until = new Date(Date.now() + 3_600_000).toISOString();
      await harness.cluster.client.mergePatch(RESOURCES.Secret, {
        at: { namespace, name: 'berth-signing-secret' },
        patch: {
          stringData: {
            endpoint_own: ROLLED,
            endpoint_own_previous: before.endpoint_own,
            'endpoint_own_previous-until': until,
          },
        },
      });
      await pollUntil(async () => (await published()).endpoints.get('own')?.current === ROLLED);
      expect((await published()).endpoints.get('own')?.previous).to.deep.equal({
        secret: before.endpoint_own,
        until: Date.parse(until),
      });
      await harness.cluster.delete(WebhookEndpoint, namespace, 'own');
      await pollUntil(async () => Object.keys(await texts()).length === 2);
      expect(await texts()).to.deep.equal({ secret: before.secret, endpoint_stays: before.endpoint_stays });
    });

    it('are not signed with one that receivers read differently, and say so', async () => {
      start();
      await create('own', { signingSecret: 'Own' });
      await create('plain');
      await pollUntil(async () => (await currents()).length === 1);
      await harness.cluster.client.mergePatch(RESOURCES.Secret, {
        at: { namespace, name: 'berth-signing-secret' },
        patch: { stringData: { endpoint_own: 'typed by hand' } },
      });
      await pollUntil(async () => (await reasonOf('own', 'Active')) === 'NotSigned');
      const { conditions } = await statusOf('own');
      expect(conditions!.find(({ type }) => type === 'Active')!.message).to.match(
        /key endpoint_own of Secret berth-signing-secret must be whsec_ .*openssl rand -base64 32/,
      );
      expect(await currents()).to.deep.equal([]);
      expect(await reasonOf('plain', 'Active')).to.equal('Active');
    });

    it('have it in the Secret of the namespace, also where the Workspace names another one', async () => {
      await harness.cluster.client.create(RESOURCES.Secret, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'ours', namespace },
        stringData: { secret: OURS },
      });
      start();
      await harness.cluster.create(Workspace, { namespace, name: 'workspace' }, { signingSecret: 'ours' });
      await create('own', { signingSecret: 'Own' });
      await pollUntil(async () => (await currents()).length === 1);
      expect((await published()).workspace.current).to.equal(OURS);
      expect((await texts()).endpoint_own).to.equal((await published()).endpoints.get('own')?.current);
    });
  });
});
