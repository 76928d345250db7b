import { expect } from 'chai';
import { type Placement, Room } from '../../../../operator/scaling/room.ts';

const GPU = 'nvidia.com/gpu';

function place(key: string, change: Partial<Placement> = {}): Placement {
  const namespace = key.split('/')[0]!;
  return { key, namespace, resource: GPU, placed: 0, isRefused: false, waitingSince: undefined, ...change };
}
const waiting = (namespace: string, count: number) =>
  Array.from({ length: count }, (_, index) => place(`${namespace}/${index}`, { waitingSince: index }));

describe('room for pods', () => {
  it('may be tried by all while no pod was refused', () => {
    const room = new Room();
    room.update(waiting('a', 200));
    expect(room.mayProbe('a/199', GPU)).to.equal(true);
  });

  it('is tried by eight at a time where GPUs are short, fairly between workspaces', () => {
    const room = new Room();
    room.update([...waiting('a', 200), place('b/x', { waitingSince: 500, isRefused: true })]);
    const admitted = [...waiting('a', 200), place('b/x')].filter(({ key }) => room.mayProbe(key, GPU));
    expect(admitted.map(({ key }) => key)).to.deep.equal([
      ...Array.from({ length: 7 }, (_, index) => `a/${index}`),
      'b/x',
    ]);
    expect(room.mayProbe('a/199', 'amd.com/gpu'), 'of another kind').to.equal(true);
  });

  it('stays short until nobody is left who had to wait', () => {
    const room = new Room();
    room.update(waiting('a', 20).map((placement) => ({ ...placement, isRefused: true })));
    room.update(waiting('a', 12));
    expect(room.mayProbe('a/11', GPU)).to.equal(false);
    room.update(waiting('a', 8));
    expect(room.mayProbe('a/11', GPU)).to.equal(true);
  });
});
