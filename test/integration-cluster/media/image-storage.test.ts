import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { ApiError } from '../../../gateway/http/error-response.ts';
import { type BucketFixture, CUSTOMER, startBucketFixture } from '../gateway/customer-bucket.ts';

describe('images that were stored for a client that waits', function () {
  this.timeout(120_000);
  let fixture: BucketFixture;

  before(async () => {
    fixture = await startBucketFixture();
  });
  after(() => fixture?.stop());

  it('are removed later from a customer’s bucket where nobody signs a link to them', async () => {
    const { urlSigner } = fixture;
    const signGets = async () => {
      throw new ApiError('temporarily_unavailable', 'No links now.', { retryAfter: 5 });
    };
    const endpoint = await fixture.start({
      storage: { urlSigner: { signPuts: (question) => urlSigner.signPuts(question), signGets } },
    });
    const response = await endpoint.generate({ storage_credential_id: CUSTOMER.id });
    expect(response.status).to.equal(503);
    const [key] = fixture.listCustomer();
    const registered = await fixture.connection.redis.zrange(workKeys('team').cleanup, '0', '-1');
    expect(registered).to.deep.equal([JSON.stringify([CUSTOMER.name, key])]);
  });
});
