import { expect } from 'chai';
import {
  decideRollout,
  type RolloutPod,
  type RolloutSpec,
  resolveCount,
} from '../../../launch/local-node/rollout.ts';

const pod = (name: string, isUpdated: boolean, isReady: boolean, createdAt = 0): RolloutPod => ({
  name,
  isUpdated,
  isReady,
  createdAt,
});
const spec = (more: Partial<RolloutSpec> = {}): RolloutSpec => ({
  replicas: 2,
  maxSurge: 1,
  maxUnavailable: 0,
  isRecreated: false,
  isPaused: false,
  ...more,
});

describe('a rollout of the local node', () => {
  const cases: [what: string, pods: RolloutPod[], spec: RolloutSpec, create: number, remove: string[]][] = [
    ['makes the pods that are missing', [pod('a', true, true)], spec(), 1, []],
    [
      'takes those that are not ready, then the youngest, where there are too many',
      [pod('a', true, true, 1), pod('b', true, true, 2), pod('c', true, false, 0)],
      spec({ replicas: 1 }),
      0,
      ['c', 'b'],
    ],
    ['begins with one beside the old ones', [pod('a', false, true), pod('b', false, true)], spec(), 1, []],
    [
      'takes no old one before the new one is ready',
      [pod('a', false, true), pod('b', false, true), pod('c', true, false)],
      spec(),
      0,
      [],
    ],
    [
      'takes an old one for a new one that is ready',
      [pod('a', false, true, 1), pod('b', false, true, 2), pod('c', true, true, 3)],
      spec(),
      0,
      ['a'],
    ],
    [
      'takes an old one first where there is no room for one more',
      [pod('a', false, true)],
      spec({ replicas: 1, maxSurge: 0, maxUnavailable: 1 }),
      0,
      ['a'],
    ],
    [
      'takes old ones that never became ready at once',
      [pod('a', false, false), pod('b', false, true)],
      spec({ replicas: 1 }),
      0,
      ['a'],
    ],
    [
      'takes all old ones first where they may not run beside the new ones',
      [pod('a', false, true)],
      spec({ isRecreated: true }),
      0,
      ['a'],
    ],
    [
      'takes the one with the lowest deletion cost first',
      [{ ...pod('a', true, true), cost: -1000 }, pod('b', true, true)],
      spec({ replicas: 1 }),
      0,
      ['a'],
    ],
    [
      'takes all where none is wanted',
      [pod('a', true, true), pod('b', false, true)],
      spec({ replicas: 0 }),
      0,
      ['a', 'b'],
    ],
    ['changes no template while it is paused', [pod('a', false, true)], spec({ isPaused: true }), 1, []],
  ];
  for (const [what, pods, wanted, create, remove] of cases)
    it(what, () => {
      expect(decideRollout(pods, wanted)).to.deep.equal({ create, remove });
    });

  it('reads counts and percentages', () => {
    expect(resolveCount('25%', 5, Math.ceil)).to.equal(2);
    expect(resolveCount('25%', 5, Math.floor)).to.equal(1);
    expect(resolveCount(3, 5, Math.floor)).to.equal(3);
  });
});
