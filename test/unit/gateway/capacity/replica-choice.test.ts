import { expect } from 'chai';
import { MovingAverage } from '../../../../gateway/capacity/moving-average.ts';
import { mixBits } from '../../../../gateway/capacity/prefix-hash.ts';
import {
  type Choosable,
  chooseReplica,
  computeBounds,
  MAX_LOAD_OVER_MEAN,
} from '../../../../gateway/capacity/replica-choice.ts';

interface Replica extends Choosable {
  name: string;
}

const replica = (name: string, more: Partial<Choosable> = {}): Replica => ({
  name,
  seed: mixBits([...name].reduce((sum, character) => sum * 31 + character.charCodeAt(0), 7)),
  inflight: 0,
  average: 0,
  limit: null,
  isOwn: false,
  ...more,
});
const fleet = (count: number, more: Partial<Choosable> = {}) =>
  Array.from({ length: count }, (_, index) => replica(`pod-${index}`, more));
const REQUEST_INTERVAL_MS = 50;
const PREFIXES = Array.from({ length: 2_000 }, (_, index) => mixBits(index + 1));

/** Keeps `concurrency` requests in flight; returns the highest average load of a replica over the mean. */
function play(replicas: Replica[], prefixes: readonly number[], concurrency: number) {
  const running: Replica[] = [];
  const sums = new Map<Replica, number>();
  const averages = new Map(replicas.map((each) => [each, new MovingAverage()]));
  for (const [index, prefix] of prefixes.entries()) {
    if (running.length === concurrency) running.shift()!.inflight--;
    const chosen = chooseReplica(prefix, replicas)!;
    chosen.inflight++;
    running.push(chosen);
    for (const each of replicas) {
      each.average = averages.get(each)!.add(each.inflight, index * REQUEST_INTERVAL_MS);
      // After the averages have settled.
      if (index > prefixes.length / 4) sums.set(each, (sums.get(each) ?? 0) + each.inflight);
    }
  }
  const total = [...sums.values()].reduce((sum, one) => sum + one, 0);
  return Math.max(...sums.values()) / (total / replicas.length);
}

describe('the choice of a replica by prefix', () => {
  it('is the same whatever the order of the replicas, and spreads prefixes over all of them', () => {
    const replicas = fleet(4);
    const counts = new Map<string, number>();
    for (const prefix of PREFIXES) {
      const { name } = chooseReplica(prefix, replicas)!;
      expect(chooseReplica(prefix, replicas.toReversed())!.name).to.equal(name);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    expect(counts).to.have.property('size', 4);
    for (const count of counts.values()) expect(count).to.be.within(400, 600);
  });

  it('moves the prefixes of a replica that leaves, and no others', () => {
    const before = fleet(5);
    const after = before.slice(0, 4);
    for (const prefix of PREFIXES) {
      const { name } = chooseReplica(prefix, before)!;
      if (name !== 'pod-4') expect(chooseReplica(prefix, after)!.name).to.equal(name);
    }
  });

  for (const { what, prefixes } of [
    { what: 'all prefixes differ', prefixes: PREFIXES },
    { what: 'all requests have one prefix', prefixes: PREFIXES.map(() => 7) },
    {
      what: 'nine of ten have one prefix',
      prefixes: PREFIXES.map((prefix, index) => (index % 10 ? 7 : prefix)),
    },
    { what: 'three prefixes take turns', prefixes: PREFIXES.map((_, index) => mixBits(index % 3)) },
  ])
    for (const replicas of [2, 4, 16])
      it(`keeps all of ${replicas} replicas within their share of the load while ${what}`, () => {
        for (const perReplica of [4, 8, 33])
          expect(play(fleet(replicas), prefixes, perReplica * replicas)).to.be.most(MAX_LOAD_OVER_MEAN);
      });

  it('lets two requests at once be nobody’s overload', () => {
    const loads = (inflight: number) => fleet(8, { inflight, average: inflight });
    expect(computeBounds(loads(0)).share).to.equal(2);
    expect(computeBounds(loads(4)).share).to.equal(5);
  });

  it('lets a replica have more for a moment, as long as it has not had more than others on average', () => {
    const replicas = fleet(4, { inflight: 4, average: 4 });
    const first = chooseReplica(42, replicas)!;
    first.inflight = 8;
    expect(chooseReplica(42, replicas)).to.equal(first);
    first.average = 5.5;
    expect(chooseReplica(42, replicas)).not.to.equal(first);
    Object.assign(first, { inflight: 20, average: 4 });
    expect(chooseReplica(42, replicas)).not.to.equal(first);
  });

  it('goes to the next replica in the order of the prefix while the first has its share or is full', () => {
    const replicas = fleet(3);
    const first = chooseReplica(42, replicas)!;
    Object.assign(first, { inflight: 9, average: 9 });
    const second = chooseReplica(42, replicas)!;
    expect(second).not.to.equal(first);
    Object.assign(first, { inflight: 1, average: 0, limit: 1 });
    expect(chooseReplica(42, replicas)).to.equal(second);
    first.inflight = 0;
    expect(chooseReplica(42, replicas)).to.equal(first);
  });

  it('takes the least loaded one where all others are full, and none where all are', () => {
    const replicas = fleet(3, { inflight: 4, limit: 4 });
    expect(chooseReplica(42, replicas)).to.equal(null);
    expect(chooseReplica(42, [])).to.equal(null);
    replicas[1]!.inflight = 3;
    expect(chooseReplica(42, replicas)).to.equal(replicas[1]);
  });
});
