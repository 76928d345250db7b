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

type Name = 'free' | 'pinned' | 'film' | 'several';

describe('bad input of video routes', () => {
  let intakes: Intakes<Name>;
  let picture: Buffer;

  before(async () => {
    picture = await makePicture(64, 48);
    const resolutions = ['720x1280', '480x832', '1280x720'];
    const steps = { min: 2, max: 50, default: 20 };
    intakes = await startIntakes({
      free: { kind: 'Video', video: { resolutions, tasks: ['t2v', 'i2v'], steps } },
      pinned: { kind: 'Video', video: { resolutions, native: { seconds: 5, fps: 16 } } },
      film: { kind: 'Video', video: { resolutions, tasks: ['i2v'] } },
      several: { kind: 'Video', video: { resolutions, tasks: ['i2v'], references: 3 } },
    });
  });
  after(() => intakes?.stop());
  afterEach('nothing lies in a spool', () => intakes.expectNothingSpooled());

  const makeImage = (bytes = picture) => makeFile(bytes);
  const shoot = (change: Record<string, Part> = {}, name: Name = 'free') =>
    sendForm(intakes.endpoints[name], '/v1/videos', { seconds: '5', size: '480x832', ...change });
  const animate = (change: object = {}, name: Name = 'free') =>
    sendJSON(intakes.endpoints[name], '/v1/videos/generations', change);

  describe('POST /v1/videos', () => {
    const refused: Refusal[] = [
      ...(
        [
          ['missing_required_parameter', [null, '']],
          ['invalid_type', ['abc', 'NaN', 'Infinity', '1e999', '0x5', '5s']],
          ['decimal_below_min_value', ['-1', '0']],
          ['decimal_above_max_value', ['1e9']],
        ] as const
      ).flatMap(([code, values]) =>
        values.map(
          (seconds): Refusal => [`seconds ${seconds}`, () => shoot({ seconds }), 400, code, 'seconds'],
        ),
      ),
      ['no size', () => shoot({ size: null }), 400, 'missing_required_parameter', 'size'],
      ['no prompt', () => shoot({ prompt: null }), 400, 'missing_required_parameter', 'prompt'],
      ['no model', () => shoot({ model: null }), 400, 'missing_required_parameter', 'model'],
      ['fps of words', () => shoot({ fps: 'fast' }), 400, 'invalid_type', 'fps'],
      ['a fraction of fps', () => shoot({ fps: '24.5' }), 400, 'invalid_type', 'fps'],
      ['no fps at all', () => shoot({ fps: '0' }), 400, 'integer_below_min_value', 'fps'],
      ['absurd fps', () => shoot({ fps: '1e9' }), 400, 'integer_above_max_value', 'fps'],
      ['a seed of words', () => shoot({ seed: 'x' }), 400, 'invalid_type', 'seed'],
      ['steps of words', () => shoot({ steps: 'x' }), 400, 'invalid_type', 'steps'],
      ['another model', () => shoot({ model: 'sora-2' }), 404, 'model_not_found', 'model'],
      ['another size', () => shoot({ size: '1x1' }), 422, 'resolution_not_supported', 'size'],
      ['a reference as text', () => shoot({ input_reference: 'x' }), 400, 'invalid_type', 'input_reference'],
      [
        'a reference by another member',
        () => shoot({ 'input_reference[url]': 'https://example.com/a.png' }),
        400,
        'invalid_type',
        'input_reference',
      ],
      [
        'a reference that is no image',
        () => shoot({ input_reference: makeImage(Buffer.from('x')) }),
        400,
        'invalid_image',
        'input_reference',
      ],
      ...[40, -12].map(
        (end): Refusal => [
          `a reference that ends at byte ${end}`,
          () => shoot({ input_reference: makeImage(picture.subarray(0, end)) }),
          400,
          'invalid_image',
          'input_reference',
        ],
      ),
      [
        'a reference where none is taken',
        () => shoot({ input_reference: makeImage() }, 'pinned'),
        400,
        'unsupported_parameter',
        'input_reference',
      ],
      ['no reference', () => shoot({}, 'film'), 400, 'missing_required_parameter', 'input_reference'],
      ['0.51 s too long', () => shoot({ seconds: '5.51' }, 'pinned'), 422, 'duration_mismatch', 'seconds'],
      ['1e9 s', () => shoot({ seconds: '1e9' }, 'pinned'), 422, 'duration_mismatch', 'seconds'],
      ['other fps', () => shoot({ fps: '24' }, 'pinned'), 422, 'fps_mismatch', 'fps'],
      ['negative fps', () => shoot({ fps: '-16' }, 'pinned'), 422, 'fps_mismatch', 'fps'],
    ];
    for (const refusal of refused)
      it(`answers ${refusal[2]} ${refusal[3]} to ${refusal[0]}`, () => expectRefusal(refusal));

    it('takes several references where the model does, in their order', async () => {
      const three = [makeImage(), makeImage(), makeImage()];
      const { request } = await shoot({ input_reference: three }, 'several');
      expect(request.references.map(({ fileName }) => fileName)).to.deep.equal([
        'input_reference.png',
        'input_reference-2.png',
        'input_reference-3.png',
      ]);
      for (const [name, files] of [
        ['several', [...three, makeImage()]],
        ['free', [makeImage(), makeImage()]],
      ] as const)
        expect(await shoot({ input_reference: [...files] }, name)).to.include({
          status: 400,
          param: 'input_reference',
        });
    });

    it('takes a reference, and makes 4n+1 frames of free models, all of pinned ones', async () => {
      const { request } = await shoot({ seconds: '4.0', fps: '8', input_reference: makeImage() });
      expect(request).to.deep.include({
        parameters: { task: 'i2v', prompt: 'A ship', size: '480x832', frames: 33, fps: 8, steps: 20 },
        seconds: '4.125',
        askedSeconds: 4,
      });
      expect(request.references[0]).to.include({ contentType: 'image/png', fileName: 'input_reference.png' });
      const own = await shoot({ seconds: '5.5' }, 'pinned');
      expect(own.request).to.deep.include({
        parameters: { task: 't2v', prompt: 'A ship', size: '480x832', frames: 80, fps: 16 },
        seconds: '5',
      });
    });

    it('answers 415 with what it takes to other types', async () => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const answer = await sendJSON(intakes.endpoints.free, '/v1/videos', {}, headers);
      expect(answer).to.include({ status: 415, code: 'unsupported_media_type' });
      expect(answer.message).to.contain('multipart/form-data or application/json');
    });
  });

  describe('POST /v1/videos with JSON', () => {
    const make = (change: object = {}, name: Name = 'free') =>
      sendJSON(intakes.endpoints[name], '/v1/videos', { seconds: '5', size: '480x832', ...change });

    it('reads what the form reads, numbers as texts or not', async () => {
      const fields = { seconds: '4.0', fps: '8', seed: '5', steps: '1000', negative_prompt: 'rain' };
      const form = await shoot(fields);
      expect(form.message).to.equal('');
      for (const json of [fields, { ...fields, seconds: 4, fps: 8, seed: 5, steps: 1000 }])
        expect((await make(json)).request).to.deep.equal(form.request);
      const own = await make({ seconds: 5.5, input_reference: null, unknown: { x: 1 } }, 'pinned');
      expect(own.request).to.deep.include({ seconds: '5', references: [] });
    });

    const wrong: [string, unknown[]][] = [
      ['model', [null, 5, '']],
      ['prompt', [null, 5, '', []]],
      ['seconds', [null, '', 'abc', '0x5', 0, -1, 1e9, {}, [], true]],
      ['size', [null, '']],
      ['fps', ['fast', 24.5, '24.5', 0, 241, {}, true]],
      ['seed', ['x', 0.5, {}]],
      ['steps', ['x', 0.5, {}]],
      ['negative_prompt', [5, {}]],
      ['storage_credential_id', ['x', 0.5, {}]],
    ];
    for (const [param, values] of wrong)
      for (const value of values)
        it(`answers 400 to \`${param}\` ${JSON.stringify(value)}`, async () => {
          expect(await make({ [param]: value })).to.include({ status: 400, param });
        });

    const refused: Refusal[] = [
      ['another size', () => make({ size: '1x1' }), 422, 'resolution_not_supported', 'size'],
      ['another model', () => make({ model: 'sora-2' }), 404, 'model_not_found', 'model'],
      ['no reference', () => make({}, 'film'), 400, 'missing_required_parameter', 'input_reference'],
      ['0.51 s too long', () => make({ seconds: 5.51 }, 'pinned'), 422, 'duration_mismatch', 'seconds'],
      ['other fps', () => make({ fps: 24 }, 'pinned'), 422, 'fps_mismatch', 'fps'],
      [
        'a private callback',
        () => make({ webhook_url: 'https://10.0.0.1/' }),
        422,
        'invalid_webhook_url',
        'webhook_url',
      ],
    ];
    for (const refusal of refused)
      it(`answers ${refusal[2]} ${refusal[3]} to ${refusal[0]}`, () => expectRefusal(refusal));
  });

  describe('POST /v1/videos/generations', () => {
    const wrong: [string, string, unknown[]][] = [
      ['model', 'missing_required_parameter', [null]],
      ['model', 'invalid_type', [5]],
      ['prompt', 'missing_required_parameter', [null]],
      ['prompt', 'empty_string', ['']],
      ['prompt', 'invalid_type', [5, []]],
      ['duration', 'invalid_type', ['5', {}, true]],
      ['duration', 'decimal_below_min_value', [0, -1]],
      ['duration', 'decimal_above_max_value', [1e9]],
      ['fps', 'invalid_type', ['24', 24.5, {}]],
      ['fps', 'integer_below_min_value', [0, -1]],
      ['fps', 'integer_above_max_value', [241]],
      ['seed', 'invalid_type', ['1', 0.5, {}]],
      ['steps', 'invalid_type', ['1', 0.5, {}]],
      ['negative_prompt', 'invalid_type', [5, {}]],
      ['storage_credential_id', 'invalid_type', ['7', 0.5, {}]],
    ];
    for (const [param, code, values] of wrong)
      for (const value of values)
        it(`answers 400 ${code} to \`${param}\` ${JSON.stringify(value)}`, async () => {
          expect(await animate({ [param]: value })).to.include({
            status: 400,
            code,
            param,
          });
        });

    const invalid: [string, unknown[], string, RegExp][] = [
      ['resolution', [5, {}, []], 'resolution_not_supported', /480x832, 720x1280, 1280x720/],
      ['webhook_url', [5, {}], 'invalid_webhook_url', /public HTTPS/],
    ];
    for (const [param, values, code, hint] of invalid)
      for (const value of values)
        it(`answers 422 ${code} to \`${param}\` ${JSON.stringify(value)}`, async () => {
          const answer = await animate({ [param]: value });
          expect(answer).to.include({ status: 422, code, param });
          expect(answer.message).to.match(hint);
        });

    it('answers 422 with the resolutions in order to another', async () => {
      const answer = await animate({ resolution: '704x1280' });
      expect(answer).to.include({ status: 422, code: 'resolution_not_supported', param: 'resolution' });
      expect(answer.message).to.contain('480x832, 720x1280, 1280x720');
    });

    it('fills in what is left out, and lets the resolution fall to multiples of 32', async () => {
      const { request } = await animate();
      expect(request).to.deep.include({
        parameters: { task: 't2v', prompt: 'A ship', size: '704x1280', frames: 121, fps: 24, steps: 20 },
        seconds: '5.042',
      });
      const own = await animate({}, 'pinned');
      expect(own.request.parameters).to.include({ size: '720x1280', frames: 80, fps: 16 });
    });

    it('sends models that need an image to the other route', async () => {
      const answer = await animate({}, 'film');
      expect(answer).to.include({ status: 400, param: 'model' });
      expect(answer.message).to.contain('POST /v1/videos');
    });
  });
});
