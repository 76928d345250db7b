import { expect } from 'chai';
import { ScalingHistory } from '../../../../operator/scaling/history.ts';
import type { ScalingSample } from '../../../../operator/scaling/scaled-deployments.ts';
import type { ScalingEntry } from '../../../../redis/demand/scaling-history.ts';

const START = 1_800_000_000_000;

describe('the history of scaling', () => {
  let time: number;
  let written: ScalingEntry[];
  let failure: string | null;
  let history: ScalingHistory;

  beforeEach(() => {
    [time, written, failure] = [START, [], null];
    history = new ScalingHistory({
      append: async (entries) => {
        if (failure !== null) throw new Error(failure);
        written.push(...entries);
      },
      now: () => time,
    });
  });

  const sample = (fields: Partial<ScalingSample> = {}): ScalingSample => ({
    ...{ namespace: 'team', name: 'chat', wanted: 1, ready: 1, demand: 0, held: 0, ageMs: 0 },
    ...fields,
  });
  const look = async (seconds: number, ...samples: ScalingSample[]) => {
    time += seconds * 1_000;
    history.observe(samples);
    await history.flush();
  };
  const points = () =>
    written.map(({ point: { at, demand, wanted, ready } }) => [(at - START) / 1_000, demand, wanted, ready]);

  it('has a point a minute while only the demand changes, and none while nothing does', async () => {
    for (let i = 0; i < 120; i++) await look(2, sample({ demand: i }));
    expect(points().map(([seconds]) => seconds)).to.deep.equal([2, 62, 122, 182]);
    written = [];
    for (let i = 0; i < 120; i++) await look(2, sample({ demand: 119 }));
    expect(points()).to.have.length(1);
  });

  it('goes on once an hour while nothing changes, so that it does not expire', async () => {
    await look(0, sample());
    await look(3_599, sample());
    await look(1, sample());
    expect(points().map(([seconds]) => seconds)).to.deep.equal([0, 3_600]);
  });

  it('shows other replicas at once, every ten seconds at most', async () => {
    await look(0, sample({ ready: 0 }));
    for (let i = 0; i < 10; i++) await look(2, sample({ ready: i % 2 }));
    expect(points().map(([seconds]) => seconds)).to.deep.equal([0, 12]);
  });

  it('has each change with its reason when it was written', async () => {
    await look(0, sample({ demand: 7 }));
    time += 1_000;
    history.note('team/chat', { from: 1, to: 3, reason: 'demand 7 needs 3 replicas', cause: 'demand' });
    await look(1, sample({ demand: 7, wanted: 3 }));
    expect(points()).to.deep.equal([
      [0, 7, 1, 1],
      [1, 7, 3, 1],
    ]);
    expect(written[1]!.point.change).to.deep.equal({ from: 1, reason: 'demand 7 needs 3 replicas' });
  });

  it('begins nothing for one that rests, and ends that of one that is scaled no more', async () => {
    await look(0, sample({ wanted: 0, ready: 0 }), sample({ name: 'busy' }));
    await look(2);
    expect(written.map(({ name, isContinuation = false }) => [name, isContinuation])).to.deep.equal([
      ['chat', true],
      ['busy', false],
      ['chat', true],
      ['busy', true],
    ]);
    expect(points().at(-1)).to.deep.equal([2, 0, 0, 0]);
  });

  it('keeps what could not be written, in its order, and no more than some', async () => {
    failure = 'Command timed out';
    const names = Array.from({ length: 6_000 }, (_, i) => `m${i}`);
    history.observe(names.map((name) => sample({ name })));
    await history.flush().catch(() => {});
    failure = null;
    for (let i = 0; i < 20; i++) await history.flush();
    expect(written).to.have.length(5_000);
    expect([written[0]!.name, written.at(-1)!.name]).to.deep.equal(['m1000', 'm5999']);
  });

  it('does not repeat what Redis refused, with the rest of its batch', async () => {
    failure = 'WRONGTYPE Operation against a key holding the wrong kind of value';
    history.observe([sample({ demand: 1 })]);
    await history.flush().catch(() => {});
    failure = null;
    await look(60, sample({ demand: 2 }));
    expect(points()).to.deep.equal([[60, 2, 1, 1]]);
  });
});
