/** Memory use from a model's config.json: of its KV cache, by layers and heads. Pure. */
import type { ModelShape } from '../../api/internal-api.ts';
import { isObject } from '../../kit/json.ts';

type Config = Readonly<Record<string, unknown>>;

/** Undefined if it lacks what determines the cache's size, as for models that are not transformers. */
export function readModelShape(whole: unknown): ModelShape | undefined {
  if (!isObject(whole)) return undefined;
  const config = findTextConfig(whole as Config);
  const layers = readCount(config, ['num_hidden_layers', 'n_layer', 'num_layers', 'n_layers']);
  const attentionHeads = readCount(config, ['num_attention_heads', 'n_head', 'n_heads']);
  const hidden = readCount(config, ['hidden_size', 'n_embd', 'd_model']);
  if (!layers || !attentionHeads || !hidden || layers > MAX_LAYERS) return undefined;
  const headDim = readCount(config, ['head_dim']) ?? Math.floor(hidden / attentionHeads);
  const rank = readCount(config, ['kv_lora_rank']);
  const attending = findAttendingLayers(config, layers);
  if (!attending) return undefined;
  return {
    ...attending,
    attentionHeads,
    keyValueHeads: config.multi_query === true ? 1 : readKeyValueHeads(config, attentionHeads),
    latentElements: rank ? rank + (readCount(config, ['qk_rope_head_dim']) ?? 0) : null,
    headElements: 2 * headDim,
    cacheBytes: readCacheBytes(whole as Config, config),
    weightElementBytes: readWeightElementBytes(whole as Config, config),
    maxContext: readCount(config, CONTEXT_NAMES) ?? null,
  };
}

/** More is an attack, not a model. */
const MAX_LAYERS = 10_000;
const CONTEXT_NAMES = [
  'max_position_embeddings',
  'n_positions',
  'max_seq_len',
  'seq_length',
  'model_max_length',
];
const NESTED = ['text_config', 'llm_config', 'language_config', 'thinker_config'];

const MAX_DEPTH = 3;

/** Multimodal models nest that of the language model. */
function findTextConfig(config: Config, depth = 0): Config {
  const name = depth < MAX_DEPTH ? NESTED.find((each) => isObject(config[each])) : undefined;
  return name ? findTextConfig(config[name] as Config, depth + 1) : config;
}

function readCount(config: Config, names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = config[name];
    if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  }
  return undefined;
}

const readKeyValueHeads = (config: Config, attentionHeads: number): number =>
  readCount(config, ['num_key_value_heads', 'n_head_kv', 'num_kv_heads']) ?? attentionHeads;

type Attending = Pick<ModelShape, 'fullLayers' | 'windowLayers' | 'window'>;

const FULL_TYPES = ['full_attention', 'attention'];
const WINDOW_TYPES = ['sliding_attention', 'chunked_attention'];
const STATE_TYPES = ['linear_attention', 'mamba', 'mamba2', 'conv', 'recurrent'];
const KNOWN_TYPES = new Set<unknown>([...FULL_TYPES, ...WINDOW_TYPES, ...STATE_TYPES]);

/** Keys in which some families declare which of their layers attend. */
const OWN_WAYS = ['hybrid_override_pattern', 'attn_layer_indices', 'linear_attn_config', 'layers_block_type'];

const saysOtherwise = (config: Config): boolean =>
  OWN_WAYS.some((name) => (config[name] ?? null) !== null) ||
  // MiniMax; 1 attends to everything.
  (Array.isArray(config.attn_type_list) && config.attn_type_list.some((type) => type !== 1));

/**
 * Layers of linear attention and state spaces keep a state of constant size, which is ignored. Undefined if the config declares in a
 * way that is unknown here which layers attend.
 */
function findAttendingLayers(config: Config, layers: number): Attending | undefined {
  if (saysOtherwise(config)) return undefined;
  const chunk = readCount(config, ['attention_chunk_size']);
  const sliding = config.use_sliding_window === false ? 0 : (readCount(config, ['sliding_window']) ?? 0);
  const window = sliding || (chunk ?? 0);
  const split = (windowLayers: number): Attending =>
    window > 0 && windowLayers > 0
      ? { fullLayers: layers - windowLayers, windowLayers, window }
      : { fullLayers: layers, windowLayers: 0, window: 0 };
  if (Array.isArray(config.layer_types)) {
    const types = config.layer_types as unknown[];
    if (!types.every((type) => KNOWN_TYPES.has(type))) return undefined;
    const count = (counted: string[]) => types.filter((type) => counted.includes(type as string)).length;
    const windowLayers = window > 0 ? count(WINDOW_TYPES) : 0;
    const fullLayers = count(FULL_TYPES) + (window > 0 ? 0 : count(WINDOW_TYPES));
    return { fullLayers, windowLayers, window: windowLayers > 0 ? window : 0 };
  }
  if (chunk) return undefined;
  const everyNth = readCount(config, ['full_attention_interval', 'attn_layer_period']);
  if (everyNth) return { fullLayers: Math.max(1, Math.floor(layers / everyNth)), windowLayers: 0, window: 0 };
  // Gemma declares by a pattern, or only by its name, which of its layers attend to everything.
  const pattern =
    readCount(config, ['sliding_window_pattern', '_sliding_window_pattern']) ??
    FULL_OF_EACH[String(config.model_type)];
  return split(pattern ? layers - Math.floor(layers / pattern) : layers);
}

/** One of so many layers attends to the whole context. */
const FULL_OF_EACH: Readonly<Record<string, number>> = { gemma2: 2, gemma3: 6, gemma3_text: 6, cohere2: 4 };

const BYTES: Readonly<Record<string, number>> = { float8_e4m3fn: 1, float8_e5m2: 1 };
const DEFAULT_BYTES = 2;

/** Engines load 32-bit models in 16 bits. */
function readCacheBytes(whole: Config, config: Config): number {
  const quantization = findQuantization(whole, config);
  const scheme = isObject(quantization) ? (quantization as Config).kv_cache_scheme : undefined;
  if (isObject(scheme) && (scheme as Config).num_bits === 8) return 1;
  return BYTES[findType(whole, config)] ?? DEFAULT_BYTES;
}

const WEIGHT_BYTES: Readonly<Record<string, number>> = { float32: 4, float16: 2, bfloat16: 2 };

const readWeightElementBytes = (whole: Config, config: Config): number | null =>
  findQuantization(whole, config) ? null : (WEIGHT_BYTES[findType(whole, config)] ?? null);

const findQuantization = (whole: Config, config: Config): unknown =>
  whole.quantization_config ??
  config.quantization_config ??
  whole.compression_config ??
  config.compression_config;

const findType = (whole: Config, config: Config): string =>
  String(config.torch_dtype ?? config.dtype ?? whole.torch_dtype ?? whole.dtype);
