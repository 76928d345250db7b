import { expect } from 'chai';
import { LABELS } from '../../../api/names.ts';
import { WritableCache } from '../../../kube/object-cache.ts';
import { CredentialStore } from '../../../operator/credential/credential-store.ts';
import { createDesiredState } from '../../../operator/desired-state.ts';
import { BY_MODEL, modelKeyOf } from '../../../operator/framework/cluster-view.ts';
import { KeyStore } from '../../../operator/key/key-store.ts';
import { ModelStore } from '../../../operator/model/model-store.ts';
import { EndpointStore } from '../../../operator/webhook/endpoint-store.ts';

const NAME = { namespace: 'team-a', name: 'chat' };

describe('what ought to be in Redis', () => {
  const start = () => {
    const workspaces = new WritableCache();
    const pods = new WritableCache({ [BY_MODEL]: modelKeyOf });
    const models = new ModelStore('example', () => true);
    const keys = new KeyStore();
    const desired = createDesiredState({
      liveScaling: () => ({ loadTimeMs: null, cordoned: [], sleeping: [] }),
      settings: {
        documentationURL: 'https://docs.example.com',
        domain: 'models.example.com',
        urlScheme: 'https',
        urlPort: undefined,
        allowedHosts: [],
        consoleHost: undefined,
      },
      view: { workspaces, pods, unseen: () => new Set() } as never,
      models,
      keys,
      credentials: new CredentialStore(),
      endpoints: new EndpointStore(),
      signingSecrets: new Map(),
    });
    const putModel = (spec: object, version: string, more: object = {}) =>
      models.put('team-a/chat', {
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ModelDeployment',
        metadata: { ...NAME, uid: 'u', resourceVersion: version, ...more },
        spec: { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'simulator' }, ...spec },
      } as never);
    const putWorkspace = (spec: object, status: object = {}) =>
      workspaces.put({
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'Workspace',
        metadata: { name: 'workspace', namespace: 'team-a', resourceVersion: '1' },
        spec,
        status,
      } as never);
    return { desired, keys, models, pods, putModel, putWorkspace };
  };

  it('names the versions that share a deployment’s traffic, with those that cannot answer', () => {
    const { desired, models, putModel } = start();
    putModel({ traffic: [{ deployment: 'v2', weight: 10 }] }, '1');
    expect(desired.deployment(NAME)!.config!.traffic).to.deep.equal([
      { deployment: 'v2', weight: 10, excluded: true },
    ]);
    models.put('team-a/v2', {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name: 'v2', namespace: 'team-a', uid: 'v2', resourceVersion: '1' },
      spec: { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'simulator' } },
    } as never);
    expect(desired.deployment(NAME)!.config!.traffic).to.deep.equal([{ deployment: 'v2', weight: 10 }]);
    putModel({}, '2');
    expect(desired.deployment(NAME)!.config).not.to.have.property('traffic');
  });

  it('says what keeps replicas from becoming ready: as last derived, else as the status has it', () => {
    const { desired, models, putModel } = start();
    putModel({}, '1');
    expect(desired.deployment(NAME)!.config).not.to.have.property('obstacle');
    expect(models.noteObstacle('team-a/chat', 'Failed')).to.equal(true);
    expect(models.noteObstacle('team-a/chat', 'Failed')).to.equal(false);
    expect(desired.deployment(NAME)!.config).to.include({ obstacle: 'Failed' });
    expect(models.noteObstacle('team-a/chat', undefined)).to.equal(true);
    expect(desired.deployment(NAME)!.config).not.to.have.property('obstacle');
  });

  it('routes an adapter to the pods of its base while that serves it, and nowhere else', () => {
    const { desired, models, pods, putModel } = start();
    const sql = { namespace: 'team-a', name: 'sql' };
    pods.put({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'chat-1',
        namespace: 'team-a',
        labels: { [LABELS.deployment]: 'chat', [LABELS.component]: 'model' },
      },
      status: { podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
    } as never);
    putModel({ engine: { preset: 'simulator', adapters: { claimName: 'models' } } }, '1');
    models.put('team-a/sql', {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { ...sql, uid: 's', resourceVersion: '1' },
      spec: {
        kind: 'LLM',
        model: { id: 'sql', source: { huggingFace: { repo: 'a/b' } } },
        adapterOf: { deployment: 'chat' },
      },
      status: { adapter: { claimName: 'models', entry: 'b-0123456789abcdef' } },
    } as never);
    expect(desired.deployment(sql)).to.deep.include({ addresses: ['10.0.0.1'], pods: 0 });
    // What was downloaded last, whatever its spec asks for by now.
    models.noteObstacle('team-a/chat', 'WaitingForQuota');
    expect(desired.deployment(sql)!.config, 'as its base').to.include({ obstacle: 'WaitingForQuota' });
    const [nested] = desired.deployment(NAME)!.config!.adapters as { servedModelName: string }[];
    expect(nested!.servedModelName).to.equal('sql-0123456789abcdef');
    putModel({ engine: { preset: 'sglang' } }, '2');
    expect(desired.deployment(sql)).to.deep.include({ addresses: [], pods: 0 });
    expect(desired.deployment(NAME)!.config).not.to.have.property('adapters');
  });

  for (const [what, spec, credit, owner] of [
    ['no Workspace', undefined, null, null],
    ['one that sets nothing', {}, null, null],
    ['one that sets both', { credit: '2', ownerEmail: 'a@example.com' }, 2_000_000, 'a@example.com'],
    // The API server accepts it: its `\s` does not match this kind of space.
    [
      'an owner with a no-break space',
      { credit: '2', ownerEmail: 'a@example.com\u00a0' },
      2_000_000,
      undefined,
    ],
    [
      'a credit that is no amount',
      { credit: 'much', ownerEmail: 'a@example.com' },
      undefined,
      'a@example.com',
    ],
  ] as const)
    it(`knows credit and owner as far as they can be read, with ${what}`, () => {
      const { desired, putWorkspace } = start();
      if (spec) putWorkspace(spec);
      expect(desired.creditMicros('team-a')).to.equal(credit);
      expect(desired.ownerEmail('team-a')).to.equal(owner);
    });

  it('knows how long inputs are kept', () => {
    const { desired, putWorkspace } = start();
    expect(desired.keepInputsMs('team-a')).to.equal(null);
    putWorkspace({ keepInputs: '24h' });
    expect(desired.keepInputsMs('team-a')).to.equal(86_400_000);
    putWorkspace({ keepInputs: '400d' });
    expect(desired.keepInputsMs('team-a')).to.equal(undefined);
  });

  it('publishes owner, deployments and budget of a key, and budgets of owners', () => {
    const { desired, keys, putWorkspace } = start();
    const periodEndsAt = '2026-12-01T00:00:00.000Z';
    const budget = { amount: '200', warnAt: [50] };
    keys.put('team-a/ci', {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'APIKey',
      metadata: { name: 'ci', namespace: 'team-a', uid: 'u', resourceVersion: '1' },
      spec: { sha256: 'a'.repeat(64), owner: 'search', deployments: ['chat', 'embed'], budget },
      status: { budget: { spent: '3', percent: 1, periodEndsAt } },
    } as never);
    expect(desired.apiKey('team-a', 'a'.repeat(64))).to.include({
      own: 'search',
      dep: 'chat,embed',
      bud: '200000000,Month,50',
    });
    const owners = [{ name: 'search', budget: { amount: '5', period: 'Day' } }, { name: 'free' }];
    putWorkspace(
      { owners, currency: 'EUR' },
      { owners: [{ name: 'search', spent: '1', percent: 20, periodEndsAt }] },
    );
    expect(desired.currency('team-a')).to.equal('EUR');
    const ofOwner = { micros: 5_000_000, period: 'Day', warnAt: [50, 80] };
    expect(desired.owners('team-a')).to.deep.equal(new Map([['search', ofOwner]]));
    expect(
      desired.budgets('team-a').map(({ holder, spentMicros }) => ({ ...holder, spentMicros })),
    ).to.deep.equal([
      { kind: 'key', name: 'ci', spentMicros: 3_000_000 },
      { kind: 'owner', name: 'search', spentMicros: 1_000_000 },
    ]);
    putWorkspace('the object is too large' as never);
    expect(desired.owners('team-a'), 'Redis keeps what it holds').to.equal(undefined);
  });

  it('does not take a Workspace that is not kept for one without a limit of credit', () => {
    const { desired, putWorkspace } = start();
    putWorkspace('the object is too large' as never);
    expect(desired.creditMicros('team-a')).to.equal(undefined);
  });

  it('does not know what to publish of a deployment that it cannot read, and lets nobody have its host', () => {
    const { desired, models, putModel } = start();
    putModel({ route: { host: 'a.example' } }, '1');
    expect(desired.deployment(NAME)).to.have.property('host', 'a.example');
    putModel({ kind: 'Teapot', route: { host: 'a.example' } }, '2');
    expect(desired.deployment(NAME)).to.deep.equal({
      config: undefined,
      host: undefined,
      addresses: [],
      pods: 0,
    });
    expect(models.hostOwner('a.example')).to.equal('team-a/chat');
    expect([...desired.names('team-a')]).to.deep.equal(['chat']);
  });

  it('publishes how many pods there are, of which those alone are dialed that are ready', () => {
    const { desired, pods, putModel } = start();
    putModel({}, '1');
    for (const [index, status] of (['True', 'False', 'False'] as const).entries())
      pods.put({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: `p${index}`,
          namespace: 'team-a',
          resourceVersion: '1',
          labels: { [LABELS.deployment]: 'chat' },
        },
        status: { podIP: `10.0.0.${index}`, conditions: [{ type: 'Ready', status }] },
      } as never);
    expect(desired.deployment(NAME)).to.deep.include({ addresses: ['10.0.0.0'], pods: 3 });
  });

  it('publishes where errors are documented', () => {
    const { desired, putModel } = start();
    putModel({}, '1');
    expect(desired.deployment(NAME)?.config).to.include({ documentationURL: 'https://docs.example.com' });
  });

  it('publishes nothing of a deployment that it cannot read once that is deleted', () => {
    const { desired, models, putModel } = start();
    putModel({ kind: 'Teapot' }, '1', { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(desired.deployment(NAME)).to.equal(undefined);
    models.remove('team-a/chat');
    expect(desired.deployment(NAME)).to.equal(undefined);
    putModel({ kind: 'Teapot' }, '2', { uid: 'another' });
    expect(desired.deployment(NAME)).to.have.property('config', undefined);
  });
});
