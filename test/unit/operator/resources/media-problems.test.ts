import { expect } from 'chai';
import { build } from './fixtures.ts';

describe('a spec of images or videos', () => {
  const list = (preset: string, kind: 'Image' | 'Video', model: object = {}): string[] =>
    build({ kind, engine: { preset }, [kind === 'Image' ? 'image' : 'video']: model }).problems.map(
      ({ reason, message }) => `${reason}: ${message}`,
    );
  const steps = { min: 1, max: 201, default: 20 };

  it('is accepted as it is by default, of every engine', () => {
    for (const preset of ['vllm-omni', 'sglang-diffusion', 'simulator'])
      for (const kind of ['Image', 'Video'] as const) expect(list(preset, kind)).to.deep.equal([]);
  });

  it('is refused for sizes that vLLM-Omni cannot make', () => {
    expect(list('vllm-omni', 'Image', { sizes: ['512x512', '500x512', '512x1000'] })).to.deep.equal([
      'MediaNotSupported: spec.image.sizes: vLLM-Omni supports only sides that are multiples of 16, not 500x512, 512x1000',
    ]);
    expect(list('vllm-omni', 'Video', { resolutions: ['854x480'] })[0]).to.match(
      /spec.video.resolutions: .*854x480/,
    );
    expect(list('simulator', 'Image', { sizes: ['500x512'] })).to.deep.equal([]);
  });

  it('is refused for more steps than vLLM-Omni makes', () => {
    expect(list('vllm-omni', 'Image', { steps })).to.deep.equal([
      'MediaNotSupported: spec.image.steps.max 201: vLLM-Omni supports at most 200 steps',
    ]);
    expect(list('sglang-diffusion', 'Video', { steps })).to.deep.equal([]);
  });

  it('is refused for more references, or images a request, than the engine takes', () => {
    expect(list('sglang-diffusion', 'Video', { references: 2 })).to.deep.equal([
      'MediaNotSupported: spec.video.references 2: SGLang Diffusion accepts at most 1',
    ]);
    expect(list('vllm-omni', 'Video', { references: 9 })).to.deep.equal([]);
    const { problems } = build({
      kind: 'Image',
      engine: { preset: 'sglang-diffusion' },
      limits: { imagesPerRequest: 11 },
    });
    expect(problems.map(({ message }) => message)).to.deep.equal([
      'spec.limits.imagesPerRequest 11: SGLang Diffusion generates at most 10 images per request',
    ]);
  });

  it('is refused for masks and extra parameters that SGLang Diffusion does not take', () => {
    expect(list('sglang-diffusion', 'Image', { mask: true })[0]).to.match(/spec.image.mask/);
    expect(list('sglang-diffusion', 'Image', { mask: false })).to.deep.equal([]);
    expect(list('sglang-diffusion', 'Video', { extraParams: ['a'] })[0]).to.match(/spec.video.extraParams/);
    expect(list('vllm-omni', 'Video', { extraParams: ['a'] })).to.deep.equal([]);
    expect(
      list('vllm-omni', 'Image', { tasks: ['img2img'], extraParams: ['a'] }),
      'edits take none',
    ).to.have.lengthOf(1);
  });
});
