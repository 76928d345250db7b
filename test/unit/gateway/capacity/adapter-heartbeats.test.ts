import { expect } from 'chai';
import type { Heartbeat } from '../../../../api/redis-keys.ts';
import { type AdapterSide, type ReplicaOptions, startReplica } from '../../../../gateway/capacity/replica.ts';
import { Slots } from '../../../../gateway/capacity/replica-capacity.ts';
import { SlotLine } from '../../../../gateway/capacity/slot-queue.ts';
import { Pools } from '../../../../gateway/upstream/pools.ts';
import { describeModel } from '../../../support/model-replica.ts';

describe('the heartbeats of an adapter', () => {
  const slots = new Slots(() => 1);
  const start = (adapter?: AdapterSide) => {
    const sent: Partial<Heartbeat>[] = [];
    const options = {
      config: () => describeModel(),
      engine: {
        url: 'http://127.0.0.1:1',
        isReady: () => true,
        suspect: () => {},
        readMetrics: null,
        sleep: { isAwake: true, isAsleep: false },
      },
      slots,
      isDraining: () => false,
      tokens: { peer: 'token', hop: null },
      self: { pod: 'chat-1', address: '127.0.0.1', port: 1 },
      peerPools: new Pools({ onResend: () => {} }),
      heartbeat: {
        send: async (own: Omit<Heartbeat, 'at'>) => {
          sent.push(own);
          return { edition: String(sent.length), beats: null };
        },
        countAbandoned: () => 0,
        onError: () => {},
      },
      adapter,
      tracer: null,
    };
    return { replica: startReplica(options as unknown as ReplicaOptions), sent };
  };
  const side: AdapterSide = {
    line: new SlotLine(),
    loadOf: () => undefined,
    isAlike: () => true,
    describe: () => ({ adapter: 'sql-one', inflight: 0 }),
    onPeers: () => {},
  };

  it('are not sent for the work of its base, whose load they do not repeat', async () => {
    const [base, own] = [start(), start(side)];
    for (let round = 0; round < 5; round++) {
      const release = slots.take()!;
      await new Promise((resolve) => setTimeout(resolve, 120));
      release();
      await new Promise((resolve) => setTimeout(resolve, 120));
    }
    await new Promise((resolve) => setTimeout(resolve, 400));
    await Promise.all([base.replica.close(), own.replica.close()]);
    expect(base.sent.length).to.be.at.least(5);
    // Each second, for the first ten: its peers load it, too.
    expect(own.sent.length).to.be.within(1, 2);
    expect(own.sent[0]).to.include({
      adapter: 'sql-one',
      inflight: 0,
      busyMs: 0,
      arrivals: 0,
      limit: 1,
      every: 8_000,
    });
  });
});
