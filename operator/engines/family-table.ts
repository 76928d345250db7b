/**
 * The parsers of tool calls and reasoning that each family of models needs, as named by vLLM and SGLang, and the chat templates for
 * models whose own does not write tools as the parser expects. Context length and number formats are not here: engines read them from
 * the model's own configuration (decision 0152). Unit tests compare the names with those of the engines (test/engines/registries).
 */
import type { ModelFamily } from '../../api/model-families.ts';

export interface Parsers {
  tools?: string;
  reasoning?: string;
}

/** Engines whose parsers depend on the model's family. */
export type ParsingEngine = 'vllm' | 'sglang';

type Template = readonly [name: RegExp, file: string];

export interface Family {
  /** Matches repositories and paths, in lowercase; the first matching family is the model's. */
  pattern: RegExp;
  vllm: Parsers;
  /** Absent: detected from the model's chat template, which SGLang can inspect. */
  sglang?: Parsers;
  /** Templates in the engine's images: the first whose pattern matches the model's name. */
  templates?: Partial<Record<ParsingEngine, readonly Template[]>>;
}

/** Both engines have the template under the same name. */
const sameOf = (template: Template) => ({ vllm: [template], sglang: [template] });
const both = (tools?: string, reasoning?: string): Parsers => ({
  ...(tools && { tools }),
  ...(reasoning && { reasoning }),
});

