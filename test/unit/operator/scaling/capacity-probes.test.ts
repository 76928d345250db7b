import { expect } from 'chai';
import {
  CapacityProbes,
  describeCapacityNeed,
  type Placement,
} from '../../../../operator/scaling/capacity-probes.ts';
import { makeModel } from '../resources/fixtures.ts';

const NOW = 1_800_000_000_000;
const GPU = 'nvidia.com/gpu';

function place(key: string, change: Partial<Placement> = {}): Placement {
  const namespace = key.split('/')[0]!;
  return {
    key,
    namespace,
    need: GPU,
    placed: 0,
    pending: 0,
    refusedMs: 0,
    waitingSince: undefined,
    ...change,
  };
}
const waiting = (namespace: string, count: number) =>
  Array.from({ length: count }, (_, index) => place(`${namespace}/${index}`, { waitingSince: index }));

describe('probes for scarce capacity', () => {
  it('may be tried by all while no pod was refused', () => {
    const probes = new CapacityProbes();
    probes.update(waiting('a', 200), NOW);
    expect(probes.mayProbe('a/199', GPU)).to.equal(true);
  });

  it('is tried by eight at a time where GPUs are short, two of a workspace', () => {
    const probes = new CapacityProbes();
    const all = ['a', 'b', 'c', 'd', 'e'].flatMap((namespace) => waiting(namespace, 40));
    probes.update([...all, place('f/x', { refusedMs: 10_001 })], NOW);
    const admitted = all.filter(({ key }) => probes.mayProbe(key, GPU)).map(({ key }) => key);
    expect(admitted).to.deep.equal(['a/0', 'a/1', 'b/0', 'b/1', 'c/0', 'c/1', 'd/0', 'e/0']);
    expect(probes.mayProbe('a/199', 'amd.com/gpu'), 'of another kind').to.equal(true);
  });

  it('stays short until nobody is left who had to wait', () => {
    const probes = new CapacityProbes();
    probes.update(
      waiting('a', 20).map((placement) => ({ ...placement, refusedMs: 10_001 })),
      NOW,
    );
    probes.update(waiting('a', 12), NOW);
    expect(probes.mayProbe('a/11', GPU)).to.equal(false);
    probes.update(waiting('a', 8), NOW);
    expect(probes.mayProbe('a/11', GPU)).to.equal(true);
  });

  it('keeps a pod that waits for a node, and gives the turns that are free to who holds least', () => {
    const probes = new CapacityProbes();
    const refused = place('a/refused', { refusedMs: 10_001, placed: 1 });
    const early = ['a', 'b', 'c', 'd'].flatMap((namespace) => waiting(namespace, 3));
    const update = (placements: Placement[]) => {
      probes.update([refused, ...placements], NOW);
      return placements.map(({ key }) => key).filter((key) => probes.mayProbe(key, GPU));
    };
    const first = ['a/0', 'a/1', 'b/0', 'b/1', 'c/0', 'c/1', 'd/0', 'd/1'];
    expect(update(early)).to.deep.equal(first);
    expect(update([...waiting('e', 3), ...early])).to.deep.equal(first);
    // The first has a node, for which another workspace has its turn.
    const [found, ...rest] = early;
    const next = update([{ ...found!, placed: 1 }, ...rest, ...waiting('e', 3)]);
    expect(next).to.deep.equal([...first.slice(1), 'e/0']);
  });

  it('is tried by twice as many as found nodes, until some find none', () => {
    const probes = new CapacityProbes();
    const refused = place('z/refused', { refusedMs: 10_001 });
    let left = waiting('a', 80);
    /** The first so many of those that may probe find a node. */
    const update = (count: number): number => {
      const found = left.filter(({ key }) => probes.mayProbe(key, GPU)).slice(0, count);
      left = left.map((each) => (found.includes(each) ? { ...each, placed: 1 } : each));
      probes.update([refused, ...left], NOW);
      left = left.filter(({ placed }) => placed === 0);
      return left.filter(({ key }) => probes.mayProbe(key, GPU)).length;
    };
    expect(update(0), 'at first').to.equal(2);
    expect(update(2)).to.equal(4);
    expect(update(4)).to.equal(8);
    expect(update(8)).to.equal(16);
    expect(update(6), 'those that stay').to.equal(10);
    expect(update(9)).to.equal(16);
    expect(update(0)).to.equal(16);
  });

  it('leave turns to others where one workspace has more of them from better times', () => {
    const probes = new CapacityProbes();
    const refused = place('z/refused', { refusedMs: 10_001 });
    let greedy = waiting('a', 40);
    for (const count of [0, 2, 4, 8]) {
      const found = greedy.filter(({ key }) => probes.mayProbe(key, GPU)).slice(0, count);
      greedy = greedy.map((each) => (found.includes(each) ? { ...each, placed: 1 } : each));
      probes.update([refused, ...greedy], NOW);
      greedy = greedy.map((each) => (each.placed === 1 ? { ...each, waitingSince: undefined } : each));
    }
    const modest = waiting('b', 3);
    probes.update([refused, ...greedy, ...modest], NOW);
    const counts = [greedy, modest].map(
      (all) => all.filter(({ key, placed }) => placed === 0 && probes.mayProbe(key, GPU)).length,
    );
    expect(counts).to.deep.equal([16, 2]);
  });

  it('is not tried for another kind with the place of the first', () => {
    const probes = new CapacityProbes();
    const others = Array.from({ length: 8 }, (_, index) => place(`o${index}/x`, { waitingSince: 0 }));
    const refused = ['other', GPU].map((need) => place(`z/${need}`, { need, refusedMs: 10_001 }));
    const moved = place('a/moved', { need: 'other', waitingSince: 100 });
    probes.update([...refused, ...others, moved], NOW);
    expect(probes.mayProbe('a/moved', 'other')).to.equal(true);
    expect(probes.mayProbe('a/moved', GPU)).to.equal(false);
    probes.update([...refused, ...others, { ...moved, need: GPU }], NOW);
    expect(probes.mayProbe('a/moved', GPU)).to.equal(false);
  });

  it('is tried by others after five minutes where there is no pod at all', () => {
    const probes = new CapacityProbes();
    const refused = place('z/refused', { refusedMs: 10_001 });
    const without = Array.from({ length: 8 }, (_, index) => place(`o${index}/x`, { waitingSince: 0 }));
    // Its workspace holds much.
    const late = [place('b/late', { waitingSince: 1_000 }), place('b/old', { placed: 1 })];
    const tried = [0, 300, 302].map((second) => {
      probes.update([refused, ...without, ...late], NOW + second * 1_000);
      return probes.mayProbe('b/late', GPU);
    });
    expect(tried).to.deep.equal([false, false, true]);
  });

  describe('whose pods were refused', () => {
    const stuck = Array.from({ length: 8 }, (_, index) => `stuck-${index}`).flatMap((name) =>
      waiting(name, 1),
    );
    const late = place('z/late', { waitingSince: 1_000 });
    /** Others find so many nodes, the first of them after 15 s and the next ones every five, unless all at once. */
    const letWait = (seconds: number, found: number, everySeconds = 5): CapacityProbes => {
      const probes = new CapacityProbes();
      const others = Array.from({ length: 9 }, (_, index) => place(`other/${index}`));
      const update = (second: number) =>
        probes.update(
          [
            ...stuck.map((each) => ({ ...each, refusedMs: second * 1_000 })),
            ...others.map((each, index) => ({
              ...each,
              placed: second >= 15 + index * everySeconds && index < found ? 1 : 0,
            })),
            late,
          ],
          NOW + second * 1_000,
        );
      for (let second = 0; second <= seconds; second++) update(second);
      return probes;
    };

    it('stay in their place while nobody finds a node', () => {
      expect(letWait(299, 0).mayProbe('z/late', GPU)).to.equal(false);
    });

    it('let the next ones try where eight others found a node, over more than 30 s', () => {
      expect(letWait(60, 7).mayProbe('z/late', GPU)).to.equal(false);
      expect(letWait(49, 8).mayProbe('z/late', GPU)).to.equal(false);
      expect(letWait(50, 8).mayProbe('z/late', GPU)).to.equal(true);
    });

    it('stay where all of those found one at once: the scheduler had not come to theirs', () => {
      expect(letWait(200, 9, 0).mayProbe('z/late', GPU)).to.equal(false);
    });

    it('stay where others found nodes just before', () => {
      const probes = new CapacityProbes();
      const others = Array.from({ length: 8 }, (_, index) => place(`other/${index}`));
      probes.update([...stuck, ...others, late], NOW);
      const found = others.map((each) => ({ ...each, placed: 1 }));
      for (let second = 1; second < 60; second++) {
        const refused = stuck.map((each) => ({ ...each, refusedMs: second * 1_000 }));
        probes.update([...refused, ...found, late], NOW + second * 1_000);
      }
      expect(probes.mayProbe('z/late', GPU)).to.equal(false);
    });

    it('let the next ones try after five minutes in any case, for no pod of theirs may fit', () => {
      expect(letWait(312, 0).mayProbe('z/late', GPU)).to.equal(true);
    });
  });

  it('is another for pods that need more of a node, or other nodes', () => {
    const spec = (gpu: object, nodeSelector = {}) => makeModel({ gpu, template: { nodeSelector } }).spec;
    const needs = [spec({ count: 1 }), spec({ count: 8 }), spec({ count: 1 }, { pool: 'b' })].map(
      describeCapacityNeed,
    );
    expect(new Set(needs).size).to.equal(3);
    expect(describeCapacityNeed(spec({ count: 1 }))).to.equal(needs[0]);
  });
});
