import { expect } from 'chai';
import { readModelShape } from '../../../../gateway/hub/model-shape.ts';
import { cacheOfRequest } from '../../../../operator/fit/memory-need.ts';
import { LLAMA_8B, MODEL_CONFIGS } from './model-configs.ts';

const cacheOf = (
  config: object,
  context: number,
  split: { tensorParallel?: number; pipelineParallel?: number } = {},
) => {
  const shape = readModelShape(config)!;
  return cacheOfRequest(
    { shape, cacheBytes: shape.cacheBytes, tensorParallel: 1, pipelineParallel: 1, ...split },
    context,
  );
};

describe('the KV cache of a token', () => {
  for (const [name, { config, first, further }] of Object.entries(MODEL_CONFIGS))
    it(`of ${name} is ${first} bytes at first, ${further} behind all windows`, () => {
      expect(cacheOf(config, 1)).to.equal(first);
      expect(cacheOf(config, 200_001) - cacheOf(config, 200_000)).to.equal(further);
    });

  it('is divided by heads, of which every GPU has one at least, and by layers', () => {
    expect(cacheOf(LLAMA_8B, 1, { tensorParallel: 2 })).to.equal(65_536);
    expect(cacheOf(LLAMA_8B, 1, { tensorParallel: 16 })).to.equal(16_384);
    expect(cacheOf(LLAMA_8B, 1, { pipelineParallel: 2 })).to.equal(65_536);
  });

  it('is kept whole on every GPU where it is compressed', () => {
    const { config } = MODEL_CONFIGS['DeepSeek V3']!;
    expect(cacheOf(config, 1, { tensorParallel: 8 })).to.equal(70_272);
  });

  const OTHERS: [string, unknown][] = [
    ['no object', 'config'],
    ['nothing', {}],
    ['a state space model', { model_type: 'mamba', hidden_size: 768, num_hidden_layers: 24 }],
    ['numbers that are none', { ...LLAMA_8B, num_hidden_layers: 'many' }],
    ['more layers than there are', { ...LLAMA_8B, num_hidden_layers: 1e9 }],
    ['layers of an unknown type', { ...LLAMA_8B, layer_types: ['full_attention', 'hybrid'] }],
    ['chunks of unnamed layers', { ...LLAMA_8B, attention_chunk_size: 8_192 }],
    ['a pattern', { ...LLAMA_8B, hybrid_override_pattern: 'M-M*' }],
    ['a list of numbered types', { ...LLAMA_8B, attn_type_list: [0, 1] }],
    ['the indices of layers', { ...LLAMA_8B, attn_layer_indices: [3, 7] }],
    ['a part for linear attention', { ...LLAMA_8B, linear_attn_config: { kda_layers: [1] } }],
  ];
  for (const [what, config] of OTHERS)
    it(`is not told by ${what}`, () => {
      expect(readModelShape(config)).to.equal(undefined);
    });

  it('is not looked for in configs that are nested without end', () => {
    let config: object = LLAMA_8B;
    for (let depth = 0; depth < 100; depth++) config = { text_config: config };
    expect(readModelShape(config)).to.equal(undefined);
  });
});