export const FAMILIES: Record<Exclude<ModelFamily, 'none'>, Family> = {
  // Not here: Cohere's Command A and R, whose parsers need a package (cohere_melody) that vLLM's image lacks; MiniMax M1 and Nemotron
  // Nano 2, whose parsers vLLM does not have, or no longer has; Dots 3 (parser `dots`), whose repositories have no settled names.
  // Several of vLLM's parsers raise for each chat if their token is not in the model's vocabulary: the patterns of those
  // families leave older and base models out.
  // Quantized and fine-tuned models have the names of two families: the more specific comes first.
  hermes: { pattern: /\bhermes-[2-9]/, vllm: both('hermes'), sglang: both('hermes') },
  xlam: {
    pattern: /xlam/,
    vllm: both('xlam'),
    templates: {
      vllm: [
        [/llama/, 'tool_chat_template_xlam_llama.jinja'],
        [/./, 'tool_chat_template_xlam_qwen.jinja'],
      ],
    },
  },
  'deepseek-r1-distill': {
    pattern: /deepseek-r1\b.*(distill|qwen|llama|\b(1\.5|7|8|14|32|70)b\b)/,
    vllm: both(undefined, 'deepseek_r1'),
    sglang: both(undefined, 'deepseek-r1'),
  },
  'nemotron-3': {
    pattern: /nemotron-3/,
    vllm: both('qwen3_coder', 'nemotron_v3'),
    sglang: both('qwen3_coder', 'nemotron_3'),
  },
  'gpt-oss': {
    pattern: /gpt-oss/,
    vllm: both('openai', 'openai_gptoss'),
    sglang: both('gpt-oss', 'gpt-oss'),
  },
  'qwen3-coder': { pattern: /qwen3-coder/, vllm: both('qwen3_coder'), sglang: both('qwen3_coder') },
  // The experimental `Qwen4ExpForCausalLM` is published as Qwen3.8, whose parsers these are.
  qwen4: { pattern: /qwen-?4\b/, vllm: both('qwen3_coder', 'qwen3') },
  'qwen3.5': {
    pattern: /qwen3\.[5-9]/,
    vllm: both('qwen3_coder', 'qwen3'),
    sglang: both('qwen3_coder', 'qwen3'),
  },
  // These do not reason: a parser would treat their whole output as reasoning.
  'qwen3-instruct': {
    pattern: /qwen3-.*(instruct|base)\b/,
    vllm: both('hermes'),
    sglang: both('qwen'),
  },
  qwen3: { pattern: /qwen3(?!guard)/, vllm: both('hermes', 'qwen3'), sglang: both('qwen', 'auto') },
  'qwen2.5': { pattern: /qwen2\.5/, vllm: both('hermes'), sglang: both('qwen') },
  qwq: { pattern: /\bqwq(?!.*preview)/, vllm: both('hermes', 'deepseek_r1'), sglang: both('qwen', 'auto') },
  'deepseek-r1': {
    pattern: /deepseek-r1/,
    vllm: both('deepseek_v3', 'deepseek_r1'),
    sglang: both('deepseekv3', 'deepseek-r1'),
    // Earlier ones start their reasoning in their own template.
    templates: sameOf([/0528/, 'tool_chat_template_deepseekr1.jinja']),
  },
  'deepseek-v4.1': {
    pattern: /deepseek-v4\.1/,
    vllm: both('deepseek_v41', 'deepseek_v41'),
    sglang: both('deepseekv41', 'deepseek-v41'),
  },
  'deepseek-v4': {
    pattern: /deepseek-v4/,
    vllm: both('deepseek_v4', 'deepseek_v4'),
    sglang: both('deepseekv4', 'deepseek-v4'),
  },
  'deepseek-v3.2': {
    pattern: /deepseek-v3\.2/,
    vllm: both('deepseek_v32', 'deepseek_v3'),
    sglang: both('deepseekv32', 'deepseek-v3'),
  },
  'deepseek-v3.1': {
    pattern: /deepseek-v3\.1/,
    vllm: both('deepseek_v31', 'deepseek_v3'),
    sglang: both('deepseekv31', 'deepseek-v3'),
    templates: sameOf([/./, 'tool_chat_template_deepseekv31.jinja']),
  },
  'deepseek-v3': {
    pattern: /deepseek-v3/,
    vllm: both('deepseek_v3'),
    sglang: both('deepseekv3'),
    templates: sameOf([/./, 'tool_chat_template_deepseekv3.jinja']),
  },
  'glm-4.7': { pattern: /glm-(4\.[7-9]|5)/, vllm: both('glm47', 'glm47'), sglang: both('glm47', 'glm45') },
  'glm-4.5': { pattern: /glm-4\.[56]/, vllm: both('glm45', 'glm45'), sglang: both('glm', 'glm45') },
  'kimi-k3': { pattern: /kimi-k3/, vllm: both('kimi_k3', 'kimi_k3'), sglang: both('kimi_k3', 'kimi_k3') },
  'kimi-k2-thinking': {
    pattern: /kimi-k2(-thinking|\.[5-9])/,
    vllm: both('kimi_k2', 'kimi_k2'),
    sglang: both('kimi_k2', 'kimi_k2'),
  },
  'kimi-k2': { pattern: /kimi-k2/, vllm: both('kimi_k2'), sglang: both('kimi_k2') },
  'minimax-m3': {
    pattern: /minimax-m3/,
    vllm: both('minimax_m3', 'minimax_m3'),
    sglang: both('minimax-m3', 'minimax-m3'),
  },
  'minimax-m2': {
    pattern: /minimax-m2/,
    vllm: both('minimax_m2', 'minimax_m2_append_think'),
    sglang: both('minimax-m2', 'minimax-append-think'),
  },
  // The reasoning parser needs Mistral's own tokenizer, which converted copies lack.
  magistral: {
    pattern: /mistralai\/magistral/,
    vllm: both('mistral', 'mistral'),
    sglang: both('mistral', 'mistral'),
  },
  mistral: {
    pattern:
      /mistral-(small|medium|large|nemo)|mistral-7b-(instruct-)?v0\.3|ministral|mixtral-8x22b-instruct|magistral|devstral|pixtral/,
    vllm: both('mistral'),
    sglang: both('mistral'),
  },
  // vLLM's parser for the JSON of the model's own chat template needs a token of Llama 3.
  'llama-4': {
    pattern: /llama-?4/,
    vllm: both('llama4_pythonic'),
    sglang: both('llama3'),
    templates: { vllm: [[/./, 'tool_chat_template_llama4_pythonic.jinja']] },
  },
  // With the models' own chat templates, which produce JSON.
  'llama-3': { pattern: /llama-?3\.[1-3]/, vllm: both('llama3_json'), sglang: both('llama3') },
  'gemma-4': { pattern: /gemma-?4/, vllm: both('gemma4', 'gemma4'), sglang: both('gemma4', 'gemma4') },
  // Base models, named `-pt`, do not call tools.
  'gemma-3': {
    pattern: /gemma-?3-.*\bit\b/,
    vllm: both('pythonic'),
    templates: { vllm: [[/./, 'tool_chat_template_gemma3_pythonic.jinja']] },
  },
  functiongemma: {
    pattern: /functiongemma/,
    vllm: both('functiongemma'),
    templates: { vllm: [[/./, 'tool_chat_template_functiongemma.jinja']] },
  },
  // Its own reads tools only from a message, not from the request.
  'phi-4-mini': {
    pattern: /phi-4-mini-instruct/,
    vllm: both('phi4_mini_json'),
    templates: { vllm: [[/./, 'tool_chat_template_phi4_mini.jinja']] },
  },
  'phi-4-reasoning': { pattern: /phi-4-reasoning/, vllm: both(undefined, 'deepseek_r1') },
  'granite-4.2': {
    pattern: /granite-4\.2/,
    vllm: both('qwen3_coder', 'granite_thinking_parser'),
    sglang: both('qwen3_coder', 'granite_thinking_parser'),
  },
  'granite-4': { pattern: /granite-4/, vllm: both('granite4') },
  'granite-3': {
    pattern: /granite-3/,
    vllm: both('granite', 'granite'),
    templates: { vllm: [[/granite-3\.0/, 'tool_chat_template_granite.jinja']] },
  },
  'granite-20b-fc': {
    pattern: /granite-20b-functioncalling/,
    vllm: both('granite-20b-fc'),
    templates: { vllm: [[/./, 'tool_chat_template_granite_20b_fc.jinja']] },
  },
  'seed-oss': { pattern: /seed-oss/, vllm: both('seed_oss', 'seed_oss') },
  // Not of checkpoints that are named after a step of their training.
  'step-5': { pattern: /(^|\/)step-?5\b/, vllm: both('step5', 'step5') },
  'step-3.5': {
    pattern: /step-?3\.[5-7]/,
    vllm: both('step3p5', 'step3p5'),
    sglang: both('step3p5', 'step3p5'),
  },
  'step-3': { pattern: /step-?3/, vllm: both('step3', 'step3'), sglang: both('step3', 'step3') },
  'hunyuan-a13b': {
    pattern: /hunyuan-a13b/,
    vllm: both('hunyuan_a13b', 'hunyuan_a13b'),
    sglang: both('hunyuan', 'hunyuan'),
  },
  'ernie-4.5-thinking': { pattern: /ernie-4\.5-.*thinking/, vllm: both('ernie45', 'ernie45') },
  'ernie-4.5': { pattern: /ernie-4\.5/, vllm: both('ernie45') },
  'olmo-3-think': { pattern: /olmo-?3.*think/, vllm: both('olmo3', 'olmo3') },
  'olmo-3': { pattern: /olmo-?3/, vllm: both('olmo3') },
  lfm2: { pattern: /\blfm2/, vllm: both('lfm2'), sglang: both('lfm2', 'auto') },
  jamba: { pattern: /jamba-((mini|large)-)?1\.[5-9]/, vllm: both('jamba') },
  'internlm-2.5': {
    pattern: /internlm2_5/,
    vllm: both('internlm'),
    templates: { vllm: [[/./, 'tool_chat_template_internlm2_tool.jinja']] },
  },
  longcat: { pattern: /longcat/, vllm: both('longcat') },
  mimo: { pattern: /\bmimo/, vllm: both('mimo', 'mimo'), sglang: both('mimo', 'mimo') },
  apertus: {
    pattern: /apertus/,
    vllm: both('apertus'),
    sglang: both('apertus2509', 'apertus2509'),
    templates: { vllm: [[/./, 'tool_chat_template_apertus.jinja']] },
  },
  laguna: {
    pattern: /\blaguna/,
    vllm: both('poolside_v1', 'poolside_v1'),
    sglang: both('poolside_v1', 'poolside_v1'),
  },
  // vLLM 0.33 has no parser for it.
  'gigachat-3.5': { pattern: /gigachat-?3\.5/, vllm: {}, sglang: both('gigachat35', 'gigachat35') },
  'gigachat-3': { pattern: /gigachat-?3/, vllm: both('gigachat3'), sglang: both('gigachat3') },
  'hy-4': { pattern: /\bhy-?4(?!.*base)/, vllm: both('hy_v4', 'hy_v4') },
  'hy-3': {
    pattern: /\bhy3(?!.*base)/,
    vllm: both('hy_v3', 'hy_v3'),
    sglang: both('hunyuan', 'hunyuan'),
  },
  'ling-3': { pattern: /\bling-3(?!.*base)/, vllm: both('ling3', 'ling3'), sglang: both('ling3', 'ling3') },
  inkling: { pattern: /\binkling/, vllm: both('inkling', 'inkling'), sglang: both('inkling', 'inkling') },
  'muse-glimmer': {
    pattern: /muse-glimmer/,
    vllm: both('muse_glimmer', 'muse_glimmer'),
    sglang: both('muse', 'muse'),
  },
  'muse-spark': { pattern: /muse-?spark/, vllm: both('muse', 'muse') },
  'minicpm-v-4.7': { pattern: /minicpm-v-?4[._]7/, vllm: both('qwen3_coder', 'minicpmv') },
  'plamo-3': { pattern: /plamo-?3/, vllm: both('plamo3', 'plamo3') },
  'k2-horizon': {
    pattern: /k2-horizon/,
    vllm: both('k2_horizon', 'k2_horizon'),
    sglang: both('k2_horizon', 'k2_horizon'),
  },
  'minicpm-5': {
    pattern: /\bminicpm5(?!.*base)/,
    vllm: both('minicpm5'),
    sglang: both('minicpm5', 'auto'),
  },
  // vLLM does not document how it writes tool calls.
  'holo-2': { pattern: /\bholo2-/, vllm: both(undefined, 'holo2') },
  // Not by a name. vLLM does not start where the checkpoint has no `response_template`.
  'response-template': {
    pattern: /(?!)/,
    vllm: both('hf', 'hf'),
    sglang: both('response_template', 'response_template'),
  },
};
