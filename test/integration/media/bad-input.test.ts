import { expect } from 'chai';
import type { ImageOrder, VideoOrder } from '../../../gateway/media/order.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { publishCredentials } from '../../../redis/publication.ts';
import { makePicture } from '../../support/media-files.ts';
import { describeModel } from '../../support/model-replica.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { type IntakeEndpoint, startIntake } from './intake-endpoint.ts';

const MODEL = 'berth/chat';
const extent = { min: 2, max: 50, default: 20 };
const NAMESPACE = 'team';

type AnyOrder = Omit<ImageOrder, 'kind' | 'parameters'> &
  Omit<VideoOrder, 'kind' | 'parameters'> & { parameters: object };

interface Outcome {
  status: number;
  code: string | null;
  param: string | null;
  message: string;
  order: AnyOrder;
}

describe('bad input of media routes', () => {
  let redis: RedisServer;
  let connection: RedisConnection;
  let image: IntakeEndpoint;
  let words: IntakeEndpoint;
  let free: IntakeEndpoint;
  let pinned: IntakeEndpoint;
  let film: IntakeEndpoint;
  let picture: Buffer;

  before(async () => {
    redis = await startRedis();
    connection = await connectTo(redis);
    const credential = {
      v: 1,
      endpoint: null,
      region: 'us-east-1',
      bucket: 'results',
      prefix: '',
      pathStyle: true,
      sealed: '',
    } as const;
    await publishCredentials(connection.redis, NAMESPACE, [
      { ...credential, id: 7, name: 'mine', verified: true },
      { ...credential, id: 8, name: 'broken', verified: false },
    ]);
    await publishCredentials(connection.redis, 'other', [
      { ...credential, id: 9, name: 'theirs', verified: true },
    ]);
    const start = (spec: Record<string, unknown>) => startIntake(describeModel(spec), connection.redis);
    const sizes = ['1024x1024', '512x512', '512x1024'];
    image = await start({
      kind: 'Image',
      image: { sizes, tasks: ['txt2img', 'img2img'], steps: extent },
      storage: { credential: 'usual' },
    });
    words = await start({ kind: 'Image', image: { sizes, tasks: ['txt2img'], parameters: [] } });
    const resolutions = ['720x1280', '480x832', '1280x720'];
    free = await start({ kind: 'Video', video: { resolutions, tasks: ['t2v', 'i2v'], steps: extent } });
    pinned = await start({ kind: 'Video', video: { resolutions, native: { seconds: 5, fps: 16 } } });
    film = await start({ kind: 'Video', video: { resolutions, tasks: ['i2v'] } });
    picture = await makePicture(64, 48);
  });
  after(async () => {
    for (const endpoint of [image, words, free, pinned, film]) await endpoint?.stop();
    await connection?.close();
    await redis?.stop();
  });
  afterEach('nothing lies in a spool', () => {
    for (const endpoint of [image, words, free, pinned, film]) {
      expect(endpoint.listSpooled()).to.deep.equal([]);
      expect(endpoint.spool.used).to.equal(0);
    }
  });

  async function send(endpoint: IntakeEndpoint, path: string, init: RequestInit): Promise<Outcome> {
    const response = await fetch(endpoint.origin + path, { method: 'POST', ...init });
    const body = (await response.json()) as {
      order: AnyOrder;
      error?: { code: string; param: string | null; message: string; documentation_url: string };
    };
    if (response.status !== 200) expect(body.error!.documentation_url).to.be.a('string');
    const { code = null, param = null, message = '' } = body.error ?? {};
    return { status: response.status, code, param, message, order: body.order };
  }

  const sendJSON = (endpoint: IntakeEndpoint, path: string, change: object = {}, headers = {}) =>
    send(endpoint, path, {
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: MODEL, prompt: 'A ship', ...change }),
    });

  type Part = string | number | Blob | (string | Blob)[] | null;
  function sendForm(
    endpoint: IntakeEndpoint,
    path: string,
    change: Record<string, Part> = {},
    headers: Record<string, string> = {},
  ) {
    const form = new FormData();
    const fields: Record<string, Part> = { model: MODEL, prompt: 'A ship', ...change };
    for (const [name, value] of Object.entries(fields))
      for (const each of Array.isArray(value) ? value : [value])
        if (each !== null) form.append(name, each instanceof Blob ? each : String(each));
    return send(endpoint, path, { body: form, headers });
  }

  const file = (bytes: Buffer = picture, type = 'application/octet-stream') =>
    new Blob([new Uint8Array(bytes)], { type });

  const generate = (change: object = {}, query = '') =>
    sendJSON(image, `/v1/images/generations${query}`, change);
  const edit = (change: Record<string, Part> = {}, query = '') =>
    sendForm(image, `/v1/images/edits${query}`, { image: file(), ...change });
  const shoot = (change: Record<string, Part> = {}, endpoint = free) =>
    sendForm(endpoint, '/v1/videos', { seconds: '5', size: '480x832', ...change });
  const animate = (change: object = {}, endpoint = free) =>
    sendJSON(endpoint, '/v1/videos/generations', change);

  describe('POST /v1/images/generations', () => {
    const wrong: [string, unknown[]][] = [
      ['model', [null, '', ' ', 5, {}, []]],
      ['prompt', [null, '', '  ', 5, true, {}, ['a']]],
      ['n', [0, -1, 1.5, 11, '2', true, {}, [1], 1e9]],
      ['size', [1024, {}, ['1024x1024'], true]],
      ['response_format', ['png', 5, {}, '']],
      ['negative_prompt', [5, {}, ['x']]],
      ['seed', ['1', 1.5, 1e30, {}, true]],
      ['steps', ['20', 1.5, {}, true]],
      ['guidance_scale', ['7', {}, true]],
      ['webhook_url', [5, {}, ['https://example.com'], true]],
      ['storage_credential_id', ['7', 7.5, {}, true, 1e30]],
    ];
    for (const [param, values] of wrong)
      for (const value of values)
        it(`answers 400 to \`${param}\` ${JSON.stringify(value)}`, async () => {
          expect(await generate({ [param]: value })).to.include({
            status: 400,
            code: 'invalid_request_error',
            param,
          });
        });

    const refused: [string, object, number, string, RegExp][] = [
      ['another model', { model: 'dall-e-3' }, 404, 'model_not_found', /berth\/chat/],
      ['another size', { size: '1x1' }, 422, 'size_not_supported', /512x512, 512x1024, 1024x1024/],
      ['no size at all', { size: '' }, 422, 'size_not_supported', /512x512/],
      ['an absurd size', { size: '9'.repeat(100_000) }, 422, 'size_not_supported', /512x512/],
      ['too long a prompt', { prompt: 'a'.repeat(32_001) }, 413, 'request_too_large', /32000/],
      ['too long a negative', { negative_prompt: 'a'.repeat(32_001) }, 413, 'request_too_large', /32000/],
      ['a callback by http', { webhook_url: 'http://example.com' }, 422, 'invalid_webhook_url', /https:\/\//],
      ['a callback to itself', { webhook_url: 'https://127.0.0.1' }, 422, 'invalid_webhook_url', /public/],
      ['a callback in disguise', { webhook_url: 'https://0x7f.1/' }, 422, 'invalid_webhook_url', /public/],
      ['a callback nowhere', { webhook_url: '' }, 422, 'invalid_webhook_url', /URL/],
      ['an unknown credential', { storage_credential_id: 1 }, 422, 'storage_credential_not_found', /1/],
      ['a negative credential', { storage_credential_id: -1 }, 422, 'storage_credential_not_found', /-1/],
      ["another's credential", { storage_credential_id: 9 }, 422, 'storage_credential_not_found', /9/],
      ['an unverified one', { storage_credential_id: 8 }, 422, 'storage_credential_not_verified', /broken/],
    ];
    for (const [what, change, status, code, message] of refused)
      it(`answers ${status} ${code} to ${what}`, async () => {
        const answer = await generate(change);
        expect([answer.status, answer.code]).to.deep.equal([status, code]);
        expect(answer.message).to.match(message);
        expect(answer.message.length).to.be.lessThan(400);
      });

    it('names the model before a size that it does not know', async () => {
      expect(await generate({ model: 'x', size: '1x1' })).to.include({ status: 404 });
    });

    it('takes null for absent, and reads over what it does not know', async () => {
      const nothing = { n: null, size: null, seed: null, steps: null, webhook_url: null };
      const unknown = {
        quality: {},
        style: 5,
        background: [],
        stream: 'x',
        __proto__: 1,
        partial_images: -1,
      };
      const { status, order } = await generate({ ...nothing, ...unknown });
      expect(status).to.equal(200);
      expect(order).to.deep.equal({
        kind: 'image',
        parameters: { task: 'txt2img', prompt: 'A ship', n: 1, size: '1024x1024', steps: 20 },
        images: [],
        mask: null,
        responseFormat: 'url',
        isAsync: false,
        isStream: false,
        idempotencyKey: null,
        webhookUrl: null,
        credential: 'usual',
      });
    });

    it('reads over the parameters that the model does not apply, whatever their type', async () => {
      const change = { seed: {}, steps: 'many', guidance_scale: [], negative_prompt: 5 };
      const { status, order } = await sendJSON(words, '/v1/images/generations', change);
      expect([status, order.parameters]).to.deep.equal([
        200,
        { task: 'txt2img', prompt: 'A ship', n: 1, size: '1024x1024' },
      ]);
    });

    it('takes a verified credential by its id', async () => {
      expect((await generate({ storage_credential_id: 7 })).order.credential).to.equal('mine');
    });

    const asked: [string, boolean | number][] = [
      ['?async=true', true],
      ['?async=1', true],
      ['?async=True', true],
      ['?async=false', false],
      ['?async=0', false],
      ['?async=', false],
      ['?other=true', false],
      ['?async=yes', 400],
      ['?async=%ff', 400],
    ];
    for (const [query, expected] of asked)
      it(`reads ${query} as ${expected}`, async () => {
        const { status, order } = await generate({}, query);
        expect(status === 200 ? order.isAsync : status).to.equal(expected);
      });

    it('answers 400 to an idempotency key of over 255 characters', async () => {
      const path = '/v1/images/generations';
      const long = await sendJSON(image, path, {}, { 'idempotency-key': 'a'.repeat(256) });
      expect(long).to.include({ status: 400, param: 'Idempotency-Key' });
      const most = await sendJSON(image, path, {}, { 'idempotency-key': 'a'.repeat(255) });
      expect(most.order.idempotencyKey).to.have.length(255);
    });

    it('answers 400 where the model makes no images from images', async () => {
      const answer = await sendForm(words, '/v1/images/edits', { image: file() });
      expect(answer).to.include({ status: 400, param: 'model' });
      expect(answer.message).to.contain('/v1/images/generations');
    });
  });

  describe('POST /v1/images/edits', () => {
    const refused: [string, () => Promise<Outcome>, number, string, string | null][] = [
      ['no image', () => edit({ image: null }), 400, 'invalid_request_error', 'image'],
      ['a text for an image', () => edit({ image: 'x' }), 400, 'invalid_request_error', 'image'],
      ['an address for an image', () => edit({ 'image[url]': 'x' }), 400, 'invalid_request_error', 'image'],
      ['a file for a prompt', () => edit({ prompt: file() }), 400, 'invalid_request_error', 'prompt'],
      ['two prompts', () => edit({ prompt: ['a', 'b'] }), 400, 'invalid_request_error', 'prompt'],
      ['two masks', () => edit({ mask: [file(), file()] }), 400, 'invalid_request_error', 'mask'],
      ['17 images', () => edit({ image: Array(17).fill(file()) }), 400, 'invalid_request_error', 'image'],
      ['101 fields', () => edit({ x: Array(101).fill('1') }), 400, 'invalid_request_error', null],
      ['41 files', () => edit({ x: Array(41).fill(file()) }), 400, 'invalid_request_error', null],
      ['no model', () => edit({ model: null }), 400, 'invalid_request_error', 'model'],
      ['an empty prompt', () => edit({ prompt: '' }), 400, 'invalid_request_error', 'prompt'],
      ['too long a prompt', () => edit({ prompt: 'a'.repeat(32_001) }), 413, 'request_too_large', 'prompt'],
      ['far too long a prompt', () => edit({ prompt: 'a'.repeat(2e6) }), 413, 'request_too_large', 'prompt'],
      ['n of words', () => edit({ n: 'two' }), 400, 'invalid_request_error', 'n'],
      ['n in hex', () => edit({ n: '0x2' }), 400, 'invalid_request_error', 'n'],
      ['a fraction of n', () => edit({ n: '1.5' }), 400, 'invalid_request_error', 'n'],
      ['a negative n', () => edit({ n: '-1' }), 400, 'invalid_request_error', 'n'],
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
      ['a queued mask', () => edit({ mask: file() }, '?async=true'), 400, 'async_mask_unsupported', 'mask'],
      ['an empty file', () => edit({ image: file(Buffer.alloc(0)) }), 400, 'invalid_image', 'image'],
      [
        'a text as an image',
        () => edit({ image: file(Buffer.from('hello')) }),
        400,
        'invalid_image',
        'image',
      ],
      [
        'a mask that is none',
        () => edit({ mask: file(Buffer.from('GIF89a')) }),
        400,
        'invalid_image',
        'mask',
      ],
      [
        'the start of an image',
        () => edit({ image: file(picture.subarray(0, 20)) }),
        400,
        'invalid_image',
        'image',
      ],
      ['a bomb', () => edit({ image: file(claimPixels(65_000, 65_000)) }), 400, 'invalid_image', 'image'],
      ['nothing by nothing', () => edit({ image: file(claimPixels(0, 0)) }), 400, 'invalid_image', 'image'],
    ];
    for (const [what, act, status, code, param] of refused)
      it(`answers ${status} ${code} to ${what}`, async () => {
        const answer = await act();
        expect([answer.status, answer.code, answer.param], answer.message).to.deep.equal([
          status,
          code,
          param,
        ]);
      });

    it('takes images however they are named, typed and ordered, numbers as texts', async () => {
      const { order } = await edit({
        'image[]': [file(), file(picture, 'text/plain')],
        mask: file(),
        n: '2',
        seed: '5.0',
        steps: '1000',
        guidance_scale: '7.5',
        stream: 'true',
        quality: 'high',
        extra: file(),
      });
      expect(order.images.map(({ contentType, fileName }) => [contentType, fileName])).to.deep.equal([
        ['image/png', 'image.png'],
        ['image/png', 'image-2.png'],
        ['image/png', 'image-3.png'],
      ]);
      expect(order.images[0]!.bytes).to.equal(picture.length);
      expect(order).to.deep.include({
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
      expect(order.mask!.fileName).to.equal('mask.png');
    });

    it('answers 415 to JSON', async () => {
      expect(await sendJSON(image, '/v1/images/edits')).to.include({
        status: 415,
        code: 'unsupported_media_type',
      });
    });

    /** The picture with other dimensions in its header. */
    function claimPixels(width: number, height: number): Buffer {
      const bytes = Buffer.from(picture);
      bytes.writeUInt32BE(width, 16);
      bytes.writeUInt32BE(height, 20);
      return bytes;
    }
  });

  describe('POST /v1/videos', () => {
    const refused: [string, () => Promise<Outcome>, number, string, string | RegExp][] = [
      ...[null, 'abc', 'NaN', 'Infinity', '-1', '0', '1e9', '1e999', '0x5', '', '5s'].map(
        (seconds): [string, () => Promise<Outcome>, number, string, string] => [
          `seconds ${seconds}`,
          () => shoot({ seconds }),
          400,
          'invalid_request_error',
          'seconds',
        ],
      ),
      ['no size', () => shoot({ size: null }), 400, 'invalid_request_error', 'size'],
      ['no prompt', () => shoot({ prompt: null }), 400, 'invalid_request_error', 'prompt'],
      ['no model', () => shoot({ model: null }), 400, 'invalid_request_error', 'model'],
      ['fps of words', () => shoot({ fps: 'fast' }), 400, 'invalid_request_error', 'fps'],
      ['a fraction of fps', () => shoot({ fps: '24.5' }), 400, 'invalid_request_error', 'fps'],
      ['no fps at all', () => shoot({ fps: '0' }), 400, 'invalid_request_error', 'fps'],
      ['absurd fps', () => shoot({ fps: '1e9' }), 400, 'invalid_request_error', 'fps'],
      ['a seed of words', () => shoot({ seed: 'x' }), 400, 'invalid_request_error', 'seed'],
      ['steps of words', () => shoot({ steps: 'x' }), 400, 'invalid_request_error', 'steps'],
      ['another model', () => shoot({ model: 'sora-2' }), 404, 'model_not_found', 'model'],
      ['another size', () => shoot({ size: '1x1' }), 422, 'resolution_not_supported', 'size'],
      [
        'a reference as text',
        () => shoot({ input_reference: 'x' }),
        400,
        'invalid_request_error',
        'input_reference',
      ],
      [
        'a reference by address',
        () => shoot({ 'input_reference[image_url]': 'https://example.com/a.png' }),
        400,
        'invalid_request_error',
        'input_reference',
      ],
      [
        'a reference that is no image',
        () => shoot({ input_reference: file(Buffer.from('x')) }),
        400,
        'invalid_image',
        'input_reference',
      ],
      [
        'a reference where none is taken',
        () => shoot({ input_reference: file() }, pinned),
        400,
        'invalid_request_error',
        'input_reference',
      ],
      ['no reference', () => shoot({}, film), 400, 'invalid_request_error', 'input_reference'],
      ['0.51 s too long', () => shoot({ seconds: '5.51' }, pinned), 422, 'duration_mismatch', 'seconds'],
      ['1e9 s', () => shoot({ seconds: '1e9' }, pinned), 422, 'duration_mismatch', 'seconds'],
      ['other fps', () => shoot({ fps: '24' }, pinned), 422, 'fps_mismatch', 'fps'],
      ['negative fps', () => shoot({ fps: '-16' }, pinned), 422, 'fps_mismatch', 'fps'],
    ];
    for (const [what, act, status, code, param] of refused)
      it(`answers ${status} ${code} to ${what}`, async () => {
        const answer = await act();
        expect([answer.status, answer.code, answer.param], answer.message).to.deep.equal([
          status,
          code,
          param,
        ]);
      });

    it('takes a reference, and makes 4n+1 frames of free models, all of pinned ones', async () => {
      const { order } = await shoot({ seconds: '4.0', fps: '8', input_reference: file() });
      expect(order).to.deep.include({
        parameters: { task: 'i2v', prompt: 'A ship', size: '480x832', frames: 33, fps: 8, steps: 20 },
        seconds: '4',
      });
      expect(order.reference).to.include({ contentType: 'image/png', fileName: 'input_reference.png' });
      const own = await shoot({ seconds: '5.5' }, pinned);
      expect(own.order).to.deep.include({
        parameters: { task: 't2v', prompt: 'A ship', size: '480x832', frames: 80, fps: 16 },
        seconds: '5',
      });
    });

    it('answers 415 to JSON', async () => {
      expect(await sendJSON(free, '/v1/videos')).to.include({ status: 415 });
    });
  });

  describe('POST /v1/videos/generations', () => {
    const wrong: [string, unknown[]][] = [
      ['model', [null, 5]],
      ['prompt', [null, '', 5, []]],
      ['resolution', [5, {}, []]],
      ['duration', ['5', 0, -1, 1e9, {}, true]],
      ['fps', ['24', 24.5, 0, -1, 241, {}]],
      ['seed', ['1', 0.5, {}]],
      ['steps', ['1', 0.5, {}]],
      ['negative_prompt', [5, {}]],
      ['webhook_url', [5, {}]],
      ['storage_credential_id', ['7', 0.5, {}]],
    ];
    for (const [param, values] of wrong)
      for (const value of values)
        it(`answers 400 to \`${param}\` ${JSON.stringify(value)}`, async () => {
          expect(await animate({ [param]: value })).to.include({
            status: 400,
            code: 'invalid_request_error',
            param,
          });
        });

    it('answers 422 with the resolutions in order to another', async () => {
      const answer = await animate({ resolution: '704x1280' });
      expect(answer).to.include({ status: 422, code: 'resolution_not_supported', param: 'resolution' });
      expect(answer.message).to.contain('480x832, 720x1280, 1280x720');
    });

    it('fills in what is left out, and lets the resolution fall to multiples of 32', async () => {
      const { order } = await animate();
      expect(order).to.deep.include({
        parameters: { task: 't2v', prompt: 'A ship', size: '704x1280', frames: 121, fps: 24, steps: 20 },
        seconds: '5',
      });
      const own = await animate({}, pinned);
      expect(own.order.parameters).to.include({ size: '720x1280', frames: 80, fps: 16 });
    });

    it('sends models that need an image to the other route', async () => {
      const answer = await animate({}, film);
      expect(answer).to.include({ status: 400, param: 'model' });
      expect(answer.message).to.contain('POST /v1/videos');
    });
  });
});
