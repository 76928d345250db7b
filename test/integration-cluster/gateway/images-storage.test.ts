import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { StoreUrlSigner } from '../../../gateway/storage/store-url-signer.ts';
import { pollUntil } from '../../support/poll.ts';

import { readEnvelope } from '../../support/text-fixture.ts';
import { type BucketFixture, CUSTOMER, DENIED, startBucketFixture } from './customer-bucket.ts';

describe('images whose storage fails, while their client waits', () => {
  let fixture: BucketFixture;

  before(async () => {
    fixture = await startBucketFixture();
  });
  after(() => fixture?.stop());
  afterEach(async () => {
    await pollUntil(() => fixture.listSpooled().length === 0, 'no file is left in the spool');
  });

  const cases = ['url', 'b64_json'].map((responseFormat) => ({ responseFormat }));
  for (const { responseFormat } of cases)
    it(`are a 502 storage_upload_failed where the bucket denies access, with ${responseFormat}`, async () => {
      const endpoint = await fixture.start({ settings: { concurrency: 1 } });
      const body = { n: 2, storage_credential_id: DENIED.id, response_format: responseFormat };
      const envelope = await readEnvelope(await endpoint.generate(body));
      expect(envelope).to.deep.include({
        status: 502,
        code: 'storage_upload_failed',
        message: 'The output bucket denied access.',
      });
      expect(endpoint.slots.inflight).to.equal(0);
      // What the alert of storage that fails counts.
      const failures =
        'gen_ai_server_request_duration_seconds_count{gen_ai_operation_name="generate_content",' +
        `gen_ai_provider_name="simulator",gen_ai_request_model="${endpoint.config.modelId}",error_type="storage_upload_failed"}`;
      expect(await endpoint.readMetric(failures)).to.equal(1);
    });

  it('leave what may have been uploaded on the list of what is removed', async () => {
    const endpoint = await fixture.start();
    const { redis } = fixture.connection;
    const before = await redis.zcard(workKeys('team').cleanup);
    expect((await endpoint.generate({ n: 2, storage_credential_id: DENIED.id })).status).to.equal(502);
    expect(await redis.zcard(workKeys('team').cleanup)).to.equal(before + 2);
  });

  it('say so where the installation has no managed storage', async () => {
    const endpoint = await fixture.start({
      storage: { urlSigner: new StoreUrlSigner({ find: async () => null }) },
    });
    const response = await endpoint.generate();
    expect(response.headers.get('retry-after')).to.equal(null);
    expect(response.headers.get('x-should-retry')).to.equal('false');
    const envelope = await readEnvelope(response);
    expect(envelope).to.deep.include({ status: 503, code: 'temporarily_unavailable' });
    expect(envelope.message).to.include('no managed storage');
    expect((await endpoint.generate({ response_format: 'b64_json' })).status).to.equal(200);
  });

  it('are a 502 storage_upload_failed, not to be repeated, after some seconds where the store is gone', async () => {
    const endpoint = await fixture.start();
    await fixture.s3.kill();
    const start = performance.now();
    const envelope = await readEnvelope(await endpoint.generate({ storage_credential_id: CUSTOMER.id }));
    expect(performance.now() - start).to.be.within(5_000, 20_000);
    expect(envelope.headers.get('x-should-retry')).to.equal('false');
    expect(envelope).to.deep.include({ status: 502, code: 'storage_upload_failed' });
    expect(envelope.message).to.equal('The output bucket could not be reached.');
  });
});
