import { expect } from 'chai';
import { listVariants } from '../../../../launch/own-model/gguf-variants.ts';
import { describeShortage } from '../../../../launch/own-model/model-memory.ts';

const GIB = 1024 ** 3;
const memory = { bytes: 8 * GIB, hasGPU: false };

describe('the memory for a model', () => {
  it('is enough if its weights fit, and unknown with a GPU', () => {
    expect(describeShortage(7 * GIB, memory)).to.equal(undefined);
    expect(describeShortage(70 * GIB, { ...memory, hasGPU: true })).to.equal(undefined);
  });

  it('is told to be too small with the sizes, and with what would fit; the model is not refused', () => {
    const files = [4, 6, 16].map((size, index) => ({ path: `a-Q${index + 2}_0.gguf`, size: size * GIB }));
    expect(describeShortage(16 * GIB, memory, listVariants(files))).to.match(
      /^the model has 16\.00 GiB, and this machine 8\.00 GiB of memory: .* Those that fit: Q2_0 \(4\.00 GiB\), Q3_0 \(6\.00 GiB\)$/,
    );
    expect(describeShortage(16 * GIB, memory)).to.match(/ A smaller model or quantization would fit\.$/);
  });
});
