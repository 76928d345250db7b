import { expect } from 'chai';
import { type ModelDeployment, modelDeployment } from '../../../../api/model-deployment.ts';
import { ModelStore } from '../../../../operator/model/model-store.ts';
import { evaluateTraffic, listSenders, listShares } from '../../../../operator/model/traffic.ts';

let versions = 0;

function describeModel(
  name: string,
  spec: object,
  more: { readyReplicas?: number; metadata?: object | undefined } = {},
) {
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name, namespace: 'team', uid: name, resourceVersion: String(++versions), ...more.metadata },
    spec: { kind: 'LLM', model: { id: 'org/chat' }, engine: { preset: 'vllm' }, ...spec },
    status: { readyReplicas: more.readyReplicas ?? 1 },
  };
}

describe('the versions that share a deployment’s traffic', () => {
  const entry = (...traffic: [string, number][]): ModelDeployment =>
    modelDeployment.parse(
      describeModel('chat', { traffic: traffic.map(([deployment, weight]) => ({ deployment, weight })) }),
    );
  const start = (...objects: ReturnType<typeof describeModel>[]) => {
    const models = new ModelStore('example', () => true);
    const put = (object: ReturnType<typeof describeModel>) =>
      models.put(`team/${object.metadata.name}`, object);
    for (const object of objects) put(object);
    return { models, put };
  };

  it('are published with their weights, and reported', () => {
    const { models } = start(describeModel('v2', {}), describeModel('v3', {}));
    const model = entry(['v2', 10], ['v3', 5]);
    expect(listShares(models, model)).to.deep.equal([
      { deployment: 'v2', weight: 10 },
      { deployment: 'v3', weight: 5 },
    ]);
    expect(evaluateTraffic(models, model)).to.deep.equal({
      status: 'True',
      reason: 'Split',
      message: 'v2 answers 10 %, v3 answers 5 % of conversations',
    });
  });

  it('are absent for a deployment that names none', () => {
    const { models } = start();
    const model = modelDeployment.parse(describeModel('chat', {}));
    expect([listShares(models, model), evaluateTraffic(models, model)]).to.deep.equal([undefined, undefined]);
  });

  for (const { what, spec, reason, message, ...more } of [
    {
      what: 'of another kind',
      spec: { kind: 'Embedding' },
      reason: 'MemberNotSupported',
      message: /v2 has kind Embedding, and this deployment LLM: they must be the same/,
    },
    {
      what: 'of another model',
      spec: { model: { id: 'org/other' } },
      reason: 'MemberNotSupported',
      message: /v2 has model\.id org\/other, and this deployment org\/chat/,
    },
    {
      what: 'with another engine',
      spec: { engine: { preset: 'sglang' } },
      reason: 'MemberNotSupported',
      message: /v2 has engine\.preset sglang, and this deployment vllm/,
    },
    {
      what: 'whose engine schedules otherwise',
      spec: { engine: { preset: 'vllm', args: ['--scheduling-policy=fcfs'] } },
      reason: 'MemberNotSupported',
      message: /v2 schedules its requests otherwise/,
    },
    {
      what: 'with fewer routes',
      spec: { engine: { preset: 'vllm', routes: ['/v1/chat/completions'] } },
      reason: 'MemberNotSupported',
      message: /v2 lacks \/v1\/completions, /,
    },
    { what: 'that is paused', spec: { paused: true }, reason: 'MemberPaused', message: /v2 is paused/ },
    {
      what: 'that is being deleted',
      spec: {},
      metadata: { deletionTimestamp: '2026-11-30T00:00:00Z' },
      reason: 'MemberNotFound',
      message: /there is no ModelDeployment v2 that is valid/,
    },
    {
      what: 'that never was valid',
      spec: { kind: 'Tea' },
      reason: 'MemberNotFound',
      message: /no ModelDeployment v2/,
    },
  ])
    it(`leave the share of one ${what} with the deployment, and say why`, () => {
      const { models } = start(describeModel('v2', spec, more), describeModel('v3', {}));
      const model = entry(['v2', 10], ['v3', 5]);
      expect(listShares(models, model)).to.deep.equal([
        { deployment: 'v2', weight: 10, excluded: true },
        { deployment: 'v3', weight: 5 },
      ]);
      const verdict = evaluateTraffic(models, model)!;
      expect(verdict).to.include({ status: 'False', reason });
      expect(verdict.message)
        .to.match(message)
        .and.match(/; its share stays here$/);
    });

  it('lend their engines only to those that name them, and can', () => {
    const { models, put } = start(describeModel('v2', {}));
    const v2 = modelDeployment.parse(describeModel('v2', {}));
    const traffic = [{ deployment: 'v2', weight: 10 }];
    expect(listSenders(models, v2)).to.equal(undefined);
    expect(put(describeModel('chat', { traffic }))).to.include('team/v2');
    put(describeModel('other', { model: { id: 'org/other' }, traffic }));
    expect(listSenders(models, v2)).to.deep.equal(['chat']);
    expect(put(describeModel('chat', {}, { metadata: { generation: 2 } }))).to.include('team/v2');
    expect(listSenders(models, v2)).to.equal(undefined);
    put(describeModel('chat', { traffic }, { metadata: { generation: 3 } }));
    expect(models.remove('team/chat')).to.include('team/v2');
    expect(listSenders(models, v2)).to.equal(undefined);
  });

  it('stay as they last were while they cannot be read', () => {
    const { models, put } = start(describeModel('v2', {}));
    put(describeModel('v2', { kind: 'Tea' }));
    expect(listShares(models, entry(['v2', 10]))).to.deep.equal([{ deployment: 'v2', weight: 10 }]);
  });

  it('are reported while the sidecar of one is too old, but stay published', () => {
    const { models, put } = start(describeModel('v2', {}));
    const old = describeModel('v2', {});
    put({ ...old, status: { readyReplicas: 1, sidecarVersion: '0.0.9' } } as typeof old);
    const model = entry(['v2', 10]);
    expect(listShares(models, model)).to.deep.equal([{ deployment: 'v2', weight: 10 }]);
    expect(evaluateTraffic(models, model)).to.include({ status: 'False', reason: 'SidecarOutdated' });
  });

  it('are not reported where they have no weight', () => {
    const { models } = start(describeModel('v3', {}));
    expect(evaluateTraffic(models, entry(['v2', 0], ['v3', 5]))).to.include({ status: 'True' });
  });

  it('name all that are missing', () => {
    const { models } = start();
    const model = entry(['v2', 10], ['chat', 5]);
    models.put('team/chat', describeModel('chat', {}));
    expect(listShares(models, model)!.every(({ excluded }) => excluded)).to.equal(true);
    expect(evaluateTraffic(models, model)!.message).to.equal(
      'spec.traffic: there is no ModelDeployment v2 that is valid and not being deleted; ' +
        'spec.traffic: chat is this deployment itself; their shares stay here',
    );
  });

  it('stay published while none of their replicas is ready, which gateways see first', () => {
    const { models } = start(describeModel('v2', {}, { readyReplicas: 0 }));
    const model = entry(['v2', 10]);
    expect(listShares(models, model)).to.deep.equal([{ deployment: 'v2', weight: 10 }]);
    expect(evaluateTraffic(models, model)).to.include({ status: 'False', reason: 'MemberNotReady' });
  });

  it('have the deployment reconciled when they change, come or go', () => {
    const { models, put } = start();
    put({ ...describeModel('chat', { traffic: [{ deployment: 'v2', weight: 10 }] }) });
    expect(put(describeModel('v2', {}, { readyReplicas: 0 }))).to.include('team/chat');
    expect(put(describeModel('v2', {}, { readyReplicas: 0 }))).not.to.include('team/chat');
    expect(put(describeModel('v2', {}, { readyReplicas: 2 }))).to.include('team/chat');
    expect(put(describeModel('v2', {}, { readyReplicas: 3 }))).not.to.include('team/chat');
    expect(put(describeModel('v2', {}, { metadata: { generation: 2 } }))).to.include('team/chat');
    expect(models.remove('team/v2')).to.include('team/chat');
    put(describeModel('chat', {}));
    expect(put(describeModel('v2', {}))).not.to.include('team/chat');
  });
});
