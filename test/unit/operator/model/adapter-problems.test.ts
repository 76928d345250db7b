import { expect } from 'chai';
import { adapterPort } from '../../../../api/model-adapter.ts';
import { findAdapterProblems, listServed } from '../../../../operator/model/adapter-problems.ts';
import { ModelStore } from '../../../../operator/model/model-store.ts';
import { makeModel } from '../resources/fixtures.ts';

const ADMITTED = {
  conditions: [{ type: 'AdapterReady', status: 'False', reason: 'Loading', lastTransitionTime: '' }],
};

const makeAdapter = (name: string, { isAdmitted = true, created = '2026-01-01T00:00:00Z' } = {}) => ({
  ...makeModel(
    {
      model: { id: name, source: { huggingFace: { repo: 'acme/lora' }, cache: { claimName: 'models' } } },
      engine: undefined,
      adapterOf: { deployment: 'qwen' },
    },
    { name, uid: `uid-${name}`, creationTimestamp: created },
  ),
  ...(isAdmitted && { status: ADMITTED }),
});

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

  it('are those that were admitted', () => {
    expect(namesOf(listServed(makeModel(), [sql, makeAdapter('law', { isAdmitted: false })]))).to.deep.equal([
      'sql',
    ]);
  });

  for (const [change, spec] of Object.entries({
    'another engine': { engine: { preset: 'sglang' } },
    'a custom engine': { engine: { preset: 'custom', image: 'engine:1' } },
    'an engine that is told to have none': { engine: { preset: 'vllm', args: ['--no_enable_lora'] } },
    'scaling to zero': { scaling: { min: 0, max: 2 } },
    'sleep while idle': { scaling: { min: 1, max: 2, idle: 'Sleep' } },
  }))
    it(`are none after a change of the base to ${change}`, () => {
      const base = makeModel(spec);
      expect(listServed(base, [sql])).to.deep.equal([]);
      expect(reasonsOf(sql, base, [sql])).to.deep.equal(['BaseNotSupported']);
    });

  it('are without one whose port the engine has', () => {
    const base = makeModel({ engine: { preset: 'vllm', port: adapterPort('sql') } });
    expect(listServed(base, [sql])).to.deep.equal([]);
    expect(reasonsOf(sql, base, [sql])).to.deep.equal(['PortTaken']);
  });

  it('have a port each: of two that were admitted at the same time, one', () => {
    const [one, other] = findClash().map((name) => makeAdapter(name));
    const served = listServed(makeModel(), [one!, other!]);
    expect(served).to.have.length(1);
    const [loser] = [one!, other!].filter((adapter) => !served.includes(adapter));
    expect(reasonsOf(loser!, makeModel(), [one!, other!])).to.deep.equal(['PortTaken']);
    expect(reasonsOf(served[0]!, makeModel(), [one!, other!])).to.deep.equal([]);
  });

  it('keep their port from one that comes later, even with an older object', () => {
    const [name, other] = findClash();
    const served = makeAdapter(name, { created: '2026-02-02T00:00:00Z' });
    const late = makeAdapter(other, { isAdmitted: false });
    expect(namesOf(listServed(makeModel(), [served, late]))).to.deep.equal([name]);
    expect(reasonsOf(late, makeModel(), [served, late])).to.deep.equal(['PortTaken']);
  });
});

describe('the index of adapters', () => {
  it('follows the base, and forgets what is gone', () => {
    const store = new ModelStore('example', () => true);
    const put = (object: ReturnType<typeof makeModel>) =>
      store.put(`team-a/${object.metadata.name}`, object as never);
    put(makeModel());
    expect(put(makeAdapter('sql'))).to.deep.equal(['team-a/qwen']);
    const base = () => makeModel();
    expect(namesOf(store.servedBy(base()))).to.deep.equal(['sql']);
    expect(store.remove('team-a/sql')).to.deep.equal(['team-a/qwen']);
    expect(store.listAdapters('team-a/qwen')).to.deep.equal([]);
    expect(store.servedBy(base())).to.deep.equal([]);
  });
});
