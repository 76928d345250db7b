import { expect } from 'chai';
import type { HoldEnd, HoldLimits, Turn } from '../../../../../gateway/front/demand/hold-queue.ts';
import { type Hold, HoldQueues, type Replicas } from '../../../../../gateway/front/demand/hold-queues.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const NAME = { namespace: 'team', name: 'chat' };
const CONFIG = { name: 'chat', concurrency: 2 as number | null, paused: false, deleting: false };
const LIMITS: HoldLimits = { total: 1_000, perDeployment: 100, bytesPerDeployment: 10_000 };

describe('the line of requests that wait for a replica', () => {
  let clock: FakeClock;
  let found: Replicas | null;
  let share: number;
  let held: number;
  let callers = 0;
  beforeEach(() => {
    clock = new FakeClock();
    found = { config: CONFIG, addresses: [] };
    share = 1;
    held = 0;
    results.splice(0);
  });

  const build = (limits: Partial<HoldLimits> = {}) =>
    new HoldQueues({
      limits: { ...LIMITS, ...limits },
      find: async () => found,
      replicaDemand: {
        hold: () => {
          held++;
          return () => void held--;
        },
        shareOf: () => share,
      },
      clock,
    });
  const enter = (
    lines: HoldQueues,
    { namespace = 'team', name = 'chat', caller = `key-${callers++}`, bytes = 1, timeoutMs = 60_000 } = {},
  ) => lines.enter({ namespace, name }, { caller, bytes, timeoutMs });
  const results: { id: string; result: Turn | HoldEnd }[] = [];
  const wait = (hold: Hold, id: string) => void hold.wait().then((result) => results.push({ id, result }));
  const ids = () => results.map(({ id }) => id);
  const turnOf = (id: string) => results.findLast((each) => each.id === id)!.result as Turn;
  const start = (lines: HoldQueues, addresses: string[]) => {
    found = { config: CONFIG, addresses };
    lines.wake();
    return settle();
  };

  it('lets the oldest go when a replica is ready, only as many at a time as there are slots', async () => {
    const lines = build();
    const all = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, hold: enter(lines)! }));
    for (const { id, hold } of all) wait(hold, id);
    await settle();
    expect(ids()).to.deep.equal([]);
    expect(held).to.equal(5);
    await start(lines, ['10.0.0.1']);
    expect(ids()).to.deep.equal(['a', 'b']);
    expect(held).to.equal(3);
    turnOf('b').leave();
    turnOf('b').leave();
    await settle();
    expect(ids()).to.deep.equal(['a', 'b', 'c']);
    await start(lines, ['10.0.0.1', '10.0.0.2']);
    expect(ids()).to.deep.equal(['a', 'b', 'c', 'd', 'e']);
    expect(turnOf('d').addresses).to.deep.equal(['10.0.0.1', '10.0.0.2']);
  });

  it('lets all go where slots are unlimited, and its share of the slots where other fronts hold requests, too', async () => {
    const lines = build();
    const enterAll = () => ['a', 'b', 'c', 'd'].map((id) => wait(enter(lines)!, id));
    found = { config: { ...CONFIG, concurrency: 3 }, addresses: ['10.0.0.1'] };
    share = 0.5;
    enterAll();
    await settle();
    expect(ids()).to.deep.equal(['a']);
    found = { config: { ...CONFIG, concurrency: null }, addresses: ['10.0.0.1'] };
    lines.wake();
    await settle();
    expect(ids()).to.deep.equal(['a', 'b', 'c', 'd']);
  });

  it('ends a wait after its timeout, and a request’s place with it', async () => {
    const lines = build({ perDeployment: 1 });
    const hold = enter(lines, { timeoutMs: 5_000 })!;
    wait(hold, 'a');
    await clock.advance(4_999);
    expect(results).to.deep.equal([]);
    await clock.advance(1);
    expect(results).to.deep.equal([{ id: 'a', result: 'expired' }]);
    expect(enter(lines), 'until it ends').to.equal(null);
    hold.end();
    hold.end();
    expect(enter(lines)).not.to.equal(null);
    expect(held).to.equal(0);
  });

  it('keeps a request’s turn in the line when no replica had a place for it, and leaves them alone for a second', async () => {
    const lines = build();
    const holds = ['a', 'b', 'c'].map((id) => ({ id, hold: enter(lines)! }));
    for (const { id, hold } of holds) wait(hold, id);
    await start(lines, ['10.0.0.1']);
    expect(ids()).to.deep.equal(['a', 'b']);
    turnOf('a').leave({ isRefused: true });
    wait(holds[0]!.hold, 'a');
    lines.wake();
    await clock.advance(900);
    expect(ids()).to.deep.equal(['a', 'b']);
    await clock.advance(100);
    expect(ids(), 'it is older than c').to.deep.equal(['a', 'b', 'a']);
  });

  it('is bounded in requests and bytes of a deployment', () => {
    const lines = build({ perDeployment: 3, bytesPerDeployment: 100 });
    expect(enter(lines, { bytes: 60 })).not.to.equal(null);
    expect(enter(lines, { bytes: 41 })).to.equal(null);
    const last = enter(lines, { bytes: 40 })!;
    expect(enter(lines)).to.equal(null);
    expect(enter(lines, { name: 'other', bytes: 100 })).not.to.equal(null);
    last.end();
    expect(enter(lines)).not.to.equal(null);
  });

  it('leaves half of its places and bytes to other callers, and takes a single request of any size', () => {
    const lines = build({ perDeployment: 4, bytesPerDeployment: 100 });
    const first = enter(lines, { caller: 'a' })!;
    expect(enter(lines, { caller: 'a' })).not.to.equal(null);
    expect(enter(lines, { caller: 'a' })).to.equal(null);
    first.end();
    expect(enter(lines, { caller: 'a' })).not.to.equal(null);
    expect(enter(lines, { caller: 'b', bytes: 60 })).not.to.equal(null);
    expect(enter(lines, { caller: 'b' }), 'bytes').to.equal(null);
    expect(enter(lines, { caller: 'c' })).not.to.equal(null);
    expect(enter(lines, { caller: 'd' }), 'all').to.equal(null);
  });

  it('is managed for one deployment, too', async () => {
    const lines = build();
    wait(enter(lines)!, 'a');
    wait(enter(lines, { name: 'other' })!, 'b');
    await settle();
    found = null;
    lines.wake({ namespace: 'team', name: 'other' });
    await settle();
    expect(results).to.deep.equal([{ id: 'b', result: 'gone' }]);
  });

  it('is bounded in requests of all, and no workspace takes all of them', () => {
    const lines = build({ total: 9 });
    const fill = (namespace: string) => {
      let count = 0;
      while (enter(lines, { namespace, name: `chat-${count}` })) count++;
      return count;
    };
    expect(fill('greedy')).to.equal(6);
    expect(fill('other')).to.equal(2);
  });

  for (const [what, obstacle] of [
    ['does not start until someone acts', 'Failed'],
    ['waits for quota, which may take hours', 'WaitingForQuota'],
  ] as const)
    it(`ends all waits of a deployment that ${what}`, async () => {
      const lines = build();
      wait(enter(lines)!, 'a');
      await settle();
      found = { config: { ...CONFIG, obstacle }, addresses: [] };
      lines.wake();
      await settle();
      expect(results.map(({ result }) => result)).to.deep.equal(['gone']);
    });

  it('ends all waits of a deployment that is paused or gone, and all of them at the end', async () => {
    const lines = build();
    wait(enter(lines)!, 'a');
    wait(enter(lines, { name: 'other' })!, 'b');
    await settle();
    found = { config: { ...CONFIG, paused: true }, addresses: ['10.0.0.1'] };
    lines.wake();
    await settle();
    expect(results.map(({ result }) => result)).to.deep.equal(['gone', 'gone']);
    found = { config: CONFIG, addresses: [] };
    const hold = enter(lines)!;
    wait(hold, 'c');
    await settle();
    lines.close();
    await settle();
    expect(results.at(-1)).to.deep.equal({ id: 'c', result: 'closing' });
    expect(enter(lines)).to.equal(null);
  });

  it('forgets who leaves, and knows who has to come after others', async () => {
    const lines = build();
    const hold = enter(lines)!;
    expect(lines.hasWaiting(NAME)).to.equal(false);
    wait(hold, 'a');
    await settle();
    expect(lines.hasWaiting(NAME)).to.equal(true);
    hold.end();
    await settle();
    expect(results).to.deep.equal([{ id: 'a', result: 'left' }]);
    expect(lines.hasWaiting(NAME)).to.equal(false);
    await start(lines, ['10.0.0.1']);
    expect(ids()).to.deep.equal(['a']);
  });

  it('waits on while it is not known where replicas are', async () => {
    let isAway = true;
    const lines = new HoldQueues({
      limits: LIMITS,
      find: async () => {
        if (isAway) throw new Error('Redis is away');
        return found;
      },
      replicaDemand: { hold: () => () => {}, shareOf: () => 1 },
      clock,
    });
    wait(enter(lines)!, 'a');
    await settle();
    isAway = false;
    await start(lines, ['10.0.0.1']);
    expect(ids()).to.deep.equal(['a']);
  });
});
