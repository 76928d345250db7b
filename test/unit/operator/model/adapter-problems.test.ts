import { expect } from 'chai';
import { adapterPort } from '../../../../api/model-adapter.ts';
import type { ModelDeployment } from '../../../../api/model-deployment.ts';
import { findAdapterProblems, listServed } from '../../../../operator/model/adapter-problems.ts';
import { ModelStore } from '../../../../operator/model/model-store.ts';
import { makeModel } from '../resources/fixtures.ts';

const makeAdapter = (
  name: string,
  { isDownloaded = true, created = '2026-01-01T00:00:00Z' } = {},
): ModelDeployment => {
  const adapter = makeModel(
    {
      model: { id: name, source: { huggingFace: { repo: 'acme/lora' } } },
      engine: undefined,
      adapterOf: { deployment: 'qwen' },
    },
    { name, uid: `uid-${name}`, creationTimestamp: created },
  );
  const status = { ...adapter.status, adapter: { claimName: 'models', entry: 'lora-0' } };
  return isDownloaded ? { ...adapter, status } : adapter;
};
const makeBase = (spec: { engine?: object; [field: string]: unknown } = {}) =>
  makeModel({ ...spec, engine: { preset: 'vllm', adapters: { claimName: 'models' }, ...spec.engine } });

/** Two names that lead to the same port. */
function findClash(): [string, string] {
  const names = new Map<number, string>();
  for (let index = 0; ; index++) {
    const name = `a${index}`;
    const other = names.get(adapterPort(name));
    if (other) return [other, name];
    names.set(adapterPort(name), name);
  }
}

const namesOf = (adapters: readonly { metadata: { name: string } }[]) =>
  adapters.map(({ metadata: { name } }) => name);
const reasonsOf = (...args: Parameters<typeof findAdapterProblems>) =>
  findAdapterProblems(...args).map(({ reason }) => reason);

describe('the adapters that a base serves', () => {
  const sql = makeAdapter('sql');

  it('are those that were downloaded: nothing else concerns it', () => {
    const law = makeAdapter('law', { isDownloaded: false });
    expect(namesOf(listServed(makeBase(), [sql, law]))).to.deep.equal(['sql']);
    expect(reasonsOf(law, makeBase(), [sql, law])).to.deep.equal([]);
  });

  it('stay when it gets another claim, which may be missing: its pods have the old one until they are replaced', () => {
    const moved = makeBase({ engine: { adapters: { claimName: 'others' } } });
    expect(namesOf(listServed(moved, [sql]))).to.deep.equal(['sql']);
    expect(reasonsOf(sql, moved, [sql])).to.deep.equal([]);
  });

  it('are as many as its spec says: the first that came', () => {
    const base = makeBase({ engine: { adapters: { claimName: 'models', max: 2 } } });
    const [old, young, late] = ['a', 'b', 'c'].map((name, day) =>
      makeAdapter(name, { created: `2026-01-0${day + 1}T00:00:00Z`, isDownloaded: name !== 'a' }),
    );
    const all = [old!, young!, late!];
    expect(namesOf(listServed(base, all))).to.deep.equal(['b', 'c']);
    expect(reasonsOf(old!, base, all)).to.deep.equal(['TooManyAdapters']);
    expect(reasonsOf(late!, base, all)).to.deep.equal([]);
  });

  for (const [change, spec] of Object.entries({
    'an engine without adapters': { engine: { adapters: undefined } },
    'an engine that is told to have none': { engine: { args: ['--no_enable_lora'] } },
    'an engine that loads none while it runs': {
      engine: { env: [{ name: 'VLLM_ALLOW_RUNTIME_LORA_UPDATING', value: '0' }] },
    },
    'no replicas': { replicas: 0 },
    'scaling to zero at night': {
      scaling: { min: 1, max: 2, schedules: [{ cron: '0 20 * * *', min: 0, max: 1 }] },
    },
    'scaling to zero': { scaling: { min: 0, max: 2 } },
    'sleep while idle': { scaling: { min: 1, max: 2, idle: 'Sleep' } },
  }))
    it(`are none after a change of the base to ${change}`, () => {
      const base = makeBase(spec);
      expect(listServed(base, [sql])).to.deep.equal([]);
      expect(reasonsOf(sql, base, [sql])).to.deep.equal(['BaseNotSupported']);
    });

  it('are without one whose port the engine has', () => {
    const base = makeBase({ engine: { port: adapterPort('sql') } });
    expect(listServed(base, [sql])).to.deep.equal([]);
    expect(reasonsOf(sql, base, [sql])).to.deep.equal(['PortTaken']);
  });

  it('have a port each: of two that were downloaded at the same time, one', () => {
    const [one, other] = findClash().map((name) => makeAdapter(name));
    const served = listServed(makeBase(), [one!, other!]);
    expect(served).to.have.length(1);
    const [loser] = [one!, other!].filter((adapter) => !served.includes(adapter));
    expect(reasonsOf(loser!, makeBase(), [one!, other!])).to.deep.equal(['PortTaken']);
    expect(reasonsOf(served[0]!, makeBase(), [one!, other!])).to.deep.equal([]);
  });

  it('keep their port from one that comes later, even with an older object', () => {
    const [name, other] = findClash();
    const served = makeAdapter(name, { created: '2026-02-02T00:00:00Z' });
    const late = makeAdapter(other, { isDownloaded: false });
    expect(namesOf(listServed(makeBase(), [served, late]))).to.deep.equal([name]);
    expect(reasonsOf(late, makeBase(), [served, late])).to.deep.equal(['PortTaken']);
  });
});

describe('the index of adapters', () => {
  let store: ModelStore;
  const put = (object: ModelDeployment, more: object = {}) =>
    store.put(`team-a/${object.metadata.name}`, {
      ...object,
      ...more,
      metadata: { ...object.metadata, resourceVersion: String(Math.random()) },
    });
  const served = () => namesOf(store.servedBy(makeBase()));

  beforeEach(() => {
    store = new ModelStore('example', () => true);
    put(makeBase());
  });

  it('follows the base, and forgets what is gone', () => {
    expect(put(makeAdapter('sql'))).to.include('team-a/qwen');
    expect(served()).to.deep.equal(['sql']);
    expect(store.isServed(makeAdapter('sql'))).to.equal(true);
    expect(store.remove('team-a/sql')).to.include('team-a/qwen');
    expect(store.listAdapters('team-a/qwen')).to.deep.equal([]);
    expect(served()).to.deep.equal([]);
  });

  it('has base and adapters looked at for what concerns the other, and not for each status', () => {
    const sql = makeAdapter('sql', { isDownloaded: false });
    put(sql);
    const phase = (model: ModelDeployment) => put(model, { status: { ...model.status, phase: 'Starting' } });
    expect(phase(sql)).to.deep.equal([]);
    expect(phase(makeBase())).to.deep.equal([]);
    expect(put(makeAdapter('sql'))).to.have.members(['team-a/qwen', 'team-a/sql']);
    const edited = makeBase();
    expect(put({ ...edited, metadata: { ...edited.metadata, generation: 9 } })).to.deep.equal(['team-a/sql']);
  });

  it('serves on what cannot be read for a moment', () => {
    put(makeAdapter('sql'));
    put(makeAdapter('sql'), { spec: 'the object is too large' });
    expect(served()).to.deep.equal(['sql']);
    put(makeBase(), { spec: 'the object is too large' });
    expect(store.baseOf(makeAdapter('sql'))).not.to.equal(undefined);
    store.remove('team-a/qwen');
    expect(store.baseOf(makeAdapter('sql'))).to.equal(undefined);
  });
});
