/** A member sees and changes their own namespace, by every path of the API, and no other. */

import { expect } from 'chai';
import { podSelector } from '../../../api/names.ts';
import { configKeys, deliveryKeys, globalKeys, workKeys } from '../../../api/redis-keys.ts';
import { revisionLabels } from '../../../api/spec-revision.ts';
import { controllerReference } from '../../../kube/object.ts';
import { pollUntil } from '../../support/poll.ts';

import { type Person, useConsole } from './console-harness.ts';
import { VERIFIED, verifyMeanwhile } from './verification.ts';

const ID = `req_${'0'.repeat(32)}`;
/** Keys of an S3-shaped credential. */
const KEYS = { accessKeyId: 'AKIA', secretAccessKey: 'secret' };

const writeManifest = (name: string) => ({
  manifest: {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name },
    spec: { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'simulator' } },
  },
});

/** Every path below a namespace: method, path, body, what its own member gets. */
const PATHS: [string, string, unknown, number][] = [
  ['GET', 'deployments', undefined, 200],
  ['GET', 'deployments/llm', undefined, 200],
  ['PATCH', 'deployments/llm', { paused: true }, 200],
  ['GET', 'deployments/llm/manifest', undefined, 200],
  ['POST', 'deployments/llm/dry-run', writeManifest('llm'), 200],
  ['PUT', 'deployments/llm', writeManifest('llm'), 200],
  ['POST', 'deployments/dry-run', writeManifest('mine'), 200],
  ['POST', 'deployments', writeManifest('mine'), 201],
  ['DELETE', 'deployments/mine', undefined, 204],
  ['GET', 'deployments/llm/replicas', undefined, 200],
  ['GET', 'deployments/llm/events', undefined, 200],
  ['GET', 'deployments/llm/history', undefined, 200],
  // No operator runs, which would record revisions: those who may roll back are told that there is none.
  ['POST', 'deployments/llm/rollback', { revision: 1, version: 'other' }, 409],
  ['POST', 'deployments/llm/restart', undefined, 200],
  ['POST', 'deployments/llm/replicas/llm-1/restart', undefined, 204],
  // The API server knows no node that could serve the log.
  ['GET', 'deployments/llm/replicas/none/log?container=engine', undefined, 404],
  ['POST', 'deployments/llm/v1/chat/completions', {}, 502],
  ['GET', 'deployments/llm/v1/models', undefined, 502],
  ['GET', 'keys', undefined, 200],
  ['POST', 'keys', { name: 'mine' }, 201],
  ['PATCH', 'keys/theirs', { disabled: true }, 200],
  ['DELETE', 'keys/theirs', undefined, 204],
  ['GET', 'webhooks', undefined, 200],
  ['POST', 'webhooks', { name: 'mine', url: 'https://example.com/' }, 201],
  ['PATCH', 'webhooks/theirs', { enabled: false }, 200],
  ['POST', 'webhooks/theirs/test', undefined, 409],
  ['DELETE', 'webhooks/theirs', undefined, 204],
  ['POST', 'signing-secret/roll', {}, 200],
  ['GET', 'deliveries', undefined, 200],
  ['GET', 'requests', undefined, 200],
  ['GET', 'recent-requests', undefined, 200],
  ['GET', `requests/llm/${ID}`, undefined, 200],
  ['POST', `requests/llm/${ID}/cancel`, undefined, 502],
  ['POST', 'requests/llm/cancel-queued', undefined, 200],
  ['GET', 'usage', undefined, 200],
  ['GET', 'usage/deployments', undefined, 200],
  ['GET', 'deployments/llm/scaling', undefined, 200],
  ['GET', 'deployments/llm/load', undefined, 200],
  ['GET', 'storage-credentials', undefined, 200],
  ['POST', 'storage-credentials', { name: 'mine', bucket: 'results', ...KEYS }, 201],
  ['POST', 'storage-credentials/theirs/verify', undefined, 200],
  ['DELETE', 'storage-credentials/theirs', undefined, 204],
];

