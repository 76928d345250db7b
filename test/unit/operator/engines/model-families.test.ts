import { expect } from 'chai';
import type { ModelSource } from '../../../../api/model-source.ts';
import { decideFamily, decideParsers } from '../../../../operator/engines/model-families.ts';
import { build, makeModel } from '../resources/fixtures.ts';

const familyOf = (source: object, more: { id?: string; family?: string; kind?: string } = {}) =>
  decideFamily({
    kind: more.kind ?? 'LLM',
    engine: { family: more.family },
    model: { id: more.id ?? 'acme/chat', source: source as ModelSource },
  } as Parameters<typeof decideFamily>[0]);

describe('the family of a model', () => {
  const repositories: Record<string, string> = {
    'openai/gpt-oss-120b': 'gpt-oss',
    'stepfun-ai/Step-3.7-Flash': 'step-3.5',
    'stepfun-ai/Step-3.6': 'step-3.5',
    'stepfun-ai/Step-5': 'step-5',
    'acme/chat-step-5': 'none',
    'deepseek-ai/DeepSeek-V4.1': 'deepseek-v4.1',
    'ibm-granite/granite-4.2-8b': 'granite-4.2',
    'ai-sage/GigaChat3.5-Lightning': 'gigachat-3.5',
    'ai-sage/GigaChat3-10B-A1.8B': 'gigachat-3',
    'Qwen/Qwen4-30B-A3B': 'qwen4',
    'acme/qwen-4b': 'none',
    'Qwen/Qwen3.8-27B': 'qwen3.5',
    'tencent/Hy4': 'hy-4',
    'acme/K2-Horizon': 'k2-horizon',
    'meta-llama/Muse-Spark-1': 'muse-spark',
    'pfnet/plamo-3-8b-chat': 'plamo-3',
    'openbmb/MiniCPM-V-4.7': 'minicpm-v-4.7',
    'Qwen/Qwen3-Coder-30B-A3B-Instruct': 'qwen3-coder',
    'Qwen/Qwen3.5-397B-A17B': 'qwen3.5',
    'Qwen/Qwen3-8B': 'qwen3',
    'Qwen/Qwen3-235B-A22B-Thinking-2507': 'qwen3',
    'Qwen/Qwen3-4B-Instruct-2507': 'qwen3-instruct',
    'Qwen/Qwen3-VL-8B-Instruct': 'qwen3-instruct',
    'Qwen/Qwen2.5-7B-Instruct-AWQ': 'qwen2.5',
    'Qwen/QwQ-32B': 'qwq',
    'deepseek-ai/DeepSeek-R1-Distill-Llama-70B': 'deepseek-r1-distill',
    'deepseek-ai/DeepSeek-R1-0528-Qwen3-8B': 'deepseek-r1-distill',
    'deepseek-ai/DeepSeek-R1-0528': 'deepseek-r1',
    'deepseek-ai/DeepSeek-V4-Flash': 'deepseek-v4',
    'deepseek-ai/DeepSeek-V3.2-Exp': 'deepseek-v3.2',
    'deepseek-ai/DeepSeek-V3.1-Terminus': 'deepseek-v3.1',
    'deepseek-ai/DeepSeek-V3-0324': 'deepseek-v3',
    'zai-org/GLM-4.5-Air': 'glm-4.5',
    'zai-org/GLM-4.6': 'glm-4.5',
    'zai-org/GLM-4.7-Flash': 'glm-4.7',
    'zai-org/GLM-5': 'glm-4.7',
    'moonshotai/Kimi-K2-Instruct-0905': 'kimi-k2',
    'moonshotai/Kimi-K2-Thinking': 'kimi-k2-thinking',
    'moonshotai/Kimi-K2.5': 'kimi-k2-thinking',
    'MiniMaxAI/MiniMax-M2.5': 'minimax-m2',
    'mistralai/Magistral-Small-2509': 'magistral',
    'unsloth/Magistral-Small-2509-GGUF': 'mistral',
    'mistralai/Mistral-Small-3.2-24B-Instruct-2506': 'mistral',
    'mistralai/Devstral-Small-2507': 'mistral',
    'NousResearch/Hermes-3-Llama-3.1-8B': 'hermes',
    'nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16': 'nemotron-3',
    'meta-llama/Llama-3.3-70B-Instruct': 'llama-3',
    'RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8': 'llama-3',
    'meta-llama/Llama-4-Scout-17B-16E-Instruct': 'llama-4',
    'google/gemma-4-31b-it': 'gemma-4',
    'google/gemma-3-27b-it': 'gemma-3',
    'google/gemma-3-4b-it-qat-w4a16': 'gemma-3',
    'google/functiongemma-270m-it': 'functiongemma',
    'ibm-granite/granite-20b-functioncalling': 'granite-20b-fc',
    'poolside/Laguna-M.1': 'laguna',
    'tencent/Hy3-preview': 'hy-3',
    'tencent/Hy3-preview-Base': 'none',
    'inclusionAI/Ling-3.0-flash': 'ling-3',
    'inclusionAI/Ling-mini-2.0': 'none',
    'thinkingmachines/Inkling-NVFP4': 'inkling',
    'meta-models/Muse-Glimmer-30B': 'muse-glimmer',
    'openbmb/MiniCPM5-1B': 'minicpm-5',
    'openbmb/MiniCPM4-8B': 'none',
    'Hcompany/Holo2-4B': 'holo-2',
    'Hcompany/Holo1.5-7B': 'none',
    'microsoft/Phi-4-mini-instruct': 'phi-4-mini',
    'microsoft/Phi-4-reasoning-plus': 'phi-4-reasoning',
    'ibm-granite/granite-4.0-h-small': 'granite-4',
    'ibm-granite/granite-3.3-8b-instruct': 'granite-3',
    'ByteDance-Seed/Seed-OSS-36B-Instruct': 'seed-oss',
    'stepfun-ai/Step-3.5-Flash': 'step-3.5',
    'LiquidAI/LFM2-8B-A1B': 'lfm2',
    'ai21labs/AI21-Jamba-Mini-1.7': 'jamba',
    'ai21labs/AI21-Jamba-1.5-Large': 'jamba',
    'mistralai/Mistral-7B-Instruct-v0.3': 'mistral',
    'mistralai/Mistral-Nemo-Instruct-2407': 'mistral',
    'mistralai/Ministral-3-8B-Instruct-2512': 'mistral',
    'mistralai/Mixtral-8x22B-Instruct-v0.1': 'mistral',
    'mistral-community/pixtral-12b': 'mistral',
    'mobiuslabsgmbh/DeepSeek-R1-ReDistill-Qwen-7B-v1.1': 'deepseek-r1-distill',
    'acme/deepseek-r1:8b': 'deepseek-r1-distill',
    'acme/deepseek-r1:671b': 'deepseek-r1',
    'Qwen/Qwen3-8B-Base': 'qwen3-instruct',
    gpt2: 'none',
    'meta-llama/Llama-2-7b-chat-hf': 'none',
    'google/gemma-3-27b-pt': 'none',
    'google/gemma-3n-E4B-it': 'none',
    // vLLM's image lacks a package that their parser needs.
    'CohereLabs/command-a-reasoning-08-2025': 'none',
    'MiniMaxAI/MiniMax-M1-80k': 'none',
    'nvidia/NVIDIA-Nemotron-Nano-9B-v2': 'none',
    // Their vocabularies lack a token without which vLLM's parser fails for each chat.
    'mistralai/Mistral-7B-Instruct-v0.1': 'none',
    'mistralai/Mistral-7B-Instruct-v0.2': 'none',
    'mistral-community/Mistral-7B-v0.2': 'none',
    'mistralai/Mixtral-8x7B-Instruct-v0.1': 'none',
    'mistralai/Mixtral-8x22B-v0.1': 'none',
    'llava-hf/llava-v1.6-mistral-7b-hf': 'none',
    'teknium/OpenHermes-2.5-Mistral-7B': 'none',
    'Qwen/QwQ-32B-Preview': 'none',
    'microsoft/Phi-4-mini-reasoning': 'none',
    'ai21labs/Jamba-v0.1': 'none',
    'ai21labs/AI21-Jamba-Reasoning-3B': 'none',
    // It returns a verdict in a format of its own.
    'Qwen/Qwen3Guard-Gen-8B': 'none',
  };
  for (const [repo, family] of Object.entries(repositories))
    it(`${repo} is ${family}`, () => {
      expect(familyOf({ huggingFace: { repo } })).to.equal(family);
    });

  const sources: [what: string, source: object, id: string, family: string][] = [
    ['a bucket', { s3: { uri: 's3://models/Qwen3-8B' } }, 'acme/chat', 'qwen3'],
    ['a path on a volume', { pvc: { claimName: 'models', path: 'glm-4.6' } }, 'acme/chat', 'glm-4.5'],
    ['the claim of a volume', { pvc: { claimName: 'gpt-oss-20b', path: '' } }, 'acme/chat', 'gpt-oss'],
    ['an image', { image: { reference: 'r.io/llama-3.1-8b:1', path: '' } }, 'acme/chat', 'llama-3'],
    ['the id of the model', { none: {} }, 'qwen/qwen3-8b', 'qwen3'],
    ['the source before the id', { huggingFace: { repo: 'openai/gpt-oss-20b' } }, 'qwen3', 'gpt-oss'],
  ];
  for (const [what, source, id, family] of sources)
    it(`is told by ${what}`, () => {
      expect(familyOf(source, { id })).to.equal(family);
    });

  it('is what the spec says', () => {
    const source = { huggingFace: { repo: 'Qwen/Qwen3-8B' } };
    expect(familyOf(source, { family: 'hermes' })).to.equal('hermes');
    expect(familyOf(source, { family: 'none' })).to.equal('none');
  });

  it('is of no interest for other kinds', () => {
    expect(familyOf({ huggingFace: { repo: 'Qwen/Qwen3-Embedding-8B' } }, { kind: 'Embedding' })).to.equal(
      'none',
    );
  });
});

