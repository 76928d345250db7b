import { expect } from 'chai';
import { describeSupportedParameters } from '../../../../gateway/media/supported-parameters.ts';
import { describeModel } from '../../../support/model-replica.ts';

const BASICS = ['prompt', 'n', 'size', 'response_format', 'webhook_url', 'storage_credential_id'];
const steps = { min: 1, max: 50, default: 20 };

describe('supported parameters', () => {
  const of = (spec: Record<string, unknown>) => describeSupportedParameters(describeModel(spec));

  for (const kind of ['LLM', 'Embedding'])
    it(`are absent of ${kind} models`, () => {
      expect(of({ kind })).to.equal(undefined);
    });

  it('stand by task, with the range of steps', () => {
    const supported = of({ kind: 'Image', image: { tasks: ['txt2img', 'img2img'], steps } })!;
    expect(Object.keys(supported)).to.deep.equal(['txt2img', 'img2img']);
    expect(supported.txt2img).to.deep.equal({
      parameters: [
        'prompt',
        'n',
        'size',
        'response_format',
        'webhook_url',
        'storage_credential_id',
        'negative_prompt',
        'seed',
        'steps',
        'num_inference_steps',
        'guidance_scale',
      ],
      num_inference_steps: steps,
    });
    expect(supported.img2img!.parameters).to.include.members(['image', 'mask']);
  });

  it('hold only what the model applies', () => {
    const supported = of({ kind: 'Image', image: { parameters: ['seed'], steps } })!;
    expect(supported).to.deep.equal({
      txt2img: { parameters: [...BASICS, 'seed'] },
    });
  });

  it('leave out steps without a range', () => {
    const supported = of({ kind: 'Image', image: { parameters: ['num_inference_steps'] } })!;
    expect(supported).to.deep.equal({ txt2img: { parameters: BASICS } });
  });

  it('of videos hold the names of both routes, and of a pinned model fps', () => {
    const video = { tasks: ['t2v', 'i2v'], parameters: [], native: { seconds: 5, fps: 16 } };
    expect(of({ kind: 'Video', video })).to.deep.equal({
      t2v: {
        parameters: [
          'prompt',
          'size',
          'resolution',
          'seconds',
          'duration',
          'webhook_url',
          'storage_credential_id',
          'fps',
        ],
      },
      i2v: {
        parameters: [
          'input_reference',
          'prompt',
          'size',
          'seconds',
          'webhook_url',
          'storage_credential_id',
          'fps',
        ],
      },
    });
  });
});