/** The credentials that a path has an operator check. */
const CHECKED: Record<string, string> = {
  'POST storage-credentials': 'mine',
  'POST storage-credentials/theirs/verify': 'theirs',
};

describe("the console's tenancy", () => {
  const console = useConsole();
  let member: { namespace: string; token: string };
  let stranger: Person;

  const make = async (plural: string, name: string, spec: object) => {
    const path = `/apis/berth.dev/v1alpha1/namespaces/${member.namespace}/${plural}`;
    const answer = await console.kube('POST', path, {
      apiVersion: 'berth.dev/v1alpha1',
      kind: {
        apikeys: 'APIKey',
        webhookendpoints: 'WebhookEndpoint',
        storagecredentials: 'StorageCredential',
        modeldeployments: 'ModelDeployment',
      }[plural],
      metadata: { name, namespace: member.namespace },
      spec,
    });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
  };

  const makePod = async (name: string, deployment: string) => {
    const path = `/api/v1/namespaces/${member.namespace}/pods`;
    const labels = { ...podSelector(deployment), replica: name };
    const spec = { containers: [{ name: 'engine', image: 'engine' }] };
    const made = await console.kube('POST', path, { metadata: { name, labels }, spec });
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    expect((await console.kube('PATCH', `${path}/${name}/status`, { status })).status).to.equal(200);
  };

  before(async () => {
    member = await console.makeMember();
    await make('apikeys', 'theirs', {});
    await make('webhookendpoints', 'theirs', { url: 'https://example.com/hook' });
    await make('storagecredentials', 'theirs', { bucket: 'theirs', secret: 'keys' });
    await make('modeldeployments', 'llm', {
      kind: 'LLM',
      model: { id: 'm' },
      engine: { preset: 'simulator' },
    });
    await makePod('llm-1', 'llm');
    await makePod('llm-2', 'llm');
    await makePod('other-1', 'other');
    // Nothing listens there: what gets that far was allowed.
    const status = { url: 'http://127.0.0.1:9' };
    const at = `/apis/berth.dev/v1alpha1/namespaces/${member.namespace}/modeldeployments/llm/status`;
    expect((await console.kube('PATCH', at, { status })).status).to.equal(200);
    const { redis } = console.redis;
    const { namespace } = member;
    await redis.hset(workKeys(namespace).request(ID), {
      deployment: 'llm',
      status: 'queued',
      modality: 'image',
      queued_at: Date.now(),
      registration_id: 1,
    });
    await redis.zadd(workKeys(namespace).deployments, 0, 'llm');
    await redis.zadd(workKeys(namespace).index('llm', 'all'), 1, ID);
    await redis.hset(configKeys(namespace).workspace, 'creditMicros', 5_000_000);
    await redis.zadd(deliveryKeys(namespace).log, 1, 'dlv_1');
    await redis.hset(deliveryKeys(namespace).delivery('dlv_1'), {
      event: 'evt_1',
      type: 'request.completed',
      request: ID,
      url: 'https://example.com/',
      endpoint: '',
      state: 'pending',
      attempts: 0,
      created_at: 1,
    });
    await redis.sadd(globalKeys.workspaces, namespace);
    stranger = await console.signIn((await console.makeMember()).token);
  });

  for (const [method, path, body] of PATHS)
    it(`answers 403 to a stranger's ${method} ${path}`, async () => {
      const before = await describeNamespace();
      const answer = await stranger.call(method, `/api/namespaces/${member.namespace}/${path}`, body);
      expect([answer.status, answer.body.error.code]).to.deep.equal([403, 'permission_denied']);
      expect(JSON.stringify(answer.body)).to.not.contain('example.com');
      expect(await describeNamespace()).to.deep.equal(before);
    });

  for (const [method, path, body, status] of PATHS)
    it(`answers ${status} to a member's ${method} ${path}`, async () => {
      const someone = await console.signIn(member.token);
      const call = () => someone.call(method, `/api/namespaces/${member.namespace}/${path}`, body);
      const { namespace } = member;
      const checked = CHECKED[`${method} ${path}`];
      const answer = await (checked
        ? verifyMeanwhile(console.kube, { namespace, name: checked, verdict: VERIFIED }, call)
        : call());
      expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
    }).timeout(20_000);

  it("restarts neither another deployment's replica, nor one whose disruption budget is spent", async () => {
    const { namespace } = member;
    const someone = await console.signIn(member.token);
    const restart = (pod: string) =>
      someone.call('POST', `/api/namespaces/${namespace}/deployments/llm/replicas/${pod}/restart`);
    expect((await restart('other-1')).status).to.equal(404);
    const budget = await console.kube(
      'POST',
      `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
      {
        metadata: { name: 'llm-2' },
        spec: { maxUnavailable: 1, selector: { matchLabels: { replica: 'llm-2' } } },
      },
    );
    expect(budget.status, JSON.stringify(budget.body)).to.equal(201);
    // No controller has counted its pods, so it allows nothing.
    const answer = await restart('llm-2');
    expect([answer.status, answer.body.error.code]).to.deep.equal([409, 'conflict']);
    expect(answer.body.error.message).to.include('llm-2 stays: its disruption budget');
  });

  it('shows a viewer the history, and lets it roll back and restart nothing', async () => {
    const { namespace } = member;
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const llm = await console.kube(
      'GET',
      `/apis/berth.dev/v1alpha1/namespaces/${namespace}/modeldeployments/llm`,
    );
    const made = [
      await console.kube('POST', `${rbac}/namespaces/${namespace}/roles`, {
        metadata: { name: 'viewer' },
        rules: [
          {
            apiGroups: ['berth.dev'],
            resources: ['modeldeployments', 'workspaces'],
            verbs: ['get', 'list', 'watch'],
          },
          { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
          { apiGroups: ['apps'], resources: ['controllerrevisions'], verbs: ['list'] },
        ],
      }),
      await console.kube('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
        metadata: { name: 'viewer' },
      }),
      await console.kube('POST', `${rbac}/namespaces/${namespace}/rolebindings`, {
        metadata: { name: 'viewer' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'viewer' },
        subjects: [{ kind: 'ServiceAccount', name: 'viewer', namespace }],
      }),
      await console.kube('POST', `/apis/apps/v1/namespaces/${namespace}/controllerrevisions`, {
        metadata: {
          name: 'llm-1',
          labels: revisionLabels('llm'),
          ownerReferences: [controllerReference(llm.body)],
        },
        data: { spec: { ...llm.body.spec, concurrency: 7 } },
        revision: 1,
      }),
    ];
    for (const { status, body } of made) expect(status, JSON.stringify(body)).to.equal(201);
    const viewer = await console.signIn(await console.makeToken(namespace, 'viewer'), namespace);
    const call = (method: string, path: string, body?: unknown) =>
      viewer.call(method, `/api/namespaces/${namespace}/deployments/llm/${path}`, body);
    const history = await call('GET', 'history');
    expect(history.status, JSON.stringify(history.body)).to.equal(200);
    expect(history.body.revisions).to.have.length(1);
    const { version } = history.body;
    for (const [path, body] of [
      ['rollback', { revision: 1, version }],
      ['restart', undefined],
      ['replicas/llm-2/restart', undefined],
    ] as const) {
      const answer = await call('POST', path, body);
      expect([path, answer.status]).to.deep.equal([path, 403]);
    }
    const someone = await console.signIn(member.token);
    const path = `/api/namespaces/${namespace}/deployments/llm/rollback`;
    const rolledBack = await someone.call('POST', path, { revision: 1, version });
    expect(rolledBack.status, JSON.stringify(rolledBack.body)).to.equal(200);
  });

  it('does not reveal other namespaces to non-members', async () => {
    const { body } = await stranger.call('GET', '/api/session');
    expect(body.namespaces).to.have.length(1).and.not.contain(member.namespace);
    const access = await stranger.call('GET', `/api/namespaces/${member.namespace}/access`);
    expect(new Set(Object.values(access.body))).to.deep.equal(new Set([false]));
  });

  it('lists what members may do', async () => {
    const someone = await console.signIn(member.token);
    const access = await someone.call('GET', `/api/namespaces/${member.namespace}/access`);
    const { isMissing, ...rights } = access.body;
    expect(isMissing).to.equal(false);
    expect(new Set(Object.values(rights))).to.deep.equal(new Set([true]));
  });

  it('refuses to begin in a namespace that the user cannot see', async () => {
    const { token } = await console.makeMember();
    const answer = await console
      .person()
      .call('POST', '/api/session', { token, namespace: member.namespace });
    expect([answer.status, answer.body.error.param]).to.deep.equal([403, 'namespace']);
    expect(answer.headers.getSetCookie()).to.deep.equal([]);
  });

  it('finds namespaces that a user may see beyond their own', async () => {
    const { namespace, token } = await console.makeMember();
    const binding = await console.kube(
      'POST',
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${member.namespace}/rolebindings`,
      {
        metadata: { name: `guest-${namespace}` },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'berth-member' },
        subjects: [
          {
            kind: 'Group',
            name: `system:serviceaccounts:${namespace}`,
            apiGroup: 'rbac.authorization.k8s.io',
          },
        ],
      },
    );
    expect(binding.status).to.equal(201);
    const guest = await console.signIn(token);
    const { body } = await guest.call('GET', '/api/session');
    expect(body.namespaces).to.deep.equal([namespace, member.namespace]);
    const there = await console.signIn(token, member.namespace);
    const begun = await there.call('GET', '/api/session');
    expect(begun.body.namespaces).to.deep.equal([member.namespace, namespace]);
    // Rights that were taken back are cached for at most 10 s.
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${member.namespace}/rolebindings/guest-${namespace}`;
    const log = () => there.call('GET', `/api/namespaces/${member.namespace}/deliveries`);
    expect((await log()).status).to.equal(200);
    await console.kube('DELETE', path);
    await pollUntil(async () => (await log()).status === 403, 'the end of the right', 12_000);
  });

  it('shows an administrator the namespaces that hold something of Berth', async () => {
    const { token } = console.api.controlPlane;
    const admin = await console.signIn(token);
    const { body } = await admin.call('GET', '/api/session');
    expect(body.namespaces).to.contain(member.namespace).and.not.contain('kube-system');
  });

  for (const name of ['..', '.', '%2e%2e', 'a%2f..%2fb', '%ff', 'A', '-'])
    it(`answers 404 for the name ${name}`, async () => {
      const someone = await console.signIn(member.token);
      const headers = { cookie: someone.cookie, origin: console.origin };
      for (const path of [
        `/api/namespaces/${member.namespace}/keys/${name}`,
        `/api/namespaces/${name}/keys/x`,
      ]) {
        const answer = await console.rawCall('DELETE', path, undefined, headers);
        expect([path, answer.status]).to.deep.equal([path, 404]);
      }
    });

  /** All that a stranger could have changed. */
  const describeNamespace = async () => {
    const lists = ['apikeys', 'webhookendpoints', 'storagecredentials'].map(
      (plural) => `/apis/berth.dev/v1alpha1/namespaces/${member.namespace}/${plural}`,
    );
    lists.push(`/api/v1/namespaces/${member.namespace}/secrets`);
    const answers = await Promise.all(lists.map((path) => console.kube('GET', path)));
    return answers.map(({ body }) => body.items.map((item: { metadata: object }) => item.metadata));
  };
});
