import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { readSpentMicros } from '../../../redis/admission/admission-calls.ts';
import { decodeImage, readImages } from '../../integration/gateway/images-answer.ts';
import { describePicture } from '../../support/media-files.ts';
import { pollUntil } from '../../support/poll.ts';
import { type BucketFixture, CUSTOMER, DENIED, startBucketFixture } from './customer-bucket.ts';

describe('an image in a customer’s bucket, while its client waits', () => {
  let fixture: BucketFixture;

  before(async () => {
    fixture = await startBucketFixture();
  });
  after(() => fixture?.stop());
  afterEach(async () => {
    // The answer ends a moment before its files are removed.
    await pollUntil(() => fixture.listSpooled().length === 0, 'no file is left in the spool');
  });

  const listCleanup = () =>
    fixture.connection.redis.zrange(workKeys('team').cleanup, '0', '-1', 'WITHSCORES');
  const readSpent = () => readSpentMicros(fixture.connection.redis, 'team');

  it('is a link of 7 days to the customer’s bucket, where it stays', async () => {
    const endpoint = await fixture.start();
    const listed = await listCleanup();
    const { data } = await readImages(await endpoint.generate({ n: 2, storage_credential_id: CUSTOMER.id }));
    for (const { url } of data) {
      expect(new URL(url!).searchParams.get('X-Amz-Expires')).to.equal(String(7 * 24 * 3600));
      expect(await describePicture(await (await fetch(url!)).arrayBuffer())).to.equal('png 64x64');
    }
    expect(
      fixture.listCustomer().filter((key) => key.startsWith('berth/results/team/req_')),
    ).to.have.lengthOf(2);
    expect(await listCleanup()).to.deep.equal(listed);
  });

  it('is inline and also in the bucket that is the deployment’s default', async () => {
    const own = await fixture.start({ settings: { storageCredential: CUSTOMER.name } });
    const stored = fixture.listCustomer().length;
    const { data } = await readImages(await own.generate({ response_format: 'b64_json' }));
    expect(await describePicture(decodeImage(data[0]!.b64_json))).to.equal('png 64x64');
    expect(fixture.listCustomer()).to.have.lengthOf(stored + 1);
  });

  it('costs nothing where the bucket denies access', async () => {
    const pricing = {
      perImage: 40_000,
      perVideoSecond: null,
      perMillionInputTokens: null,
      perMillionOutputTokens: null,
    };
    const endpoint = await fixture.start({ settings: { pricing } });
    const before = await readSpent();
    expect((await endpoint.generate({ storage_credential_id: DENIED.id })).status).to.equal(502);
    await pollUntil(async () => (await readSpent()) === before, 'it was given back');
  });
});
