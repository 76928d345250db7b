import { expect } from 'chai';
import { type Intakes, sendJSON, startIntakes } from './intake-calls.ts';

describe('bad input of POST /v1/images/generations', () => {
  let intakes: Intakes<'image' | 'words'>;

  before(async () => {
    const sizes = ['1024x1024', '512x512', '512x1024'];
    const steps = { min: 2, max: 50, default: 20 };
    intakes = await startIntakes({
      image: { kind: 'Image', image: { sizes, steps }, storage: { credential: 'usual' } },
      words: { kind: 'Image', image: { sizes, parameters: [] } },
    });
  });
  after(() => intakes?.stop());
  afterEach('nothing lies in a spool', () => intakes.expectNothingSpooled());

  const generate = (change: object = {}, query = '') =>
    sendJSON(intakes.endpoints.image, `/v1/images/generations${query}`, change);

  const wrong: [string, string, unknown[]][] = [
    ['model', 'missing_required_parameter', [null]],
    ['model', 'empty_string', ['', ' ']],
    ['model', 'invalid_type', [5, {}, []]],
    ['prompt', 'missing_required_parameter', [null]],
    ['prompt', 'empty_string', ['', '  ']],
    ['prompt', 'invalid_type', [5, true, {}, ['a']]],
    ['n', 'integer_below_min_value', [0, -1]],
    ['n', 'integer_above_max_value', [11, 1e9]],
    ['n', 'invalid_type', [1.5, '2', true, {}, [1]]],
    ['response_format', 'invalid_value', ['png', '']],
    ['response_format', 'invalid_type', [5, {}]],
    ['negative_prompt', 'invalid_type', [5, {}, ['x']]],
    ['seed', 'invalid_type', ['1', 1.5, {}, true]],
    ['seed', 'integer_above_max_value', [1e30]],
    ['steps', 'invalid_type', ['20', 1.5, {}, true]],
    ['guidance_scale', 'invalid_type', ['7', {}, true]],
    ['storage_credential_id', 'invalid_type', ['7', 7.5, {}, true]],
    ['storage_credential_id', 'integer_above_max_value', [1e30]],
  ];
  for (const [param, code, values] of wrong)
    for (const value of values)
      it(`answers 400 ${code} to \`${param}\` ${JSON.stringify(value)}`, async () => {
        expect(await generate({ [param]: value })).to.include({
          status: 400,
          code,
          param,
        });
      });

  const refused: [string, object, number, string, RegExp][] = [
    ['another model', { model: 'dall-e-3' }, 404, 'model_not_found', /berth\/chat/],
    ['another size', { size: '1x1' }, 422, 'size_not_supported', /512x512, 512x1024, 1024x1024/],
    ['a size as a number', { size: 1024 }, 422, 'size_not_supported', /512x512, 512x1024, 1024x1024/],
    ['a list of sizes', { size: ['1024x1024'] }, 422, 'size_not_supported', /512x512, 512x1024, 1024x1024/],
    ['a callback as a number', { webhook_url: 5 }, 422, 'invalid_webhook_url', /https:\/\//],
    [
      'a list of callbacks',
      { webhook_url: ['https://example.com'] },
      422,
      'invalid_webhook_url',
      /public HTTPS/,
    ],
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
    const { status, request } = await generate({ ...nothing, ...unknown });
    expect(status).to.equal(200);
    expect(request).to.deep.equal({
      kind: 'image',
      parameters: { task: 'txt2img', prompt: 'A ship', n: 1, size: '1024x1024', steps: 20 },
      images: [],
      mask: null,
      responseFormat: 'url',
      isAsync: false,
      isStream: false,
      idempotencyKey: null,
      fingerprint: null,
      webhookUrl: null,
      credential: 'usual',
    });
  });

  it('reads over the parameters that the model does not apply, whatever their type', async () => {
    const change = { seed: {}, steps: 'many', guidance_scale: [], negative_prompt: 5 };
    const { status, request } = await sendJSON(intakes.endpoints.words, '/v1/images/generations', change);
    expect([status, request.parameters]).to.deep.equal([
      200,
      { task: 'txt2img', prompt: 'A ship', n: 1, size: '1024x1024' },
    ]);
  });

  it('takes the size `auto` for the model’s default', async () => {
    expect((await generate({ size: 'auto' })).request.parameters).to.include({ size: '1024x1024' });
  });

  it('takes a verified credential by its id', async () => {
    expect((await generate({ storage_credential_id: 7 })).request.credential).to.equal('mine');
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
      const { status, request } = await generate({}, query);
      expect(status === 200 ? request.isAsync : status).to.equal(expected);
    });

  it('answers 400 to an idempotency key of over 255 characters', async () => {
    const path = '/v1/images/generations';
    const long = await sendJSON(intakes.endpoints.image, path, {}, { 'idempotency-key': 'a'.repeat(256) });
    expect(long).to.include({ status: 400, param: 'Idempotency-Key' });
    const most = await sendJSON(intakes.endpoints.image, path, {}, { 'idempotency-key': 'a'.repeat(255) });
    expect(most.request.idempotencyKey).to.have.length(255);
  });
});
