import { expect } from 'chai';
import { type AdapterFacts, deriveAdapterStatus } from '../../../../operator/status/adapter.ts';
import { findCondition } from '../../../../operator/status/condition-list.ts';
import { makeModel } from '../resources/fixtures.ts';

const replica = (fields: Partial<NonNullable<AdapterFacts['replicas']>[number]> = {}) => ({
  ...{ pod: 'qwen-1', boot: '1', ready: true, draining: false, limit: null, busyMs: 0, arrivals: 0 },
  ...{ inflight: 0, abandoned: 0, at: 1, asleep: false, activeAt: 1, adapter: 'sql-new' },
  ...fields,
});

const ADAPTER = makeModel({
  model: { id: 'sql', source: { huggingFace: { repo: 'acme/lora' } } },
  engine: undefined,
  adapterOf: { deployment: 'qwen' },
});
const DOWNLOADED = { claimName: 'models', entry: 'lora-0' };

function derive(facts: Partial<AdapterFacts> = {}, adapter = ADAPTER) {
  const status = deriveAdapterStatus(adapter, {
    problems: [],
    desiredPods: 1,
    readyPods: 1,
    replicas: [replica()],
    engineName: 'sql-new',
    isServed: true,
    download: undefined,
    downloaded: DOWNLOADED,
    isPaused: false,
    url: 'https://sql.example/v1',
    unpublished: undefined,
    acceptance: undefined,
    registrationId: 1,
    now: 0,
    ...facts,
  });
  const of = (type: string) => {
    const { status: is, reason, message } = findCondition(status.conditions, type)!;
    return { is, reason, message };
  };
  return { status, loaded: of('AdapterReady'), ready: of('Ready'), available: of('Available') };
}

describe('the status of an adapter', () => {
  it('is loaded once a replica has the current source, not with an earlier one, which still serves', () => {
    expect(derive().loaded).to.deep.include({ is: 'True', reason: 'Loaded' });
    const { loaded, ready, available, status } = derive({ replicas: [replica({ adapter: 'sql-old' })] });
    expect(loaded).to.include({ is: 'False', reason: 'Loading' });
    expect(loaded.message).to.include('meanwhile its earlier source is served');
    expect(ready).to.include({ is: 'False', reason: 'Loading' });
    expect(available.is).to.equal('True');
    expect(status.readyReplicas).to.equal(1);
  });

  it('has not failed as a whole while an earlier source is served', () => {
    const adapterError = 'no such file';
    const before = derive({ replicas: [replica({ adapter: 'sql-old', adapterError })] });
    expect(before.loaded.reason).to.equal('LoadFailed');
    expect(before.status.phase).to.equal('Starting');
    const { status } = derive({ replicas: [replica({ ready: false, adapter: undefined, adapterError })] });
    expect(status.phase).to.equal('Failed');
  });

  it('has no words of an engine that leaves', () => {
    const leaving = replica({ draining: true, adapter: undefined, adapterError: 'no such file' });
    expect(derive({ replicas: [leaving] }).loaded.reason).to.equal('Loading');
    expect(derive({ replicas: [replica(), leaving] }).loaded.message).not.to.include('no such file');
  });

  it('tells a download from loading, and its failure from the words of the engine', () => {
    const replicas = [replica({ ready: false, adapter: undefined, adapterError: 'no such file' })];
    expect(derive({ replicas, download: { job: 'sql-prefetch' } }).loaded).to.deep.include({
      reason: 'Downloading',
      message: 'Job sql-prefetch is downloading it',
    });
    const { loaded, status } = derive({ replicas, download: { job: 'sql-prefetch', failure: '401' } });
    expect(loaded.message).to.equal('Job sql-prefetch failed, and tries again: 401');
    expect([loaded.reason, status.phase]).to.deep.equal(['DownloadFailed', 'Failed']);
    expect(derive({ replicas }).loaded).to.deep.include({ reason: 'LoadFailed', message: 'no such file' });
  });

  it('is not loaded while its new source is downloaded, though engines have the one that is served', () => {
    const { loaded, available } = derive({ download: { job: 'sql-prefetch' } });
    expect(loaded).to.include({ is: 'False', reason: 'Downloading' });
    expect(loaded.message).to.include('meanwhile its earlier source is served');
    expect(available.is).to.equal('True');
  });

  it('is not accepted where its base serves nothing of it, and stays loaded for what only concerns an edit', () => {
    const problems = [{ reason: 'SecretNotFound', message: 'why' }];
    expect(derive({ problems, isServed: false, replicas: [] }).loaded.reason).to.equal('NotAccepted');
    expect(derive({ problems }).loaded.reason).to.equal('Loaded');
    expect(derive({ problems }).ready.reason).to.equal('SecretNotFound');
  });

  it('has stalled for good only where its own spec has to change: its base may change, too', () => {
    const isStalled = (reason: string) =>
      derive({ problems: [{ reason, message: 'why' }] }).status.conditions.some(
        ({ type }) => type === 'Stalled',
      );
    for (const reason of ['BaseNotFound', 'BaseNotSupported', 'TooManyAdapters', 'ClaimNotFound'])
      expect(isStalled(reason), reason).to.equal(false);
    for (const reason of ['NoPods', 'PortTaken']) expect(isStalled(reason), reason).to.equal(true);
  });

  it('remembers what was downloaded', () => {
    expect(derive().status.adapter).to.deep.equal(DOWNLOADED);
    expect(derive({ downloaded: undefined }).status).not.to.have.property('adapter');
  });

  it('says of itself what it said before while Redis is away: gateways serve on', () => {
    const { status: before } = derive();
    const { status, loaded, ready, available } = derive(
      { replicas: undefined },
      { ...ADAPTER, status: before },
    );
    expect(loaded).to.include({ is: 'Unknown', reason: 'NotReported' });
    expect([ready.is, available.is]).to.deep.equal(['True', 'True']);
    expect(status).to.deep.include({ phase: before.phase, readyReplicas: 1 });
  });
});
