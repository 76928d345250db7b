/** Webhooks, deliveries, the signing secret: with the operator's and the front's parts played by hand. */

import { expect } from 'chai';
import { configKeys, workKeys } from '../../../api/redis-keys.ts';
import { expandEvent, leaseDeliveries, settleDelivery } from '../../../redis/deliveries/delivery-calls.ts';
import { pollUntil } from '../../support/poll.ts';

import { type Person, useConsole } from './console-harness.ts';

describe("the console's webhooks", () => {
  const console = useConsole();
  let namespace: string;
  let someone: Person;
  let base: string;

  beforeEach(async () => {
    const member = await console.makeMember();
    namespace = member.namespace;
    someone = await console.signIn(member.token);
    base = `/api/namespaces/${namespace}`;
  });

  const pathOf = (plural: string, name: string) =>
    `/apis/berth.dev/v1alpha1/namespaces/${namespace}/${plural}/${name}`;
  const secretPath = (name: string) => `/api/v1/namespaces/${namespace}/secrets/${name}`;
  const read = async (plural: string, name: string) => (await console.kube('GET', pathOf(plural, name))).body;
  /** The operator's status for an endpoint's current generation. */
  const evaluate = async (
    name: string,
    told: Record<string, [string, string, string]>,
    more: object = {},
  ) => {
    const { metadata } = await read('webhookendpoints', name);
    const conditions = Object.entries(told).map(([type, [status, reason, message]]) => ({
      type,
      status,
      reason,
      message,
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: metadata.generation,
    }));
    const at = `${pathOf('webhookendpoints', name)}/status`;
    const answer = await console.kube('PATCH', at, { status: { conditions, ...more } });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
  };
  const ACTIVE = { Accepted: ['True', 'Accepted', 'fine'], Active: ['True', 'Active', 'made'] } as Record<
    string,
    [string, string, string]
  >;
  const WHY = 'spec.url leads to 10.0.0.1, not public';
  const REFUSED: typeof ACTIVE = {
    Accepted: ['False', 'InvalidURL', WHY],
    Active: ['False', 'NotAccepted', WHY],
  };
  const listStates = async () =>
    (await someone.call('GET', `${base}/webhooks`)).body.map(({ name, state }: Record<string, string>) => [
      name,
      state,
    ]);
  /** The token of somebody who may add endpoints and no more. */
  const makeAdder = async () => {
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    const metadata = { name: 'adder' };
    await console.kube('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata });
    const resources = ['modeldeployments', 'webhookendpoints'];
    const rules = [{ apiGroups: ['berth.dev'], resources, verbs: ['get', 'list', 'create'] }];
    await console.kube('POST', `${rbac}/roles`, { metadata, rules });
    await console.kube('POST', `${rbac}/rolebindings`, {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'adder' },
      subjects: [{ kind: 'ServiceAccount', name: 'adder', namespace }],
    });
    return console.makeToken(namespace, 'adder');
  };
  /** The verdict comes while the console waits for it. */
  const evaluateSoon = (name: string, told: typeof ACTIVE) =>
    pollUntil(
      async () => (await console.kube('GET', pathOf('webhookendpoints', name))).status === 200,
      name,
    ).then(() => evaluate(name, told));
  const add = async (name: string, url: string, told = ACTIVE) => {
    const [answer] = await Promise.all([
      someone.call('POST', `${base}/webhooks`, { name, url }),
      evaluateSoon(name, told),
    ]);
    return answer;
  };

  it('adds an endpoint and waits for what the operator says of its URL', async () => {
    const good = await add('good', 'https://example.com/hook');
    expect([good.status, good.body.state, good.body.eventTypes]).to.deep.equal([
      201,
      'active',
      ['request.completed', 'request.failed', 'request.canceled'],
    ]);
    expect(await listStates()).to.deep.equal([['good', 'active']]);
  });

  it('says in words that the operator refuses a new URL, and leaves no endpoint behind', async () => {
    const bad = await add('bad', 'https://inside.example', REFUSED);
    expect(bad.status).to.equal(422);
    const message = 'The URL leads to 10.0.0.1, not public';
    expect(bad.body.error).to.include({ code: 'refused', param: 'url', message });
    expect(await listStates()).to.deep.equal([]);
    expect((await add('bad', 'https://example.com/hook')).status).to.equal(201);
  });

  it('keeps a refused endpoint of people who may add but not delete, and shows why', async () => {
    const person = await console.signIn(await makeAdder());
    const [answer] = await Promise.all([
      person.call('POST', `${base}/webhooks`, { name: 'bad', url: 'https://inside.example' }),
      evaluateSoon('bad', REFUSED),
    ]);
    expect([answer.status, answer.body.state]).to.deep.equal([201, 'refused']);
  });

  it('keeps an endpoint whose change was refused, and shows why', async () => {
    await add('moved', 'https://example.com/hook');
    const path = `${base}/webhooks/moved`;
    const [answer] = await Promise.all([
      someone.call('PATCH', path, { url: 'https://inside.example' }),
      pollUntil(async () => (await read('webhookendpoints', 'moved')).metadata.generation === 2, 'it').then(
        () => evaluate('moved', REFUSED),
      ),
    ]);
    expect([answer.status, answer.body.state, answer.body.message]).to.deep.equal([
      200,
      'refused',
      'The URL leads to 10.0.0.1, not public',
    ]);
    expect(await listStates()).to.deep.equal([['moved', 'refused']]);
  });

  it('answers in the words of the API server what it refuses', async () => {
    await add('one', 'https://example.com');
    const again = await someone.call('POST', `${base}/webhooks`, { name: 'one', url: 'https://example.com' });
    expect([again.status, again.body.error.code]).to.deep.equal([409, 'conflict']);
    expect(again.body.error.message).to.match(/is already in use/);
    const types = await someone.call('PATCH', `${base}/webhooks/one`, { eventTypes: ['request.lost'] });
    expect([types.status, types.body.error.param]).to.deep.equal([400, 'eventTypes.0']);
  });

  it('re-enables an endpoint that failed too often by a new value of its annotation', async () => {
    await add('tired', 'https://example.com');
    const off: typeof ACTIVE = {
      ...ACTIVE,
      Active: ['False', 'AutoDisabled', 'disabled at 2026: 20 failed'],
    };
    await evaluate('tired', off, { consecutiveFailures: 20 });
    const [before] = (await someone.call('GET', `${base}/webhooks`)).body;
    expect([before.state, before.consecutiveFailures]).to.deep.equal(['auto-disabled', 20]);
    const revived = pollUntil(async () => {
      const { metadata } = await read('webhookendpoints', 'tired');
      return metadata.annotations?.['berth.dev/re-enable'] !== undefined;
    }, 'the annotation').then(() => evaluate('tired', ACTIVE, { consecutiveFailures: 0 }));
    const [answer] = await Promise.all([
      someone.call('PATCH', `${base}/webhooks/tired`, { reEnable: true }),
      revived,
    ]);
    expect([answer.status, answer.body.state, answer.body.consecutiveFailures]).to.deep.equal([
      200,
      'active',
      0,
    ]);
  });

  it('sends a test and shows how it went, in the answer and in the log', async () => {
    await add('mine', 'https://example.com/hook#part');
    const front = (async () => {
      const options = { limit: 5, perDestination: 1, leaseMs: 10_000 };
      let leased: Awaited<ReturnType<typeof leaseDeliveries>>['leased'] = [];
      await pollUntil(async () => {
        ({ leased } = await leaseDeliveries(console.redis.redis, namespace, options));
        return leased.length > 0;
      }, 'the delivery');
      const failed = {
        isDelivered: false,
        status: 500,
        error: 'answered 500',
        waitMs: 60_000,
        exchange: { sentAt: 1_700_000_000_500, tookMs: 12, answerHeaders: { server: 'test' } },
      };
      await settleDelivery(console.redis.redis, leased[0]!, failed);
      return leased[0]!;
    })();
    const [answer, sent] = await Promise.all([someone.call('POST', `${base}/webhooks/mine/test`), front]);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    const { eventId, delivery } = answer.body;
    expect(delivery).to.deep.include({
      eventId,
      type: 'webhook.test',
      url: 'https://example.com/hook',
      endpoint: 'mine',
      isTest: true,
      state: 'pending',
      attempts: 1,
      status: 500,
      error: 'answered 500',
    });
    const body = JSON.parse(sent.body);
    expect(body).to.deep.include({ id: eventId, type: 'webhook.test', _service_test: true });
    expect(body.data.namespace_name).to.equal(namespace);
    const [attempt] = (await someone.call('GET', `${base}/deliveries/${delivery.id}`)).body.history;
    expect(attempt).to.deep.include({ status: 500, tookMs: 12, responseHeaders: { server: 'test' } });
    expect(attempt.requestHeaders).to.include({
      'X-Service-Delivery-Id': delivery.id,
      'webhook-id': eventId,
      'webhook-timestamp': '1700000000',
      'webhook-signature': 'v1,…',
    });
    const log = async (query: string) =>
      (await someone.call('GET', `${base}/deliveries${query}`)).body.map((each: { id: string }) => each.id);
    expect(await log('')).to.deep.equal([delivery.id]);
    expect(await log('?endpoint=mine&state=pending')).to.deep.equal([delivery.id]);
    for (const query of ['?endpoint=-', '?endpoint=other', '?state=failed', '?request=req_1'])
      expect(await log(query), query).to.deep.equal([]);
    expect((await someone.call('GET', `${base}/deliveries?state=lost`)).status).to.equal(400);
  });

  it('sends no test to a URL that was refused', async () => {
    await add('bad', 'https://inside.example');
    await evaluate('bad', REFUSED);
    const answer = await someone.call('POST', `${base}/webhooks/bad/test`);
    expect([answer.status, answer.body.error.message]).to.deep.equal([
      422,
      'The URL leads to 10.0.0.1, not public',
    ]);
    expect((await someone.call('GET', `${base}/deliveries`)).body).to.deep.equal([]);
  });

  it('rolls the signing secret for people without rights on Secrets, and notes who asked', async () => {
    const first = await someone.call('POST', `${base}/signing-secret/roll`, {});
    expect(first.body.secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    await console.kube('POST', `/apis/berth.dev/v1alpha1/namespaces/${namespace}/workspaces`, {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'workspace', namespace },
      spec: {},
    });
    const second = await someone.call('POST', `${base}/signing-secret/roll`, {});
    expect(second.body.secret).to.not.equal(first.body.secret);
    const { body: secret } = await console.kube('GET', secretPath('berth-signing-secret'));
    expect(Buffer.from(secret.data.secret, 'base64').toString()).to.equal(second.body.secret);
    expect(secret.metadata.labels['app.kubernetes.io/managed-by']).to.equal('berth');
    expect(secret.metadata.annotations['berth.dev/rolled-by']).to.match(/^system:serviceaccount:/);
    // So that the operator checks at once.
    const { metadata } = await read('workspaces', 'workspace');
    expect(Date.parse(metadata.annotations['berth.dev/rolled-at'])).to.be.closeTo(Date.now(), 60_000);
  });

  it('keeps the old secret beside the new one for 24 hours where that is asked for, and no longer', async () => {
    const first = await someone.call('POST', `${base}/signing-secret/roll`, {});
    const second = await someone.call('POST', `${base}/signing-secret/roll`, { keepOld: true });
    const readTexts = async () => {
      const { body } = await console.kube('GET', secretPath('berth-signing-secret'));
      const decode = (encoded: string) => Buffer.from(encoded, 'base64').toString();
      return Object.fromEntries(
        Object.entries(body.data as Record<string, string>).map(([field, encoded]) => [
          field,
          decode(encoded),
        ]),
      );
    };
    const { secret, previous, 'previous-until': until } = await readTexts();
    expect([secret, previous]).to.deep.equal([second.body.secret, first.body.secret]);
    expect(Date.parse(until!) - Date.now()).to.be.closeTo(24 * 3_600_000, 60_000);
    const third = await someone.call('POST', `${base}/signing-secret/roll`, {});
    expect(await readTexts()).to.deep.equal({ secret: third.body.secret });
  });

  it('rolls the secret of one endpoint, with its own overlap, where the endpoint has one', async () => {
    const shared = (await someone.call('POST', `${base}/signing-secret/roll`, {})).body.secret;
    await add('plain', 'https://example.com/plain');
    const refused = await someone.call('POST', `${base}/webhooks/plain/signing-secret/roll`, {});
    expect([refused.status, refused.body.error.code]).to.deep.equal([409, 'conflict']);
    const changed = await someone.call('PATCH', `${base}/webhooks/plain`, { signingSecret: 'Own' });
    expect(changed.body.signingSecret).to.equal('Own');
    const path = `${base}/webhooks/plain/signing-secret/roll`;
    const first = (await someone.call('POST', path, {})).body.secret;
    const second = (await someone.call('POST', path, { keepOld: true })).body.secret;
    const { body } = await console.kube('GET', secretPath('berth-signing-secret'));
    const decode = (field: string) => Buffer.from(body.data[field], 'base64').toString();
    expect([decode('secret'), decode('endpoint_plain'), decode('endpoint_plain_previous')]).to.deep.equal([
      shared,
      second,
      first,
    ]);
    const until = Date.parse(decode('endpoint_plain_previous-until'));
    expect(until - Date.now()).to.be.closeTo(24 * 3_600_000, 60_000);
    expect((await someone.call('POST', `${base}/webhooks/none/signing-secret/roll`, {})).status).to.equal(
      404,
    );
  });

  it('shows the new secret once deliveries are signed with it', async () => {
    const { redis } = console.redis;
    const { workspace } = configKeys(namespace);
    await redis.hset(workspace, 'signingSecret', 'the old one, sealed');
    let isAnswered = false;
    const answer = someone.call('POST', `${base}/signing-secret/roll`, {}).finally(() => {
      isAnswered = true;
    });
    await pollUntil(
      async () => (await console.kube('GET', secretPath('berth-signing-secret'))).status === 200,
      'the Secret',
    );
    expect(isAnswered).to.equal(false);
    await redis.hset(workspace, 'signingSecret', 'the new one, sealed');
    const { body } = await answer;
    expect(body.isInEffect).to.equal(true);
    const { body: secret } = await console.kube('GET', secretPath('berth-signing-secret'));
    expect(Buffer.from(secret.data.secret, 'base64').toString()).to.equal(body.secret);
  });

  it("leaves others' Secrets alone", async () => {
    const foreign = { metadata: { name: 'berth-signing-secret' }, stringData: { secret: 'theirs' } };
    await console.kube('POST', `/api/v1/namespaces/${namespace}/secrets`, foreign);
    const taken = await someone.call('POST', `${base}/signing-secret/roll`, {});
    expect([taken.status, taken.body.error.code]).to.deep.equal([409, 'conflict']);
    await console.kube('POST', `/apis/berth.dev/v1alpha1/namespaces/${namespace}/workspaces`, {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'workspace', namespace },
      spec: { signingSecret: 'own-secret' },
    });
    const named = await someone.call('POST', `${base}/signing-secret/roll`, {});
    expect([named.status, named.body.error.message]).to.deep.equal([
      409,
      'The Workspace uses the Secret own-secret. To roll it, change its key "secret" with kubectl.',
    ]);
    const { body } = await console.kube('GET', secretPath('berth-signing-secret'));
    expect(Buffer.from(body.data.secret, 'base64').toString()).to.equal('theirs');
  });

  const deliver = async (id: string, endpoint: string) => {
    const { redis } = console.redis;
    const keys = workKeys(namespace);
    await redis.set(keys.event(id), `\n{"id":"${id}"}`);
    await redis.zadd(keys.outbox, 0, id);
    const event = { namespace, id, type: 'request.completed', requestId: `req_${id}` };
    await expandEvent(redis, event, [{ url: 'https://old.example/hook', endpoint }]);
  };
  const lease = () =>
    leaseDeliveries(console.redis.redis, namespace, { limit: 10, perDestination: 8, leaseMs: 60_000 });
  const failAll = async () => {
    const failure = { isDelivered: false, status: 500, error: 'answered 500', waitMs: 0, exchange: null };
    for (let round = 0; round < 4; round++)
      for (const delivery of (await lease()).leased)
        await settleDelivery(console.redis.redis, delivery, failure);
  };

  it('resends failed deliveries of all endpoints, and reports how many have no destination any more', async () => {
    for (const name of ['open', 'closed', 'gone']) {
      await add(name, 'https://old.example/hook');
      await deliver(`evt_${name}`, name);
    }
    await deliver('evt_callback', '');
    await failAll();
    await someone.call('PATCH', `${base}/webhooks/closed`, { enabled: false });
    await someone.call('DELETE', `${base}/webhooks/gone`);
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const answer = await someone.call('POST', `${base}/deliveries/resend`, { since });
    expect([answer.status, answer.body]).to.deep.equal([200, { resent: 2, expired: 0, unreachable: 2 }]);
    expect((await lease()).leased.map(({ eventId }) => eventId).toSorted()).to.deep.equal([
      'evt_callback',
      'evt_open',
    ]);
  });

  it('resends what failed to where its endpoint leads now, and what was missed while it was disabled', async () => {
    await add('hook', 'https://old.example/hook');
    await deliver('evt_1', 'hook');
    await deliver('evt_2', 'hook');
    await failAll();
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const [failed] = (await someone.call('GET', `${base}/deliveries?state=failed&limit=1`)).body;
    const detail = await someone.call('GET', `${base}/deliveries/${failed.id}`);
    expect([detail.body.body, detail.body.history.length]).to.deep.equal(['{"id":"evt_2"}', 3]);
    const next = (await someone.call('GET', `${base}/deliveries?limit=1&after=${failed.id}`)).body;
    expect(next.map(({ eventId }: { eventId: string }) => eventId)).to.deep.equal(['evt_1']);

    await someone.call('PATCH', `${base}/webhooks/hook`, { url: 'https://new.example/hook' });
    await evaluate('hook', ACTIVE);
    const answer = await someone.call('POST', `${base}/deliveries/resend`, { endpoint: 'hook', since });
    expect([answer.status, answer.body]).to.deep.equal([200, { resent: 2, expired: 0, unreachable: 0 }]);
    const { leased } = await lease();
    expect(leased.map(({ url, eventId }) => [url, eventId]).toSorted()).to.deep.equal([
      ['https://new.example/hook', 'evt_1'],
      ['https://new.example/hook', 'evt_2'],
    ]);
    const busy = await someone.call('POST', `${base}/deliveries/${leased[0]!.id}/resend`);
    expect(busy.status).to.equal(409);
    await someone.call('PATCH', `${base}/webhooks/hook`, { enabled: false });
    const refused = await someone.call('POST', `${base}/deliveries/${failed.id}/resend`);
    expect([refused.status, refused.body.error.message]).to.deep.equal([
      409,
      'The endpoint hook is disabled. Enable it first, then resend.',
    ]);
  });
});
