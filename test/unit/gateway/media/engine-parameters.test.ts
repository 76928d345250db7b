import { expect } from 'chai';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { FieldReader } from '../../../../gateway/media/field-reader.ts';
import { readImageParameters } from '../../../../gateway/media/image-parameters.ts';
import { describeSupportedParameters } from '../../../../gateway/media/supported-parameters.ts';
import { readVideoGenerationParameters } from '../../../../gateway/media/video-parameters.ts';
import { describeModel } from '../../../support/model-replica.ts';

const PRESETS = ['vllm-omni', 'sglang-diffusion', 'simulator'] as const;
type Preset = (typeof PRESETS)[number];

describe('parameters by engine', () => {
  const model = (preset: Preset, kind: 'Image' | 'Video', more: object = {}) =>
    describeModel({
      kind,
      engine: { preset },
      ...(kind === 'Image' ? { image: { tasks: ['txt2img', 'img2img'], ...more } } : { video: more }),
    });
  const readBy = (config: ReturnType<typeof model>, change: object) => {
    const fields = FieldReader.ofJSON({ model: 'berth/chat', prompt: 'x', ...change });
    return config.kind === 'Image'
      ? readImageParameters(fields, 'txt2img', config).parameters
      : readVideoGenerationParameters(fields, config).parameters;
  };
  const refuse = (preset: Preset, kind: 'Image' | 'Video', change: object, more: object = {}): ApiError => {
    try {
      readBy(model(preset, kind, more), change);
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
    throw new Error(`${preset} took ${JSON.stringify(change)}`);
  };

  for (const kind of ['Image', 'Video'] as const) {
    it(`answers 422 to a negative seed of SGLang Diffusion before the ${kind.toLowerCase()} is queued`, () => {
      const error = refuse('sglang-diffusion', kind, { seed: -1 });
      expect(error).to.include({ status: 422, code: 'integer_below_min_value' });
      expect(error.message).to.equal('`seed` must be at least 0 for SGLang Diffusion, not -1.');
      for (const preset of ['vllm-omni', 'simulator'] as const)
        expect(readBy(model(preset, kind), { seed: -1 })).to.include({ seed: -1 });
    });

    for (const name of ['guidance_scale', 'true_cfg_scale'])
      it(`answers 422 to a \`${name}\` above 20 of vLLM-Omni, with what is allowed: ${kind}`, () => {
        expect(refuse('vllm-omni', kind, { [name]: 20.5 }).message).to.equal(
          `\`${name}\` must be from 0 to 20 for vLLM-Omni, not 20.5.`,
        );
        expect(refuse('vllm-omni', kind, { [name]: -1 }).status).to.equal(422);
        readBy(model('sglang-diffusion', kind), { [name]: 20.5 });
      });

    it(`passes on what both real engines read: ${kind}`, () => {
      const sent = { guidance_scale: 4, true_cfg_scale: 2.5, flow_shift: 3 };
      for (const preset of ['vllm-omni', 'sglang-diffusion'] as const)
        expect(readBy(model(preset, kind), sent)).to.include({
          guidanceScale: 4,
          trueCfgScale: 2.5,
          flowShift: 3,
        });
      expect(readBy(model('simulator', kind), sent)).not.to.have.any.keys('trueCfgScale', 'flowShift');
      const listed = { parameters: ['flow_shift'] };
      expect(readBy(model('simulator', kind, listed), sent)).to.include({ flowShift: 3 });
    });

    it(`passes those members of \`extra_params\` on that the deployment lists: ${kind}`, () => {
      const extraParams = ['cfg_truncation', 'zero_steps'];
      const sent = { extra_params: { cfg_truncation: 0.5 } };
      expect(readBy(model('vllm-omni', kind, { extraParams }), sent)).to.deep.include({
        extraParams: { cfg_truncation: 0.5 },
      });
      const error = refuse('vllm-omni', kind, { extra_params: { audio_path: '/etc' } }, { extraParams });
      expect(error.message).to.include('audio_path').and.to.include('cfg_truncation, zero_steps');
      expect(error.status).to.equal(400);
      // Neither if none are listed, nor for an engine that would read them as fields of the request.
      for (const config of [model('vllm-omni', kind), model('sglang-diffusion', kind, { extraParams })])
        expect(readBy(config, sent)).not.to.have.property('extraParams');
    });
  }

  it('refuses `extra_params` beyond its bounds, in a body and in a form', () => {
    const config = model('vllm-omni', 'Image', { extraParams: ['a'] });
    const nest = (depth: number): object => (depth === 0 ? {} : { a: nest(depth - 1) });
    const wrong = [5, 'x', [], nest(9), { a: 'x'.repeat(17_000) }, { a: Array(2_000).fill(0) }];
    for (const value of wrong) {
      const asForm = new Map([
        ['model', 'berth/chat'],
        ['prompt', 'x'],
        ['extra_params', typeof value === 'string' ? value : JSON.stringify(value)],
      ]);
      for (const fields of [
        FieldReader.ofJSON({ model: 'berth/chat', prompt: 'x', extra_params: value }),
        FieldReader.ofForm(asForm),
      ])
        expect(() => readImageParameters(fields, 'txt2img', config), JSON.stringify(value).slice(0, 50))
          .to.throw(ApiError)
          .with.nested.property('details.param', 'extra_params');
    }
    const form = FieldReader.ofForm(
      new Map([
        ['model', 'berth/chat'],
        ['prompt', 'x'],
        ['extra_params', '{"a": [1, {"b": null}]}'],
      ]),
    );
    expect(readImageParameters(form, 'txt2img', config).parameters.extraParams).to.deep.equal({
      a: [1, { b: null }],
    });
  });

  it('takes a repeat with other `extra_params` for another request', () => {
    const fingerprint = (extra_params: object) => FieldReader.ofJSON({ extra_params }).list(['extra_params']);
    expect(fingerprint({ a: 1 })).to.deep.equal([['extra_params', '{"a":1}']]);
    expect(fingerprint({ a: 1 })).not.to.deep.equal(fingerprint({ a: 2 }));
  });

  it('takes `output_format` of images, one of three', () => {
    expect(readBy(model('vllm-omni', 'Image'), { output_format: 'webp' })).to.include({
      outputFormat: 'webp',
    });
    expect(refuse('sglang-diffusion', 'Image', { output_format: 'gif' }).message).to.include('"webp"');
    expect(readBy(model('simulator', 'Image'), { output_format: 'gif' })).not.to.have.property(
      'outputFormat',
    );
  });

  describe('are listed by GET /v1/models', () => {
    const list = (preset: Preset, kind: 'Image' | 'Video', more: object = {}) =>
      describeSupportedParameters(model(preset, kind, more))!;

    it('with a mask where the engine reads one, and the model inpaints', () => {
      expect(list('simulator', 'Image').img2img!.parameters).to.include('mask');
      expect(list('vllm-omni', 'Image').img2img!.parameters).to.include('mask');
      expect(list('vllm-omni', 'Image', { mask: false }).img2img!.parameters).not.to.include('mask');
      expect(list('sglang-diffusion', 'Image', { mask: true }).img2img!.parameters).not.to.include('mask');
    });

    it('by task: vLLM-Omni reads no shift and no extra parameters of edits', () => {
      const listed = list('vllm-omni', 'Image', { extraParams: ['a'] });
      expect(listed.txt2img!.parameters).to.include.members(['flow_shift', 'extra_params', 'output_format']);
      expect(listed.img2img!.parameters).to.include('true_cfg_scale').and.not.to.include('flow_shift');
      expect(listed.img2img!.parameters).not.to.include('extra_params');
    });

    it('for videos, too', () => {
      expect(list('sglang-diffusion', 'Video').t2v!.parameters).to.include.members([
        'guidance_scale',
        'true_cfg_scale',
        'flow_shift',
        'fps',
      ]);
      expect(list('simulator', 'Video').t2v!.parameters).not.to.include('guidance_scale');
    });
  });
});