describe('the parsers of a family', () => {
  it('of Llama 4 for vLLM wants no token of Llama 3', () => {
    expect(decideParsers('vllm', { family: 'llama-4' })).to.deep.equal({ tools: 'llama4_pythonic' });
  });

  it('are those that the version of the engine has', () => {
    const of = (engine: 'vllm' | 'sglang', version: string) =>
      decideParsers(engine, { family: 'granite-4.2', version });
    expect(of('vllm', '0.31.0')).to.deep.equal({
      tools: 'qwen3_coder',
      reasoning: 'granite_thinking_parser',
    });
    expect(of('vllm', '0.30.0')).to.deep.equal({ tools: 'qwen3_coder' });
    expect(of('sglang', '0.5.23')).to.deep.equal({
      tools: 'qwen3_coder',
      reasoning: 'granite_thinking_parser',
    });
    expect(of('sglang', '0.5.18')).to.deep.equal({ tools: 'qwen3_coder', reasoning: 'auto' });
  });

  it('are read from the checkpoint for a family that says so', () => {
    const family = 'response-template';
    expect(decideParsers('vllm', { family })).to.deep.equal({ tools: 'hf', reasoning: 'hf' });
    expect(decideParsers('sglang', { family })).to.deep.equal({
      tools: 'response_template',
      reasoning: 'response_template',
    });
  });

  it('are left to SGLang where nothing is known, and left out for vLLM', () => {
    expect(decideParsers('sglang', { family: 'none' })).to.deep.equal({ tools: 'auto', reasoning: 'auto' });
    expect(decideParsers('vllm', { family: 'none' })).to.deep.equal({});
  });
});

