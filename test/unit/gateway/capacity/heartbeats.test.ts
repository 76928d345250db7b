import { expect } from 'chai';
import type { Heartbeat } from '../../../../api/redis-keys.ts';
import { Heartbeats } from '../../../../gateway/capacity/heartbeats.ts';
import { rankPeers } from '../../../../gateway/capacity/peers.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { describeReplica } from '../../../support/heartbeat.ts';

const beat = (fields: Partial<Heartbeat>): Heartbeat => ({
  ...describeReplica({ pod: 'own', limit: 4 }),
  at: 100_000,
  ...fields,
});

describe('heartbeats', () => {
  let heartbeats: Heartbeats | undefined;
  let clock: FakeClock;
  afterEach(() => heartbeats?.close());

  let own: Partial<Heartbeat> = {};
  beforeEach(() => {
    own = {};
    clock = new FakeClock();
  });
  const start = (
    send: (own: Omit<Heartbeat, 'at'>) => Promise<Heartbeat[]>,
    onError = () => {},
    eagerMs?: number,
  ) => {
    const hear = async (own: Omit<Heartbeat, 'at'>) => ({ edition: '1', beats: await send(own) });
    heartbeats = new Heartbeats({ describe: () => beat(own), send: hear, onError, eagerMs, clock });
    return heartbeats;
  };

  it('are sent at once, and pokes within 50 ms become one', async () => {
    const sentAt: number[] = [];
    const { poke } = bind(
      start(async (own) => {
        sentAt.push(clock.now());
        return [beat(own)];
      }),
    );
    await clock.advance(0);
    for (let i = 0; i < 100; i++) poke();
    await clock.advance(500);
    expect(sentAt).to.deep.equal([0, 50]);
  });

  it('go on by themselves every second while something runs, and say so', async () => {
    own = { inflight: 1 };
    const said: number[] = [];
    start(async (sent) => {
      said.push(sent.every);
      return [{ ...sent, at: 100_000 }];
    });
    await clock.advance(2_000);
    expect(said).to.deep.equal([1_000, 1_000, 1_000]);
  });

  it('are looked at once a second while busy, with those that peers have just sent, and not while Redis is away', async () => {
    const seen: string[][] = [];
    const peers = [beat({ pod: 'peer' }), beat({ pod: 'quiet', every: 8_000, at: 96_000 })];
    let isAway = false;
    heartbeats = new Heartbeats({
      describe: () => beat({ inflight: 1 }),
      send: async () => {
        if (isAway) throw new Error('away');
        return { edition: '1', beats: [beat({}), ...peers] };
      },
      onSecond: (mine, recent) => seen.push([mine.pod, ...recent.map(({ pod }) => pod)]),
      onError: () => {},
      clock,
    });
    await clock.advance(3_100);
    expect(seen).to.deep.equal(Array(3).fill(['own', 'peer']));
    isAway = true;
    await clock.advance(5_000);
    expect(seen).to.have.length(3);
    expect(heartbeats.peers).to.have.length(2);
  });

  it('are not eager for the sake of requests, which peers do not get alike', async () => {
    const sent: number[] = [];
    const send = async (mine: Omit<Heartbeat, 'at'>) => {
      sent.push(mine.inflight);
      return [];
    };
    start(send, undefined, 10_000);
    await clock.advance(20_000);
    sent.length = 0;
    own = { inflight: 1 };
    await clock.advance(1_000);
    own = {};
    await clock.advance(8_000);
    expect(sent.length, 'while idle again').to.be.at.most(3);
  });

  it('are said seldom while nothing happens, and within a second once something does', async () => {
    const sent: { at: number; every: number; inflight: number }[] = [];
    start(async (word) => {
      sent.push({ at: clock.now(), every: word.every, inflight: word.inflight });
      return [{ ...word, at: 100_000 }];
    });
    await clock.advance(8_500);
    own = { inflight: 1 };
    await clock.advance(1_000);
    expect(sent).to.deep.equal([
      { at: 0, every: 8_000, inflight: 0 },
      { at: 8_000, every: 8_000, inflight: 0 },
      { at: 9_000, every: 1_000, inflight: 1 },
    ]);
  });

  it('look every second for peers that change alike, for some time after a change', async () => {
    let sent = 0;
    const count = async (word: Omit<Heartbeat, 'at'>) => {
      sent++;
      return [{ ...word, at: 100_000 }];
    };
    start(count, undefined, 3_000);
    await clock.advance(8_000);
    expect(sent).to.equal(3);
    own = { adapter: 'sql-two' };
    await clock.advance(4_000);
    expect(sent).to.be.within(6, 7);
  });

  it('go on by themselves, also after a failure', async () => {
    let sent = 0;
    let failures = 0;
    start(
      async (own) => {
        if (++sent === 1) throw new Error('away');
        return [beat(own)];
      },
      () => failures++,
    );
    await clock.advance(1_000);
    expect(sent).to.equal(2);
    expect(failures).to.equal(1);
  });

  it('list the live peers: not this replica, not one that missed eight, not another schema', async () => {
    const running = start(async () => [
      beat({}),
      beat({ pod: 'fresh', at: 93_000 }),
      beat({ pod: 'stale', at: 91_000 }),
      beat({ pod: 'idle', every: 6_000, at: 83_000 }),
      beat({ pod: 'lost', every: 6_000, at: 81_000 }),
      beat({ pod: 'newer', v: 2 as 1 }),
    ]);
    await clock.advance(0);
    expect(running.peers.map(({ pod }) => pod)).to.deep.equal(['fresh', 'idle']);
  });

  it('keep the peers that they have heard while nothing changes, and say what they have heard', async () => {
    const heard: string[] = [];
    heartbeats = new Heartbeats({
      describe: () => beat(own),
      send: async (_, edition) => {
        heard.push(edition);
        return { edition: '7', beats: edition === '7' ? null : [beat({}), beat({ pod: 'peer' })] };
      },
      onError: () => {},
      clock,
    });
    await clock.advance(8_000);
    expect(heard).to.deep.equal(['', '7']);
    expect(heartbeats.peers.map(({ pod }) => pod)).to.deep.equal(['peer']);
  });

  it('keep the last peers while Redis is away', async () => {
    let sent = 0;
    const running = start(async () => {
      if (++sent > 1) throw new Error('away');
      return [beat({}), beat({ pod: 'peer' })];
    });
    await clock.advance(0);
    running.poke();
    await clock.advance(50);
    expect(sent).to.equal(2);
    expect(running.peers).to.have.length(1);
  });
});

describe('the order of peers', () => {
  it('is by their share of taken places; draining and unready ones are left out', () => {
    const ranked = rankPeers([
      beat({ pod: 'full', inflight: 4 }),
      beat({ pod: 'half', inflight: 2 }),
      beat({ pod: 'unlimited', limit: null, inflight: 50 }),
      beat({ pod: 'wide', limit: 100, inflight: 10 }),
      beat({ pod: 'draining', draining: true }),
      beat({ pod: 'starting', ready: false }),
    ]);
    expect(ranked.map(({ pod }) => pod)).to.deep.equal(['unlimited', 'wide', 'half', 'full']);
  });
});

const bind = (heartbeats: Heartbeats) => ({ poke: () => heartbeats.poke() });
