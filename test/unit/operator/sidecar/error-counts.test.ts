import { expect } from 'chai';
import { workKeys } from '../../../../api/redis-keys.ts';
import { createErrorReader } from '../../../../operator/sidecar/error-counts.ts';
import type { RedisClient } from '../../../../redis/client.ts';

const HOUR = 3_600_000;
const at = (time: string) => Date.parse(`2026-03-04T${time}Z`);

describe('what a rolled deployment answered', () => {
  /** Counters of the hour from 12:00, as the Redis function returns them. */
  const readerOf = (minutes: Record<number, { requests: number; serverErrors: number }>) => {
    const key = workKeys('team-a').usage('chat', 'minute', at('12:00:00') / HOUR);
    const fields = Object.entries(minutes).flatMap(([minute, { requests, serverErrors }]) => [
      `${minute}:r`,
      `${requests}`,
      `${minute}:s`,
      `${serverErrors}`,
    ]);
    const fcall = async (_name: string, _keys: number, asked: string) => (asked === key ? fields : []);
    return createErrorReader({ fcall } as unknown as RedisClient);
  };
  const reader = readerOf({
    9: { requests: 10, serverErrors: 1 },
    10: { requests: 20, serverErrors: 20 },
    12: { requests: 40, serverErrors: 40 },
    14: { requests: 80, serverErrors: 80 },
    15: { requests: 160, serverErrors: 2 },
    20: { requests: 320, serverErrors: 320 },
  });
  const question = { namespace: 'team-a', name: 'chat', startedAt: at('12:10:30') };

  it('is counted without what failed while its pods were replaced', async () => {
    const counts = await reader({ ...question, completedAt: at('12:14:20'), until: at('12:19:20') });
    expect(counts).to.deep.equal({
      before: { requests: 10, errors: 1 },
      after: { requests: 160, errors: 2 },
    });
  });

  it('is nothing before the first full minute after the rollout', async () => {
    const { after } = await reader({ ...question, completedAt: at('12:15:01'), until: at('12:15:30') });
    expect(after).to.deep.equal({ requests: 0, errors: 0 });
  });
});
