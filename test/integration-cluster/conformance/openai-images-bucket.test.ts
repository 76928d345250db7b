import { expect } from 'chai';
import OpenAI7 from 'openai';
import OpenAI6 from 'openai-6';
import { type CheckedFetch, createCheckedFetch } from '../../conformance/checked-fetch.ts';
import { listObjects } from '../../support/bucket.ts';
import { isSimulated, type LocalStack, startLocalStack } from '../../support/local-stack.ts';
import { describePicture } from '../../support/media-files.ts';

const SDKS: [string, typeof OpenAI7][] = [
  ['openai 7.x', OpenAI7],
  ['openai 6.x', OpenAI6 as unknown as typeof OpenAI7],
];
/** SGLang Diffusion returns JPEG by default. */
const PICTURE = new RegExp(`^${isSimulated ? 'png' : '(png|jpeg)'} 256x256$`);

describe('images in a customer’s bucket', () => {
  let stack: LocalStack;
  before(async () => {
    stack = await startLocalStack();
  });
  after(() => stack?.stop());

  for (const [name, OpenAI] of SDKS)
    describe(`with ${name} for Node`, () => {
      let wire: CheckedFetch;
      before(() => {
        wire = createCheckedFetch();
      });
      afterEach('every answer matches the published types', () => {
        expect(wire.violations).to.deep.equal([]);
      });

      const generate = (storage_credential_id: number, response_format?: 'url' | 'b64_json') => {
        const { baseURL, apiKey, modelId } = stack.find('Image');
        const client = new OpenAI({ baseURL, apiKey, fetch: wire.fetch, maxRetries: 0 });
        return client.images.generate({
          ...{ model: modelId, prompt: 'A harbor at dawn', size: '256x256', response_format },
          ...{ storage_credential_id },
        });
      };

      it('puts results into the customer’s bucket, inline ones too', async () => {
        const s3 = stack.endpoints.s3!;
        const { id, bucket } = stack.endpoints.storageCredentials!.find(({ verified }) => verified)!;
        for (const response_format of ['url', 'b64_json'] as const) {
          const before = await listObjects(s3, bucket);
          const answer = await generate(id, response_format);
          const { url, b64_json } = answer.data![0]!;
          const bytes = url ? await (await fetch(url)).arrayBuffer() : Buffer.from(b64_json ?? '', 'base64');
          expect(await describePicture(bytes)).to.match(PICTURE);
          expect(await listObjects(s3, bucket)).to.have.length(before.length + 1);
        }
      });

      it('raises 422 storage_credential_not_verified for a bucket that is not verified', async () => {
        const { id } = stack.endpoints.storageCredentials!.find(({ verified }) => !verified)!;
        const error = await generate(id).then(
          () => undefined,
          (thrown: InstanceType<typeof OpenAI7.APIError>) => thrown,
        );
        expect(error).to.be.instanceOf(OpenAI.APIError);
        expect([error!.status, error!.code]).to.deep.equal([422, 'storage_credential_not_verified']);
      });
    });
});