describe('an engine', () => {
  const built = (preset: string, engine: object = {}) =>
    build({ engine: { preset, ...engine }, model: { id: 'a/b', source: QWEN } });
  const QWEN = { huggingFace: { repo: 'Qwen/Qwen3-8B' } };

  it('is started with the parsers of its model, and the status names them', () => {
    const vllm = built('vllm');
    expect(vllm.engine.args).to.include.members([
      '--enable-auto-tool-choice',
      '--tool-call-parser=hermes',
      '--reasoning-parser=qwen3',
    ]);
    expect(vllm.engineStatus).to.deep.equal({
      family: 'qwen3',
      toolCallParser: 'hermes',
      reasoningParser: 'qwen3',
    });
    expect(built('sglang').engine.args).to.include.members([
      '--tool-call-parser=qwen',
      '--reasoning-parser=auto',
    ]);
  });

  const templateOf = (repo: string, engine: object = {}, more: object = {}) =>
    build({
      engine: { preset: 'vllm', ...engine },
      model: { id: 'a/b', source: { huggingFace: { repo } } },
      ...more,
    });
  const TEMPLATES: Record<string, string | undefined> = {
    'deepseek-ai/DeepSeek-V3-0324': 'deepseekv3',
    'deepseek-ai/DeepSeek-V3.1': 'deepseekv31',
    'deepseek-ai/DeepSeek-R1-0528': 'deepseekr1',
    'deepseek-ai/DeepSeek-R1': undefined,
    'meta-llama/Llama-4-Scout-17B-16E-Instruct': 'llama4_pythonic',
    'meta-llama/Llama-3.1-8B-Instruct': undefined,
    'Salesforce/Llama-xLAM-2-8b-fc-r': 'xlam_llama',
    'Salesforce/xLAM-2-1b-fc-r': 'xlam_qwen',
    'swiss-ai/Apertus-8B-Instruct-2509': 'apertus',
    'google/functiongemma-270m-it': 'functiongemma',
    'microsoft/Phi-4-mini-instruct': 'phi4_mini',
    'google/gemma-3-27b-it': 'gemma3_pythonic',
    'ibm-granite/granite-20b-functioncalling': 'granite_20b_fc',
    'internlm/internlm2_5-7b-chat': 'internlm2_tool',
    'ibm-granite/granite-3.0-8b-instruct': 'granite',
    'ibm-granite/granite-3.3-8b-instruct': undefined,
    'Qwen/Qwen3-8B': undefined,
  };
  for (const [repo, template] of Object.entries(TEMPLATES))
    it(`of ${repo} is started with ${template ? `the chat template ${template}` : "the model's own chat template"}`, () => {
      const { engine, engineStatus } = templateOf(repo);
      const file = template && `tool_chat_template_${template}.jinja`;
      expect(engine.args!.filter((arg) => arg.startsWith('--chat-template'))).to.deep.equal(
        file ? [`--chat-template=/vllm-workspace/examples/${file}`] : [],
      );
      expect(engineStatus?.chatTemplate).to.equal(file);
    });

  for (const [repo, template] of [
    ['deepseek-ai/DeepSeek-V3-0324', 'deepseekv3'],
    ['deepseek-ai/DeepSeek-V3.1-Terminus', 'deepseekv31'],
    ['deepseek-ai/DeepSeek-R1-0528', 'deepseekr1'],
    ['deepseek-ai/DeepSeek-R1', undefined],
    ['deepseek-ai/DeepSeek-V3.2', undefined],
    // Only vLLM's images have one.
    ['meta-llama/Llama-4-Scout-17B-16E-Instruct', undefined],
    ['swiss-ai/Apertus-8B-Instruct-2509', undefined],
  ] as const)
    it(`of ${repo} is started by SGLang with ${template ? `its chat template ${template}` : "the model's own chat template"}`, () => {
      const find = (more: object) =>
        templateOf(repo, { preset: 'sglang' }, more).engine.args!.filter((arg) =>
          arg.startsWith('--chat-template'),
        );
      const file = template && `tool_chat_template_${template}.jinja`;
      const expected = file ? [`--chat-template=/sgl-workspace/sglang/examples/chat_template/${file}`] : [];
      expect(find({})).to.deep.equal(expected);
      expect(find({ gpu: { count: 1, resourceName: 'amd.com/gpu' } })).to.deep.equal(expected);
      expect(templateOf(repo, { preset: 'sglang', image: 'own:1' }).engine.args!.join()).not.to.include(
        'chat-template',
      );
      expect(templateOf(repo, { preset: 'sglang' }).engineStatus?.chatTemplate).to.equal(file);
    });

  it('gets a chat template only where its image has that, and none but that of the spec', () => {
    const repo = 'swiss-ai/Apertus-8B-Instruct-2509';
    const find = (engine: object, more: object = {}) =>
      templateOf(repo, engine, more).engine.args!.filter((arg) => arg.includes('chat-template'));
    expect(find({ image: 'own/vllm:1' })).to.deep.equal([]);
    expect(find({ command: ['own'] })).to.deep.equal([]);
    expect(find({ family: 'none' })).to.deep.equal([]);
    expect(find({ args: ['--tool-call-parser', 'pythonic'] })).to.deep.equal([]);
    expect(find({}, { gpu: { count: 1, resourceName: 'amd.com/gpu' } })).to.deep.equal([
      '--chat-template=/app/vllm/examples/tool_chat_template_apertus.jinja',
    ]);
    expect(find({ args: ['--chat-template=/mine.jinja'] })).to.deep.equal(['--chat-template=/mine.jinja']);
    const model = { id: 'a/b', source: { huggingFace: { repo } } };
    const { engine } = build({ engine: { preset: 'vllm' }, model }, { engineImages: { vllm: 'own/vllm:1' } });
    expect(engine.args!.join(' ')).not.to.include('chat-template');
    const inline = templateOf(repo, { args: ['--chat-template={{ messages }}'] });
    expect(inline.engineStatus).not.to.have.property('chatTemplate');
  });

  it('gets those of the spec instead, each flag once', () => {
    const { engine, engineStatus } = built('vllm', {
      args: ['--tool_call_parser', 'own', '--no-enable-prompt-tokens-details'],
    });
    expect(engine.args!.filter((arg) => /tool.call.parser/.test(arg))).to.deep.equal(['--tool_call_parser']);
    expect(engine.args!.filter((arg) => arg.includes('prompt-tokens'))).to.have.lengthOf(1);
    expect(engine.args).to.include('--enable-auto-tool-choice');
    expect(engineStatus).to.include({ toolCallParser: 'own', reasoningParser: 'qwen3' });
  });

  it('gets none without a family', () => {
    const { engine, engineStatus } = built('vllm', { family: 'none' });
    expect(engine.args!.join(' ')).not.to.match(/parser|auto-tool/);
    expect(engineStatus).to.equal(undefined);
  });

  it('of vLLM says in the status that no parser is known for its model', () => {
    const messageOf = (engine: object, kind = 'LLM') =>
      build({ engine, kind, model: { id: 'a/b', source: { huggingFace: { repo: 'acme/chat' } } } })
        .engineStatus?.message;
    expect(messageOf({ preset: 'vllm' })).to.equal(
      'no tool-call parser known for this model: set engine.family',
    );
    expect(messageOf({ preset: 'vllm', args: ['--tool-call-parser=own'] })).to.equal(undefined);
    expect(messageOf({ preset: 'vllm', family: 'none' })).to.equal(undefined);
    expect(messageOf({ preset: 'sglang' }), 'which looks into the template').to.equal(undefined);
    expect(messageOf({ preset: 'vllm' }, 'Embedding')).to.equal(undefined);
  });

  it('without a family calls tools by the parser of the spec', () => {
    const { engine } = built('vllm', { family: 'none', args: ['--tool-call-parser=own'] });
    expect(engine.args).to.include.members(['--enable-auto-tool-choice', '--tool-call-parser=own']);
  });

  it('reports cached tokens', () => {
    expect(built('vllm').engine.args).to.include('--enable-prompt-tokens-details');
    expect(built('sglang').engine.args).to.include('--enable-cache-report');
  });

  it('of vLLM lets requests end as long as the pod waits for them', () => {
    expect(built('vllm').engine.args).to.include('--shutdown-timeout=180');
    const { engine } = build({ rollout: { drainTimeout: '10m' } });
    expect(engine.args).to.include('--shutdown-timeout=600');
  });

  it('of SGLang serves a model whose id has a colon under a name without', () => {
    const { engine } = build({ engine: { preset: 'sglang' }, model: { id: 'qwen3:8b', source: QWEN } });
    expect(engine.args).to.include('--served-model-name=qwen3-8b');
    const model = makeModel({
      engine: { preset: 'sglang', servedModelName: 'a:b' },
      model: { id: 'a', source: QWEN },
    });
    expect(
      build(model.spec)
        .problems.map(({ message }) => message)
        .join(),
    ).to.include('a:b');
  });
});
