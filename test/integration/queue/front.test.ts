import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { GATEWAY_ENV } from '../../../contract/gateway-environment.ts';
import { storageToken } from '../../../contract/identity.ts';
import { workKeys } from '../../../contract/redis-keys.ts';
import { EXPIRY_GRACE_MS } from '../../../redis/request-sweep.ts';
import { findFreePort } from '../../support/child-program.ts';
import { MASTER_KEY, startFrontProcess } from '../../support/front-process.ts';
import { probeFilm } from '../../support/media-files.ts';
import { until } from '../../support/redis-client.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';
import { type JobStack, startJobStack } from './job-stack.ts';

const BUCKET = 'berth';

describe('video jobs with a front and a bucket', function () {
  this.timeout(90_000);
  let s3: S3Server;
  let stack: JobStack;
  let frontSince = 0;

  before(async () => {
    s3 = await startS3();
    s3.createBucket(BUCKET);
    stack = await startJobStack({ kind: 'Video', jobSeconds: 0.5, pods: 2, startFront });
  });
  after(async () => {
    await stack?.stop();
    await s3?.stop();
  });

  async function startFront({ url: redisURL, admin }: RedisServer) {
    const front = await startFrontProcess({
      redisURL,
      replicaPort: await findFreePort(),
      secrets: { s3AccessKeyId: s3.accessKeyId, s3SecretAccessKey: s3.secretAccessKey },
      env: {
        [GATEWAY_ENV.redisPassword]: admin!,
        [GATEWAY_ENV.s3Bucket]: BUCKET,
        [GATEWAY_ENV.s3Endpoint]: s3.endpoint,
      },
    });
    frontSince = performance.now();
    const url = front.internalOrigin;
    return { url, token: storageToken(MASTER_KEY, 'team'), stop: () => front.stop('SIGKILL') };
  }
  const listObjects = () =>
    readdirSync(join(s3.folder, BUCKET), { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.mp4'),
    );

  it('end in the bucket, behind a link that works', async () => {
    const id = await stack.submit({ frames: 13, fps: 8 });
    const { output } = await stack.untilIs(id, 'succeeded');
    expect(output).to.include({ bucket: BUCKET, provider: null });
    expect(listObjects()).to.deep.equal(output!.keys);
    const { url } = await readResult(id);
    const film = await probeFilm(await (await fetch(url)).arrayBuffer());
    expect(film).to.deep.equal({ codec: 'h264', size: '64x64', frames: 13, fps: 8 });
  });

  async function readResult(id: string): Promise<{ url: string }> {
    const key = workKeys('team').event(id.replace('req_', 'evt_'));
    // The front takes events from the outbox, and forgets them once they are delivered.
    const row = await stack.connection.redis.get(key);
    if (row) return JSON.parse(row.slice(row.indexOf('\n') + 1)).data.result_payload.data[0];
    const { output } = await stack.read(id);
    return { url: `${s3.endpoint}/${BUCKET}/${output!.keys[0]}` };
  }

  it('are recovered by the front’s own sweeper when a replica is killed', async () => {
    await until(() => performance.now() - frontSince > EXPIRY_GRACE_MS + 1_000, 'grace', 15_000);
    for (const { engine } of stack.pods) await engine.control({ jobSeconds: 2 });
    const id = await stack.submit();
    const key = workKeys('team').request(id);
    const readWorker = () => stack.connection.redis.hget(key, 'worker');
    await until(async () => (await readWorker()) !== null, 'a worker');
    const worker = await readWorker();
    const [first, second] =
      stack.pods[0]!.address === worker!.slice(4) ? stack.pods : [...stack.pods].reverse();
    const crashed = performance.now();
    await first!.crash();
    await until(async () => (await readWorker()) === `pod-${second!.address}`, 'another', 12_000);
    const recoveryMs = performance.now() - crashed;
    if (process.env.SHOW) console.log(`recovered in ${Math.round(recoveryMs)} ms`);
    expect(recoveryMs).to.be.below(9_000);
    await stack.untilIs(id, 'succeeded');
  });
});
