import { expect } from 'chai';
import { S3Store } from '../../../../gateway/storage/s3-store.ts';
import { StorageError } from '../../../../gateway/storage/storage-error.ts';

describe("the endpoint of a tenant's bucket", () => {
  const open = (endpoint: string) => () =>
    new S3Store({
      endpoint,
      publicEndpoint: null,
      region: 'eu-1',
      bucket: 'results',
      pathStyle: true,
      keys: { accessKeyId: 'a', secretAccessKey: 'b' },
      provider: 's3',
      egress: { allow: [], deny: [], plainHTTP: false },
    });

  for (const endpoint of ['https://store.example:99999', 'https://[::zz]', 'store.example'])
    it(`is refused as such when it is no URL: ${endpoint}`, () => {
      expect(open(endpoint)).to.throw(StorageError);
    });

  it('decides whether links to it are public', () => {
    expect(open('https://store.example')().isPublic).to.equal(true);
    expect(open('https://store.internal')().isPublic).to.equal(false);
  });
});
