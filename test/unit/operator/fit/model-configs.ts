/** The parts of published config.json files that determine the size of the KV cache. */

const llama = (hidden: number, layers: number, heads: number) => ({
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: hidden,
  num_hidden_layers: layers,
  num_attention_heads: heads,
  num_key_value_heads: 8,
  max_position_embeddings: 131_072,
  vocab_size: 128_256,
  torch_dtype: 'bfloat16',
});
const qwen3 = (more: object) => ({
  model_type: 'qwen3',
  head_dim: 128,
  max_position_embeddings: 40_960,
  sliding_window: null,
  use_sliding_window: false,
  num_attention_heads: 32,
  vocab_size: 151_936,
  torch_dtype: 'bfloat16',
  ...more,
});
const mistral = (more: object) => ({
  model_type: 'mistral',
  hidden_size: 4_096,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  max_position_embeddings: 32_768,
  sliding_window: null,
  torch_dtype: 'bfloat16',
  ...more,
});

export const LLAMA_8B = llama(4_096, 32, 32);
export const LLAMA_70B = llama(8_192, 80, 64);
export const QWEN3_8B = qwen3({ hidden_size: 4_096, num_hidden_layers: 36, num_key_value_heads: 8 });

/** With the bytes of KV cache of the first token, and of each further one of a long context. */
export const MODEL_CONFIGS: Record<string, { config: object; first: number; further: number }> = {
  'Llama 3.1 8B': { config: LLAMA_8B, first: 131_072, further: 131_072 },
  'Llama 3.1 70B': { config: LLAMA_70B, first: 327_680, further: 327_680 },
  'Qwen3 8B': { config: QWEN3_8B, first: 147_456, further: 147_456 },
  'Qwen3 30B-A3B': {
    config: qwen3({
      model_type: 'qwen3_moe',
      hidden_size: 2_048,
      num_hidden_layers: 48,
      num_key_value_heads: 4,
      num_experts: 128,
      num_experts_per_tok: 8,
    }),
    first: 98_304,
    further: 98_304,
  },
  'Qwen2.5 7B': {
    config: {
      hidden_size: 3_584,
      num_hidden_layers: 28,
      num_attention_heads: 28,
      num_key_value_heads: 4,
      max_position_embeddings: 32_768,
      sliding_window: 131_072,
      use_sliding_window: false,
      torch_dtype: 'bfloat16',
    },
    first: 57_344,
    further: 57_344,
  },
  'Qwen3-Next 80B-A3B': {
    config: qwen3({
      model_type: 'qwen3_next',
      hidden_size: 2_048,
      num_hidden_layers: 48,
      num_attention_heads: 16,
      num_key_value_heads: 2,
      head_dim: 256,
      full_attention_interval: 4,
    }),
    first: 24_576,
    further: 24_576,
  },
  'Mistral 7B v0.3': { config: mistral({}), first: 131_072, further: 131_072 },
  'Mistral 7B v0.1': { config: mistral({ sliding_window: 4_096 }), first: 131_072, further: 0 },
  'Mixtral 8x7B': {
    config: mistral({ model_type: 'mixtral', num_local_experts: 8, num_experts_per_tok: 2 }),
    first: 131_072,
    further: 131_072,
  },
  'DeepSeek V3': {
    config: {
      model_type: 'deepseek_v3',
      hidden_size: 7_168,
      num_hidden_layers: 61,
      num_attention_heads: 128,
      num_key_value_heads: 128,
      kv_lora_rank: 512,
      qk_rope_head_dim: 64,
      qk_nope_head_dim: 128,
      v_head_dim: 128,
      max_position_embeddings: 163_840,
      torch_dtype: 'bfloat16',
      quantization_config: { quant_method: 'fp8', fmt: 'e4m3', weight_block_size: [128, 128] },
    },
    first: 70_272,
    further: 70_272,
  },
  'Gemma 2 9B': {
    config: {
      model_type: 'gemma2',
      hidden_size: 3_584,
      num_hidden_layers: 42,
      num_attention_heads: 16,
      num_key_value_heads: 8,
      head_dim: 256,
      sliding_window: 4_096,
      max_position_embeddings: 8_192,
      torch_dtype: 'bfloat16',
    },
    first: 344_064,
    further: 172_032,
  },
  'Gemma 3 27B': {
    config: {
      model_type: 'gemma3',
      torch_dtype: 'bfloat16',
      text_config: {
        model_type: 'gemma3_text',
        hidden_size: 5_376,
        num_hidden_layers: 62,
        num_attention_heads: 32,
        num_key_value_heads: 16,
        head_dim: 128,
        sliding_window: 1_024,
      },
      vision_config: { hidden_size: 1_152, num_hidden_layers: 27, num_attention_heads: 16 },
    },
    first: 507_904,
    further: 81_920,
  },
  'gpt-oss 20B': {
    config: {
      model_type: 'gpt_oss',
      hidden_size: 2_880,
      num_hidden_layers: 24,
      num_attention_heads: 64,
      num_key_value_heads: 8,
      head_dim: 64,
      sliding_window: 128,
      layer_types: Array.from({ length: 24 }, (_, layer) =>
        layer % 2 === 0 ? 'sliding_attention' : 'full_attention',
      ),
      max_position_embeddings: 131_072,
      quantization_config: { quant_method: 'mxfp4' },
    },
    first: 49_152,
    further: 24_576,
  },
  'Phi-4': {
    config: {
      model_type: 'phi3',
      hidden_size: 5_120,
      num_hidden_layers: 40,
      num_attention_heads: 40,
      num_key_value_heads: 10,
      max_position_embeddings: 16_384,
      sliding_window: null,
      torch_dtype: 'bfloat16',
    },
    first: 204_800,
    further: 204_800,
  },
  'GPT-2': {
    config: { model_type: 'gpt2', n_layer: 12, n_head: 12, n_embd: 768, n_positions: 1_024 },
    first: 36_864,
    further: 36_864,
  },
  'Falcon 7B': {
    config: {
      model_type: 'falcon',
      hidden_size: 4_544,
      num_hidden_layers: 32,
      num_attention_heads: 71,
      multi_query: true,
      torch_dtype: 'bfloat16',
    },
    first: 8_192,
    further: 8_192,
  },
  'Llama 3.1 8B with a cache of 8 bits': {
    config: {
      ...LLAMA_8B,
      quantization_config: {
        quant_method: 'compressed-tensors',
        kv_cache_scheme: { num_bits: 8, type: 'float' },
      },
    },
    first: 65_536,
    further: 65_536,
  },
  'a model whose layers see chunks': {
    config: {
      ...LLAMA_8B,
      attention_chunk_size: 8_192,
      layer_types: Array.from({ length: 32 }, (_, layer) =>
        layer % 4 === 3 ? 'full_attention' : 'chunked_attention',
      ),
    },
    first: 131_072,
    further: 32_768,
  },
  'a model that lists full attention for each layer': {
    config: { ...LLAMA_8B, attn_type_list: Array(32).fill(1) },
    first: 131_072,
    further: 131_072,
  },
  'a model of 32 bits, which engines hold in 16': {
    config: { ...LLAMA_8B, torch_dtype: 'float32' },
    first: 131_072,
    further: 131_072,
  },
};
