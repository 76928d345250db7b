import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { finishRequest } from '../../../redis/requests/request-calls.ts';
import { FILM } from '../../integration/media/front-workspace.ts';
import { type BucketWorkspace, publishCustomer, startBucketWorkspace } from './bucket-workspace.ts';

const ORDER = { model: 'film', prompt: 'a cat', seconds: '1', size: '64x64' };
const HOUR_SECONDS = 3_600;
const CUSTOMER = { id: 7, name: 'mine', bucket: 'theirs', prefix: '' };

describe('queued requests whose results are in buckets', () => {
  let space: BucketWorkspace;
  const film = 'film';
  before(async () => {
    space = await startBucketWorkspace();
    await space.publish(film, FILM);
  });
  after(() => space?.stop());

  it('link to their results for an hour, anew at each read', async () => {
    const { body: video } = await space.call(film, '/videos', { body: ORDER });
    await space.succeed(await space.claim(film), Buffer.from('film'));
    const content = await space.call(film, `/videos/${video.id}/content`);
    const { body: request } = await space.call(film, `/requests/${video.id}`);
    const links = [content.headers.get('location')!, ...(request.output_urls as string[])];
    expect(links).to.have.length(2);
    for (const link of links)
      expect(new URL(link).searchParams.get('X-Amz-Expires')).to.equal(String(HOUR_SECONDS));
  });

  it('link to the customer’s bucket where their result lies there', async () => {
    const { s3 } = space;
    s3.createBucket(CUSTOMER.bucket);
    await publishCustomer(space, CUSTOMER);
    const { body: video } = await space.call(film, '/videos', {
      body: { ...ORDER, storage_credential_id: CUSTOMER.id },
    });
    const { claim, params } = await space.claim(film);
    expect(JSON.parse(params)).to.include({ credential: 'mine' });
    const key = `results/team/${claim.id}/${claim.token}/0.mp4`;
    mkdirSync(dirname(join(s3.folder, 'theirs', key)), { recursive: true });
    writeFileSync(join(s3.folder, 'theirs', key), 'their film');
    await finishRequest(space.connection.redis, claim, {
      status: 'succeeded',
      output: { bucket: 'theirs', keys: [key], credential: 'mine', provider: 's3', retentionMs: null },
      payload: {},
      objects: [],
    });
    const content = await space.call(film, `/videos/${video.id}/content`);
    expect(content.status, content.text).to.equal(302);
    const link = new URL(content.headers.get('location')!);
    expect([link.origin, link.pathname]).to.deep.equal([s3.endpoint, `/theirs/${key}`]);
    expect(await (await fetch(link)).text()).to.equal('their film');
    const { body: request } = await space.call(film, `/requests/${video.id}`);
    expect(request).to.include({ output_bucket: 'theirs', storage_provider: 's3' });
  });
});
