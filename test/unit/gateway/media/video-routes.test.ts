import { expect } from 'chai';
import type { VideoRequest } from '../../../../gateway/jobs/media-request.ts';
import { readAccepted } from '../../../../gateway/media/video-routes.ts';
import type { RedisClient } from '../../../../redis/client.ts';
import { rejection } from '../../../support/redis-client.ts';

describe('a video that was accepted', () => {
  /** Every read fails with this error. */
  const failing = (error: Error) =>
    new Proxy({}, { get: () => () => Promise.reject(error) }) as unknown as RedisClient;
  const config = { namespace: 'team', modelId: 'm/film' };
  const accepted = { id: 'req_1', status: 'queued' as const, estimatedSeconds: 1 };
  const request = { parameters: { size: '64x96' }, seconds: '5' } as VideoRequest;

  it('is shown as it was accepted if Redis becomes unavailable right afterwards', async () => {
    const redis = failing(Object.assign(new Error('gone'), { code: 'ECONNRESET' }));
    const record = await readAccepted(redis, config, { accepted, request });
    expect(record).to.include({
      id: 'req_1',
      status: 'queued',
      model: 'm/film',
      size: '64x96',
      seconds: '5',
    });
  });

  it('hides no fault of its own', async () => {
    const redis = failing(new TypeError('a fault'));
    expect(await rejection(readAccepted(redis, config, { accepted, request }))).to.be.instanceOf(TypeError);
  });
});
