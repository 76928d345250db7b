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
  return { key, namespace, need: GPU, placed: 0, refusedMs: 0, waitingSince: undefined, ...change };
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

  describe('whose pods were refused', () => {
    const stuck = Array.from({ length: 8 }, (_, index) => `stuck-${index}`).flatMap((name) =>
      waiting(name, 1),
    );
    const late = place('z/late', { waitingSince: 1_000 });
    /** Others that find so many nodes after 15 s. */
    const letWait = (seconds: number, found: number): CapacityProbes => {
      const probes = new CapacityProbes();
      const others = Array.from({ length: 9 }, (_, index) => place(`other/${index}`));
      const update = (second: number) =>
        probes.update(
          [
            ...stuck.map((each) => ({ ...each, refusedMs: second * 1_000 })),
            ...others.map((each, index) => ({ ...each, placed: second > 15 && index < found ? 1 : 0 })),
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

    it('let the next ones try after 30 s where eight others found a node meanwhile', () => {
      expect(letWait(31, 7).mayProbe('z/late', GPU)).to.equal(false);
      expect(letWait(30, 8).mayProbe('z/late', GPU)).to.equal(false);
      expect(letWait(31, 8).mayProbe('z/late', GPU)).to.equal(true);
    });

    it('let the next ones try after five minutes in any case, for no pod of theirs may fit', () => {
      expect(letWait(301, 0).mayProbe('z/late', GPU)).to.equal(true);
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
