import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { toFile } from 'openai';
import { listObjects, signLink } from '../support/bucket.ts';
import { describePicture, makePicture } from '../support/media-files.ts';
import { expectError } from './envelope.ts';
import { connect, endpoints, findEndpoint, waitUntil } from './installation.ts';
import { makeForm, readRequest, send, waitForSuccess } from './media.ts';

const SIZE = '256x256';
const HOUR = 3_600;
const WEEK = 7 * 24 * HOUR;

const endpoint = findEndpoint('tiny-image');
const client = connect(endpoint);
const order = { model: endpoint.modelId, prompt: 'A harbour', size: SIZE } as const;
const s3 = endpoints.s3!;
const run = promisify(execFile);

async function follow(url: string): Promise<string> {
  const response = await fetch(url);
  expect(response.status, url).to.equal(200);
  return describePicture(await response.arrayBuffer());
}

/** Seconds, of a link to the store or to the endpoint. */
function lifeOf(url: string): number {
  const { searchParams: query } = new URL(url);
  return Number(query.get('X-Amz-Expires') ?? Number(query.get('expires')) - Date.now() / 1_000);
}

describe('images through the ingress', () => {
  it('are generated, and their links open with plain curl', async () => {
    const answer = await client.images.generate(order);
    const url = answer.data![0]!.url!;
    expect(lifeOf(url)).to.be.closeTo(HOUR, 60);
    const { stdout } = await run('curl', ['-fsS', url], { encoding: 'buffer' });
    expect(await describePicture(stdout)).to.equal(`png ${SIZE}`);
  });

  it('come inline, and leave nothing in the bucket', async () => {
    const before = await listObjects(s3);
    const answer = await client.images.generate({ ...order, n: 2, response_format: 'b64_json' });
    for (const { b64_json } of answer.data!)
      expect(await describePicture(Buffer.from(b64_json!, 'base64'))).to.equal(`png ${SIZE}`);
    expect((await listObjects(s3)).filter((key) => !before.includes(key))).to.deep.equal([]);
  });

  it('are edited', async () => {
    const image = await toFile(await makePicture(300, 200), 'in.png', { type: 'image/png' });
    const answer = await client.images.edit({ ...order, image });
    expect(await follow(answer.data![0]!.url!)).to.equal(`png ${SIZE}`);
  });

  it('are generated in the background, with fresh links at each poll', async () => {
    const { status, body } = await send(endpoint, '/images/generations?async=true', {
      body: { ...order, n: 2 },
    });
    expect(status).to.equal(202);
    expect(body).to.include({ object: 'inference.request', status: 'queued', modality: 'image' });
    const request = await waitForSuccess(endpoint, body.id!);
    expect(request.storage_provider).to.equal(null);
    expect(request.output_urls).to.have.length(2);
    for (const url of request.output_urls!) expect(await follow(url)).to.equal(`png ${SIZE}`);
    expect(await listObjects(s3)).to.include(request.output_object_key);
  });

  it('are edited in the background, and the inputs are gone afterwards', async () => {
    const body = makeForm({ ...order, image: await makePicture(64, 64) });
    const queued = await send(endpoint, '/images/edits?async=true', { body });
    expect(queued.status, JSON.stringify(queued.body)).to.equal(202);
    const request = await waitForSuccess(endpoint, queued.body.id!);
    expect(await follow(request.output_urls![0]!)).to.equal(`png ${SIZE}`);
    await waitUntil('the inputs to be removed', 30, async () => {
      const keys = await listObjects(s3);
      return !keys.some((key) => key.includes('inputs/'));
    });
  });

  it('have links that stop working after their time', async () => {
    const { body } = await send(endpoint, '/images/generations?async=true', { body: order });
    const { output_object_key } = await waitForSuccess(endpoint, body.id!);
    const url = await signLink(s3, output_object_key!, 3);
    expect(await follow(url)).to.equal(`png ${SIZE}`);
    let status = 0;
    await waitUntil('the link to end', 30, async () => {
      const response = await fetch(url);
      await response.body?.cancel();
      status = response.status;
      return status !== 200;
    });
    expect(status).to.equal(403);
  });

  describe('for a bucket of the customer’s', () => {
    const { id, bucket } = endpoints.storageCredentials!.find(({ verified }) => verified)!;

    it('lie there for good, with links of a week', async () => {
      const before = await listObjects(s3, bucket);
      const answer = await client.images.generate({ ...order, storage_credential_id: id } as never);
      const [image] = (answer as { data: { url: string }[] }).data;
      expect(lifeOf(image!.url)).to.be.closeTo(WEEK, 60);
      expect(await follow(image!.url)).to.equal(`png ${SIZE}`);
      expect(await listObjects(s3, bucket)).to.have.length(before.length + 1);
    });

    it('lie there when they were made in the background, too', async () => {
      const { body } = await send(endpoint, '/images/generations?async=true', {
        body: { ...order, storage_credential_id: id },
      });
      const request = await waitForSuccess(endpoint, body.id!);
      expect(request.output_bucket).to.equal(bucket);
      expect(await listObjects(s3, bucket)).to.include(request.output_object_key);
      expect(await follow(request.output_urls![0]!)).to.equal(`png ${SIZE}`);
    });

    it('are refused where the credential is not verified, or unknown', async () => {
      const wrong = endpoints.storageCredentials!.find(({ verified }) => !verified)!.id;
      for (const [credential, code] of [
        [wrong, 'storage_credential_not_verified'],
        [4711, 'storage_credential_not_found'],
      ] as const)
        for (const path of ['/images/generations', '/images/generations?async=true'])
          expectError(
            await send(endpoint, path, { body: { ...order, storage_credential_id: credential } }),
            422,
            code,
          );
    });
  });

  it('cost what the workspace has: 402 where its credit is used up', async () => {
    const spent = findEndpoint('tiny-image', 'spent');
    const answer = await send(spent, '/images/generations', { body: { ...order, model: spent.modelId } });
    expectError(answer, 402, 'insufficient_quota');
  });

  it('of another workspace stay its own', async () => {
    const other = findEndpoint('tiny-image', 'other');
    const { body } = await send(endpoint, '/images/generations?async=true', { body: order });
    expectError(await send(other, `/requests/${body.id}`), 403, 'permission_denied');
    await waitForSuccess(endpoint, body.id!);
    expect((await readRequest(endpoint, body.id!)).status).to.equal('succeeded');
  });
});
