import { expect } from 'chai';
import type { RedisClient } from '../../../redis/client.ts';
import { readLoad } from '../../../redis/console/console-reads.ts';
import { describeReplica } from '../../support/heartbeat.ts';

const AT = 1_790_000_000_000;
const SHARE = { v: 1, front: 'f', boot: 'b', held: 2, heldMs: 0, refused: 0, wantedAt: 0, every: 1_000 };

/** The load by these reports. */
function read(beats: Parameters<typeof describeReplica>[0][], shares: object[] = []) {
  const write = (report: object) => JSON.stringify({ ...report, at: AT });
  const sample = [beats.map((beat) => write(describeReplica(beat))), shares.map(write), 0, 0, ''];
  const redis = { fcall: async () => [String(AT), sample] } as unknown as RedisClient;
  return readLoad(redis, { namespace: 'team', deployment: 'chat', replicas: beats.length });
}

describe('the load of a deployment', () => {
  it('is the sum of what replicas and fronts report', async () => {
    const beats = [
      { inflight: 4, waiting: 3, cacheUse: 97, queued: 1, limit: 8 },
      { inflight: 2, waiting: 0, cacheUse: 12, limit: 8 },
    ];
    expect(await read(beats, [SHARE])).to.deep.equal({
      ...{ inflight: 6, slots: 16, queued: 3, waiting: 3, cacheUse: 97 },
    });
  });

  it('has slots of replicas that are ready, or still busy', async () => {
    const beats = [{ limit: 8 }, { limit: 8, ready: false }, { inflight: 1, limit: 4, draining: true }];
    expect(await read(beats)).to.include({ inflight: 1, slots: 12 });
  });

  it('has no limit where a replica has none, and no figure of engines that report none', async () => {
    expect(await read([{ inflight: 1, limit: null }])).to.deep.equal({
      ...{ inflight: 1, slots: null, queued: 0, waiting: null, cacheUse: null },
    });
  });

  it('leaves out a report that no gateway writes', async () => {
    const wrong = { inflight: -9, limit: 1 };
    expect(await read([wrong, { inflight: 1, limit: 1 }])).to.include({ inflight: 1, queued: 0 });
  });

  it('leaves out a figure that is only shown, and not the replica', async () => {
    const wrong = { inflight: 9, limit: 9, queued: -1, cacheUse: 0.5 };
    expect(await read([wrong])).to.include({ inflight: 9, slots: 9, queued: 0, cacheUse: null });
  });
});
