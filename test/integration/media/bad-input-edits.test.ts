import { expect } from 'chai';
import { makePicture } from '../../support/media-files.ts';
import {
  expectRefusal,
  type Intakes,
  makeFile,
  type Part,
  type Refusal,
  sendForm,
  sendJSON,
  startIntakes,
} from './intake-calls.ts';

describe('bad input of POST /v1/images/edits', () => {
  let intakes: Intakes<'image' | 'words'>;
  let picture: Buffer;

  before(async () => {
    picture = await makePicture(64, 48);
    const tasks = ['txt2img', 'img2img'];
    intakes = await startIntakes({
      image: { kind: 'Image', image: { tasks, steps: { min: 2, max: 50, default: 20 } } },
      words: { kind: 'Image', image: { tasks: ['txt2img'] } },
    });
  });
  after(() => intakes?.stop());
  afterEach('nothing lies in a spool', () => intakes.expectNothingSpooled());

  const makeImage = (bytes = picture, type?: string) => makeFile(bytes, type);
  const edit = (change: Record<string, Part> = {}, query = '') =>
    sendForm(intakes.endpoints.image, `/v1/images/edits${query}`, { image: makeImage(), ...change });

  const refused: Refusal[] = [
    ['no image', () => edit({ image: null }), 400, 'missing_required_parameter', 'image'],
    ['a text for an image', () => edit({ image: 'x' }), 400, 'invalid_type', 'image'],
    ['an address for an image', () => edit({ 'image[url]': 'x' }), 400, 'invalid_type', 'image'],
    ['a file for a prompt', () => edit({ prompt: makeImage() }), 400, 'invalid_type', 'prompt'],
    ['two prompts', () => edit({ prompt: ['a', 'b'] }), 400, 'invalid_value', 'prompt'],
    ['two masks', () => edit({ mask: [makeImage(), makeImage()] }), 400, 'array_above_max_length', 'mask'],
    ['17 images', () => edit({ image: Array(17).fill(makeImage()) }), 400, 'array_above_max_length', 'image'],
    ['101 fields', () => edit({ x: Array(101).fill('1') }), 400, 'invalid_request_error', null],
    ['41 files', () => edit({ x: Array(41).fill(makeImage()) }), 400, 'invalid_request_error', null],
    ['no model', () => edit({ model: null }), 400, 'missing_required_parameter', 'model'],
    ['an empty prompt', () => edit({ prompt: '' }), 400, 'missing_required_parameter', 'prompt'],
    ['too long a prompt', () => edit({ prompt: 'a'.repeat(32_001) }), 413, 'request_too_large', 'prompt'],
    ['far too long a prompt', () => edit({ prompt: 'a'.repeat(2e6) }), 413, 'request_too_large', 'prompt'],
    ['n of words', () => edit({ n: 'two' }), 400, 'invalid_type', 'n'],
    ['n in hex', () => edit({ n: '0x2' }), 400, 'invalid_type', 'n'],
    ['a fraction of n', () => edit({ n: '1.5' }), 400, 'invalid_type', 'n'],
    ['a negative n', () => edit({ n: '-1' }), 400, 'integer_below_min_value', 'n'],
    ['another model', () => edit({ model: 'x' }), 404, 'model_not_found', 'model'],
    ['another size', () => edit({ size: '0x0' }), 422, 'size_not_supported', 'size'],
    [
      'an unknown credential',
      () => edit({ storage_credential_id: '1' }),
      422,
      'storage_credential_not_found',
      'storage_credential_id',
    ],
    [
      'a private callback',
      () => edit({ webhook_url: 'https://[::1]/' }),
      422,
      'invalid_webhook_url',
      'webhook_url',
    ],
    [
      'a queued mask',
      () => edit({ mask: makeImage() }, '?async=true'),
      400,
      'async_mask_unsupported',
      'mask',
    ],
    ['an empty file', () => edit({ image: makeImage(Buffer.alloc(0)) }), 400, 'invalid_image', 'image'],
    [
      'a text as an image',
      () => edit({ image: makeImage(Buffer.from('hello')) }),
      400,
      'invalid_image',
      'image',
    ],
    [
      'a mask that is none',
      () => edit({ mask: makeImage(Buffer.from('GIF89a')) }),
      400,
      'invalid_image',
      'mask',
    ],
    [
      'the start of an image',
      () => edit({ image: makeImage(picture.subarray(0, 20)) }),
      400,
      'invalid_image',
      'image',
    ],
    [
      'an image cut after its header',
      () => edit({ image: makeImage(picture.subarray(0, 40)) }),
      400,
      'invalid_image',
      'image',
    ],
    [
      'an image without its end',
      () => edit({ image: [makeImage(), makeImage(picture.subarray(0, -12))] }),
      400,
      'invalid_image',
      'image',
    ],
    [
      'a mask without its end',
      () => edit({ mask: makeImage(picture.subarray(0, -12)) }),
      400,
      'invalid_image',
      'mask',
    ],
    ['a bomb', () => edit({ image: makeImage(claimPixels(65_000, 65_000)) }), 400, 'invalid_image', 'image'],
    [
      'nothing by nothing',
      () => edit({ image: makeImage(claimPixels(0, 0)) }),
      400,
      'invalid_image',
      'image',
    ],
  ];
  for (const refusal of refused)
    it(`answers ${refusal[2]} ${refusal[3]} to ${refusal[0]}`, () => expectRefusal(refusal));

  it('says of truncated images what to do', async () => {
    const { message } = await edit({ image: makeImage(picture.subarray(0, -12)) });
    expect(message).to.equal('`image` is truncated: send the complete file.');
  });

  it('takes images however they are named, typed and ordered, numbers as texts', async () => {
    const { request } = await edit({
      'image[]': [makeImage(), makeImage(picture, 'text/plain')],
      mask: makeImage(),
      n: '2',
      seed: '5.0',
      steps: '1000',
      guidance_scale: '7.5',
      stream: 'true',
      quality: 'high',
      extra: makeImage(),
    });
    expect(request.images.map(({ contentType, fileName }) => [contentType, fileName])).to.deep.equal([
      ['image/png', 'image.png'],
      ['image/png', 'image-2.png'],
      ['image/png', 'image-3.png'],
    ]);
    expect(request.images[0]!.bytes).to.equal(picture.length);
    expect(request).to.deep.include({
      parameters: {
        task: 'img2img',
        prompt: 'A ship',
        n: 2,
        size: '1024x1024',
        seed: 5,
        steps: 50,
        guidanceScale: 7.5,
      },
      isStream: true,
    });
    expect(request.mask!.fileName).to.equal('mask.png');
  });

  it('answers 415 with what it takes to other types', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await sendJSON(intakes.endpoints.image, '/v1/images/edits', {}, headers);
    expect(answer).to.include({ status: 415, code: 'unsupported_media_type' });
    expect(answer.message).to.contain('multipart/form-data or application/json');
  });

  it('reads the same fields from JSON, numbers as texts or not', async () => {
    const image_url = `data:image/png;base64,${picture.toString('base64')}`;
    const fields = { n: '2', seed: '5', steps: '1000', guidance_scale: '7.5', response_format: 'b64_json' };
    const form = await edit({ ...fields, stream: 'true', async: 'false' });
    const numbers = { n: 2, seed: 5, steps: 1000, guidance_scale: 7.5, stream: true, async: false };
    for (const json of [
      { ...fields, stream: 'true' },
      { ...fields, ...numbers },
    ]) {
      const { request } = await sendJSON(intakes.endpoints.image, '/v1/images/edits', {
        ...json,
        images: [{ image_url }],
        quality: 'high',
        unknown: [1],
      });
      const withoutPath = ({ images, ...rest }: object & { images: { path: string; bytes: number }[] }) => ({
        ...rest,
        images: images.map(({ bytes }) => bytes),
      });
      expect(withoutPath(request)).to.deep.equal(withoutPath(form.request));
    }
  });

  for (const [param, values] of [
    ['model', [null, 5]],
    ['prompt', [null, '', 5]],
    ['n', [0, 1.5, 'two', {}]],
    ['response_format', ['png', 5]],
    ['images', [null, []]],
  ] as const)
    for (const value of values)
      it(`answers 400 to \`${param}\` ${JSON.stringify(value)} in JSON`, async () => {
        const answer = await sendJSON(intakes.endpoints.image, '/v1/images/edits', {
          images: [{ image_url: `data:image/png;base64,${picture.toString('base64')}` }],
          [param]: value,
        });
        expect(answer.status).to.equal(400);
        expect(answer.param).to.equal(param === 'images' ? 'image' : param);
      });

  /** The picture with other dimensions in its header. */
  function claimPixels(width: number, height: number): Buffer {
    const bytes = Buffer.from(picture);
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
    return bytes;
  }

  it('names the types that it takes to who sends another image', async () => {
    for (const [start, type] of [
      ['GIF89a\x01\x00\x01\x00', 'GIF'],
      ['BM\x36\x10\x00\x00\x00\x00\x00\x00\x36', 'BMP'],
    ]) {
      const { code, message } = await edit({ image: makeImage(Buffer.from(start!, 'latin1')) });
      expect(code).to.equal('invalid_image');
      expect(message).to.equal(`\`image\` is a ${type} image: it must be a PNG, JPEG or WebP.`);
    }
  });

  it('answers 400 where the model makes no images from images', async () => {
    const answer = await sendForm(intakes.endpoints.words, '/v1/images/edits', { image: makeImage() });
    expect(answer).to.include({ status: 400, param: 'model' });
    expect(answer.message).to.contain('/v1/images/generations');
  });
});
