import { expect } from 'chai';
import { streamChat } from '../../support/chat.ts';
import { describeModel, startEngine } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { useReplicas } from '../../support/replica-stack.ts';

const ADDRESS = '127.0.0.2';
const PLACES = 2;

describe('a replica whose engine runs less than it is given', () => {
  const config = describeModel({ scaling: { min: 0, max: 2 } });
  const { engines, replicas, readHeartbeats } = useReplicas(config, [ADDRESS], {
    startEngine: () => startEngine({ SIMULATOR_MAX_CONCURRENCY: String(PLACES) }),
    env: { GATEWAY_ENGINE_METRICS_PATH: '/metrics' },
  });

  const readWord = async () => (await readHeartbeats())[0]!;

  it('tells how many of its requests wait there while they do, and nothing of it at rest', async () => {
    await engines[0]!.control({ tokens: 100_000, itlMs: 20 });
    const leaving = new AbortController();
    const streams = Array.from({ length: 6 }, () => streamChat(replicas[0]!.url, { signal: leaving.signal }));
    await pollUntil(async () => (await readWord()).waiting === 6 - PLACES, 'four to wait', 60_000);
    expect((await readWord()).inflight).to.equal(6);
    leaving.abort();
    await Promise.allSettled(streams);
    await pollUntil(async () => (await readWord()).inflight === 0, 'rest', 60_000);
    expect(await readWord()).not.to.have.property('waiting');
  });
});
