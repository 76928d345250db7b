import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { storageToken } from '../../../api/identity.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import type { RequestRecord } from '../../../api/request.ts';
import { RemoteUrlSigner } from '../../../gateway/storage/remote-url-signer.ts';
import { EXPIRY_GRACE_MS } from '../../../redis/requests/request-sweep.ts';
import { type JobStack, startJobStack } from '../../integration/jobs/job-stack.ts';
import { findFreePort } from '../../support/child-program.ts';
import { MASTER_KEY, startFrontProcess } from '../../support/front-process.ts';
import { probeFilm } from '../../support/media-files.ts';
import { pollUntil } from '../../support/poll.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';

const BUCKET = 'berth';

describe('video jobs with a front and a bucket', () => {
  let s3: S3Server;
  let stack: JobStack;
  let frontSince = 0;
  let internalOrigin: string;

  before(async () => {
    s3 = await startS3();
    s3.createBucket(BUCKET);
    stack = await startJobStack({ kind: 'Video', jobSeconds: 0.5, pods: 2, startFront });
  });
  after(async () => {
    await stack?.stop();
    await s3?.stop();
  });

  async function startFront({ url: redisURL }: RedisServer) {
    const front = await startFrontProcess({
      redisURL,
      replicaPort: await findFreePort(),
      secrets: { s3AccessKeyId: s3.accessKeyId, s3SecretAccessKey: s3.secretAccessKey },
      env: {
        [GATEWAY_ENV.s3Bucket]: BUCKET,
        [GATEWAY_ENV.s3Endpoint]: s3.endpoint,
      },
    });
    frontSince = performance.now();
    internalOrigin = front.internalOrigin;
    return {
      url: internalOrigin,
      token: storageToken(MASTER_KEY, 'team'),
      stop: () => front.stop('SIGKILL'),
    };
  }
  const listObjects = () =>
    readdirSync(join(s3.folder, BUCKET), { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.mp4'),
    );

  it('end in the bucket, behind a link that works', async () => {
    const id = await stack.submit({ frames: 13, fps: 8 });
    const record = await stack.untilIs(id, 'succeeded');
    expect(record.output).to.include({ bucket: BUCKET, provider: null });
    expect(listObjects()).to.deep.equal(record.output!.keys);
    const film = await probeFilm(await (await fetch(await signResult(record))).arrayBuffer());
    expect(film).to.deep.equal({ codec: 'h264', size: '64x64', frames: 13, fps: 8 });
  });

  async function signResult({ output }: RequestRecord): Promise<string> {
    const token = storageToken(MASTER_KEY, 'team');
    const urlSigner = new RemoteUrlSigner({ url: internalOrigin, namespace: 'team', token });
    const objects = output!.keys.map((key) => ({ key }));
    const [url] = await urlSigner.signGets({
      namespace: 'team',
      credential: null,
      objects,
      expiresInSeconds: 60,
    });
    return url!;
  }

  it('are recovered by the front’s own sweeper when a replica is killed', async () => {
    await pollUntil(() => performance.now() - frontSince > EXPIRY_GRACE_MS + 1_000, 'grace');
    for (const { engine } of stack.pods) await engine.control({ jobSeconds: 5 });
    const id = await stack.submit();
    const key = workKeys('team').request(id);
    const readWorker = () => stack.connection.redis.hget(key, 'worker');
    await pollUntil(async () => (await readWorker()) !== null, 'a worker');
    const worker = await readWorker();
    const [first, second] =
      stack.pods[0]!.address === worker!.slice(4) ? stack.pods : [...stack.pods].reverse();
    const crashed = performance.now();
    await first!.crash();
    await pollUntil(async () => (await readWorker()) === `pod-${second!.address}`, 'another', 40_000);
    const recoveryMs = performance.now() - crashed;
    if (process.env.SHOW) console.log(`recovered in ${Math.round(recoveryMs)} ms`);
    expect(recoveryMs).to.be.below(30_000);
    await stack.untilIs(id, 'succeeded');
  });
});
