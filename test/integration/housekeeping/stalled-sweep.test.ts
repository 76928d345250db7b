import { expect } from 'chai';
import { startSweeper } from '../../../gateway/front/housekeeping/sweeper.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { renewClaim } from '../../../redis/requests/request-calls.ts';
import { createExpiryGate } from '../../../redis/requests/request-sweep.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectTo } from '../../support/redis-client.ts';
import { newToken } from '../../support/request-fixture.ts';

describe('a sweep that lies in the socket of a Redis that hangs', () => {
  const space = useMediaWorkspace();

  it('lets no lease expire that ran out meanwhile', async () => {
    const { namespace, server } = space;
    const connection = await connectTo(server, { commandTimeoutMs: 1_000 });
    const gate = createExpiryGate({ graceMs: 3_500 });
    connection.onStateChange(() => gate.reset());
    let mayHang = false;
    const sweeper = startSweeper({
      redis: connection.redis,
      gate,
      // Between the check of the server and the sweep.
      listWorkspaces: async () => {
        if (mayHang) server.pause();
        mayHang = false;
        return [namespace];
      },
      log: createLog('silent'),
      intervalMs: 50,
    });
    try {
      await space.submitted();
      await space.claim(newToken(), 1);
      await pollUntil(async () => (await space.claim()) !== null, 'leases expire');
      await space.submitted();
      const leaseMs = 4_000;
      const { claim } = (await space.claim(newToken(), leaseMs))!;
      const end = performance.now() + leaseMs + 100;
      mayHang = true;
      await pollUntil(() => performance.now() > end, 'the end of the lease');
      server.resume();
      await pollUntil(
        () =>
          space.redis.ping().then(
            () => true,
            () => false,
          ),
        'Redis',
      );
      expect(await renewClaim(space.redis, claim)).to.equal('renewed');
    } finally {
      server.resume();
      await sweeper.close();
      await connection.close();
    }
  });
});
