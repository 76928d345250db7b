import { expect } from 'chai';
import type { FrontShare } from '../../../../../api/redis-keys.ts';
import { ReplicaDemand } from '../../../../../gateway/front/demand/replica-demand.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const CHAT = { namespace: 'team', name: 'chat' };

describe('the replicas that a front demands', () => {
  let clock: FakeClock;
  let said: Omit<FrontShare, 'at'>[];
  let woken: number[];
  let lapsed: string[];
  let isServed: boolean;
  let heldByOthers: number;
  let isAway: boolean;
  let demand: ReplicaDemand;
  beforeEach(() => {
    clock = new FakeClock();
    said = [];
    woken = [];
    lapsed = [];
    isServed = false;
    heldByOthers = 0;
    isAway = false;
    demand = new ReplicaDemand({
      front: 'front-a',
      publish: async (_, share) => {
        if (isAway) throw new Error('away');
        said.push(share);
        return heldByOthers;
      },
      wake: async () => woken.push(clock.now()),
      isServed: async () => isServed,
      onExpire: ({ name }) => lapsed.push(name),
      onError: () => {},
      clock,
    });
  });
  afterEach(() => demand.close());
  const brief = () => said.map(({ held, heldMs, refused }) => ({ held, heldMs, refused }));

  it('is told at the first request and each second from then on, for longer than any Retry-After', async () => {
    await clock.advance(500);
    demand.refuse(CHAT);
    await clock.advance(0);
    expect(woken).to.deep.equal([500]);
    expect(brief()).to.deep.equal([{ held: 0, heldMs: 0, refused: 1 }]);
    await clock.advance(3_000);
    expect(woken).to.deep.equal([500, 1_500, 2_500, 3_500]);
    expect(said, 'nothing new to write').to.have.length(1);
    await clock.advance(57_500);
    expect(said, 'it stays readable').to.have.length(3);
    await clock.advance(300_000);
    expect(woken.at(-1)).to.equal(89_500);
    expect(lapsed).to.deep.equal(['chat']);
  });

  it('is told once a second at most, however many ask', async () => {
    for (let i = 0; i < 50; i++) {
      demand.refuse(CHAT);
      await clock.advance(40);
    }
    expect(woken.length).to.be.within(2, 4);
    expect(said.length).to.be.within(2, 4);
    await clock.advance(1_000);
    expect(brief().at(-1)).to.deep.equal({ held: 0, heldMs: 0, refused: 50 });
  });

  it('ends when a replica is there', async () => {
    demand.ask(CHAT);
    await clock.advance(1_000);
    isServed = true;
    await clock.advance(10_000);
    expect(woken).to.deep.equal([0, 1_000]);
    expect(lapsed).to.deep.equal([]);
    demand.ask(CHAT);
    expect(woken).to.have.length(3);
  });

  it('is told at once when one is wanted again, right after another was served', async () => {
    const leave = demand.hold(CHAT);
    await clock.advance(1_000);
    isServed = true;
    leave();
    await clock.advance(1_000);
    isServed = false;
    await clock.advance(10);
    const { length } = woken;
    demand.ask(CHAT);
    expect(woken.slice(length)).to.deep.equal([2_010]);
  });

  it('lasts as long as a request waits, whose time is counted exactly', async () => {
    const leave = demand.hold(CHAT);
    await clock.advance(200);
    const leaveToo = demand.hold(CHAT);
    await clock.advance(90_000);
    expect(woken.at(-1)).to.equal(90_000);
    leave();
    leaveToo();
    await clock.advance(2_000);
    expect(brief().at(-1)).to.deep.equal({ held: 0, heldMs: 200 + 2 * 90_000, refused: 0 });
    expect(said.at(-1)!.every).to.be.greaterThan(1_000);
    const count = said.length;
    await clock.advance(60_000);
    expect(said).to.have.length(count);
  });

  it('is written again after an outage, with nothing lost', async () => {
    isAway = true;
    demand.refuse(CHAT);
    await clock.advance(2_500);
    expect(said).to.deep.equal([]);
    isAway = false;
    await clock.advance(1_000);
    expect(brief()).to.deep.equal([{ held: 0, heldMs: 0, refused: 1 }]);
  });

  it('says at the end that it holds nothing any more', async () => {
    const leave = demand.hold(CHAT);
    await clock.advance(1_000);
    expect(said.at(-1)!.held).to.equal(1);
    leave();
    demand.close();
    expect(said.at(-1)!.held).to.equal(0);
    expect(clock.pending).to.equal(0);
  });

  it('has a share of the slots, as far as other fronts hold requests', async () => {
    heldByOthers = 3;
    demand.hold(CHAT);
    await clock.advance(1_000);
    expect(demand.shareOf(CHAT)).to.equal(0.25);
    heldByOthers = 0;
    await clock.advance(1_000);
    expect(demand.shareOf(CHAT)).to.equal(1);
  });

  it('restarts under another name after a long time, and has no timer until then', async () => {
    demand.refuse(CHAT);
    await clock.advance(1_000_000);
    expect(clock.pending).to.equal(0);
    demand.refuse(CHAT);
    await clock.advance(0);
    expect(said.at(-1)!.refused).to.equal(1);
    expect(said.at(-1)!.boot).not.to.equal(said[0]!.boot);
  });
});
