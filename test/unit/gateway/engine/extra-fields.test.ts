import { expect } from 'chai';
import { addSeed, listExtraFields } from '../../../../gateway/engine/extra-fields.ts';
import type { ExtraParameters } from '../../../../gateway/engine/job.ts';

describe('the optional parameters of a request to an engine', () => {
  it('have the names that engines share, without those that nobody gave', () => {
    expect(listExtraFields({ seed: 0, steps: 4 })).to.deep.equal({ seed: 0, num_inference_steps: 4 });
  });

  it('have another seed each time where the engine would take the same one', () => {
    const seeds = Array.from(
      { length: 8 },
      () => addSeed<ExtraParameters>({ steps: 4 }, 'sglang-diffusion').seed!,
    );
    expect(new Set(seeds).size).to.be.greaterThan(1);
    for (const seed of seeds) expect(Number.isInteger(seed) && seed >= 0).to.equal(true);
  });

  it('keep the seed that was given, and none for engines that choose one themselves', () => {
    expect(addSeed({ seed: 0 }, 'sglang-diffusion')).to.deep.equal({ seed: 0 });
    expect(addSeed({ steps: 4 }, 'vllm-omni')).to.deep.equal({ steps: 4 });
  });
});
