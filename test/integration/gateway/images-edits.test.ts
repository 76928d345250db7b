/** Edits of images, while their client waits. */
import { expect } from 'chai';
import { describePicture, makePicture } from '../../support/media-files.ts';
import { pollUntil } from '../../support/poll.ts';
import { readEnvelope } from '../../support/text-fixture.ts';
import { decodeImage, readImages } from './images-answer.ts';
import { type ImagesEndpoint, type ImagesFixture, startImagesFixture } from './images-fixture.ts';

describe('edits of images, while their client waits', () => {
  let fixture: ImagesFixture;
  let endpoint: ImagesEndpoint;

  before(async () => {
    fixture = await startImagesFixture();
    endpoint = await fixture.start();
  });
  after(() => fixture?.stop());
  afterEach(() => fixture.simulator.reset());

  it('send one image and a mask', async () => {
    const [image, mask] = [await makePicture(80, 60), await makePicture(80, 60, 0)];
    const response = await endpoint.edit([
      ['image', image],
      ['mask', mask],
      ['response_format', 'b64_json'],
    ]);
    const { data } = await readImages(response);
    expect(await describePicture(decodeImage(data[0]!.b64_json))).to.equal('png 64x64');
    const { last } = await fixture.simulator.readControl();
    const files = (last!.body as { name: string; filename: string | null; size: number }[]).filter(
      ({ filename }) => filename !== null,
    );
    expect(files.map(({ name, size }) => [name, size])).to.deep.equal([
      ['image', image.length],
      ['mask', mask.length],
    ]);
  });

  it('ignore a mask that the engine does not read, as all that a model does not list', async () => {
    const sglang = await fixture.start({ settings: { enginePreset: 'sglang-diffusion' } });
    const response = await sglang.edit([
      ['image', await makePicture(80, 60)],
      ['mask', Buffer.from('no image')],
      ['response_format', 'b64_json'],
    ]);
    expect(response.status, await response.text()).to.equal(200);
    const { last } = await fixture.simulator.readControl();
    const names = (last!.body as { name: string; filename: string | null }[]).map(({ name }) => name);
    expect(names).to.include('image').and.not.include('mask');
    await pollUntil(() => fixture.listSpooled().length === 0, 'an empty spool');
  });

  it('refuse a mask where the deployment rules it out, and say what is possible', async () => {
    const image = { ...endpoint.config.image!, mask: false };
    const whole = await fixture.start({ settings: { image } });
    const [picture, mask] = [await makePicture(80, 60), await makePicture(80, 60, 0)];
    const before = (await fixture.simulator.readControl()).requests;
    const refused = await whole.edit([
      ['image', picture],
      ['mask', mask],
    ]);
    const { error } = (await refused.json()) as { error: Record<string, string> };
    expect([refused.status, error.code, error.param]).to.deep.equal([400, 'unsupported_parameter', 'mask']);
    expect(error.message).to.match(
      /cannot edit part of an image\. Omit `mask`, and describe the part in the prompt\.$/,
    );
    expect((await fixture.simulator.readControl()).requests, 'the engine is not asked').to.equal(before);
  });

  it('send several images in their order', async () => {
    const images = [await makePicture(10, 10), await makePicture(30, 20), await makePicture(50, 20)];
    const parts = images.map((image): [string, Buffer] => ['image[]', image]);
    await readImages(await endpoint.edit([...parts, ['response_format', 'b64_json']]));
    const { last } = await fixture.simulator.readControl();
    const files = (last!.body as { name: string; filename: string | null; size: number }[]).filter(
      ({ name }) => name === 'image[]',
    );
    expect(files.map(({ size }) => size)).to.deep.equal(images.map(({ length }) => length));
  });

  it('answer what the engine refuses with its own words', async () => {
    await fixture.simulator.putControl({
      fault: { kind: 'status', status: 422, body: { detail: 'one image only' } },
    });
    const envelope = await readEnvelope(await endpoint.edit([['image', await makePicture(10, 10)]]));
    expect(envelope).to.deep.include({
      status: 422,
      code: 'invalid_request_error',
      message: 'one image only',
    });
  });
});
