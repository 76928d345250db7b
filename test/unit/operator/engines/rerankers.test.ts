import { expect } from 'chai';
import { build } from '../resources/fixtures.ts';

const ROCM = { count: 1, resourceName: 'amd.com/gpu' };

const buildFor = (preset: string, source: object, more: object = {}) =>
  build({
    kind: 'Rerank',
    model: { id: 'm', source },
    ...more,
    engine: { preset, ...(more as { engine?: object }).engine },
  });
const repository = (repo: string) => ({ huggingFace: { repo } });
const flagsOf = (preset: string, repo: string, more: object = {}) =>
  buildFor(preset, repository(repo), more).engine.args!;
const find = (args: readonly string[], flag: string) =>
  args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);

describe('vLLM for reranking', () => {
  const VLLM_FOLDER = '/vllm-workspace/examples/pooling/score/template';
  /** The architecture in the overrides, and the template. */
  const KNOWN: Record<string, [architecture: string | null, template: string | null]> = {
    'Qwen/Qwen3-Reranker-0.6B': ['Qwen3ForSequenceClassification', 'qwen3_reranker'],
    'Qwen/Qwen3-VL-Reranker-2B': ['Qwen3VLForSequenceClassification', 'qwen3_vl_reranker'],
    'mixedbread-ai/mxbai-rerank-base-v2': ['Qwen2ForSequenceClassification', 'mxbai_rerank_v2'],
    'mixedbread-ai/mxbai-rerank-large-v2': ['Qwen2ForSequenceClassification', 'mxbai_rerank_v2'],
    'BAAI/bge-reranker-v2-gemma': ['GemmaForSequenceClassification', 'bge-reranker-v2-gemma'],
    // Converted ones: they have a classifier, and still need the prompt.
    'tomaarsen/Qwen3-Reranker-0.6B-seq-cls': [null, 'qwen3_reranker'],
    'acme/Qwen3-VL-Reranker-2B-seq-cls': [null, 'qwen3_vl_reranker'],
    'michaelfeil/mxbai-rerank-base-v2-seq': [null, 'mxbai_rerank_v2'],
    'nvidia/llama-nemotron-rerank-1b-v2': [null, 'nemotron-rerank'],
    'nvidia/llama-nemotron-rerank-vl-1b-v2': [null, 'nemotron-vl-rerank'],
    'Alibaba-NLP/gte-multilingual-reranker-base': ['GteNewForSequenceClassification', null],
    // vLLM recognizes these by their configuration.
    'BAAI/bge-reranker-v2-m3': [null, null],
    'mixedbread-ai/mxbai-rerank-base-v1': [null, null],
    'Alibaba-NLP/gte-reranker-modernbert-base': [null, null],
  };
  for (const [repo, [architecture, template]] of Object.entries(KNOWN))
    it(`starts ${repo} as ${architecture ?? 'it is'}, with ${template ? `the prompt ${template}` : 'no prompt'}`, () => {
      const args = flagsOf('vllm', repo);
      expect(args).to.include('--runner=pooling');
      const overrides = find(args, '--hf-overrides');
      expect(overrides === undefined ? null : JSON.parse(overrides).architectures[0]).to.equal(architecture);
      expect(find(args, '--chat-template') ?? null).to.equal(template && `${VLLM_FOLDER}/${template}.jinja`);
    });

  it('tells of a reranker by the name of any source, the most reliable first', () => {
    const argsFor = (source: object) => buildFor('vllm', source).engine.args!;
    const pvc = { claimName: 'models', path: 'Qwen3-VL-Reranker-2B' };
    expect(find(argsFor({ pvc }), '--hf-overrides')).to.include('"Qwen3VLForSequenceClassification"');
    const s3 = { uri: 's3://models/Qwen3-Reranker-8B' };
    expect(find(argsFor({ s3 }), '--hf-overrides')).to.include('"Qwen3ForSequenceClassification"');
    const args = flagsOf('vllm', 'tomaarsen/Qwen3-Reranker-0.6B-seq-cls', {
      model: { id: 'qwen3-reranker', source: repository('tomaarsen/Qwen3-Reranker-0.6B-seq-cls') },
    });
    expect(find(args, '--hf-overrides')).to.equal(undefined);
  });

  it('names a file only of an image that has it, and leaves what the spec says', () => {
    const repo = 'Qwen/Qwen3-Reranker-8B';
    expect(find(flagsOf('vllm', repo, { engine: { image: 'own:1' } }), '--chat-template')).to.equal(
      undefined,
    );
    expect(find(flagsOf('vllm', repo, { gpu: ROCM }), '--chat-template')).to.equal(
      '/app/vllm/examples/pooling/score/template/qwen3_reranker.jinja',
    );
    const own = ['--chat-template=/mine.jinja', '--hf-overrides={}'];
    const args = flagsOf('vllm', repo, { engine: { args: own } });
    expect(args.filter((arg) => /^--(chat-template|hf-overrides)/.test(arg))).to.deep.equal(own);
  });

  it('says in the status which prompt', () => {
    expect(buildFor('vllm', repository('Qwen/Qwen3-Reranker-8B')).engineStatus).to.deep.equal({
      chatTemplate: 'qwen3_reranker.jinja',
    });
  });
});

describe('SGLang for reranking', () => {
  const problemsOf = (repo: string, engine: object = {}) =>
    buildFor('sglang', repository(repo), { engine }).problems.map(({ message }) => message);

  it('reads a pair as a whole with an encoder', () => {
    expect(flagsOf('sglang', 'BAAI/bge-reranker-v2-m3')).to.include.members([
      '--is-embedding',
      '--disable-radix-cache',
      '--chunked-prefill-size=-1',
      '--attention-backend=triton',
    ]);
  });

  for (const [repo, template, gpu] of [
    ['Qwen/Qwen3-Reranker-8B', 'qwen3_reranker', undefined],
    ['Qwen/Qwen3-VL-Reranker-2B', 'qwen3_vl_reranker', undefined],
    ['Qwen/Qwen3-Reranker-8B', 'qwen3_reranker', ROCM],
  ] as const)
    it(`lets ${repo} generate, with the prompt by which SGLang knows it: ${gpu?.resourceName ?? 'nvidia'}`, () => {
      const args = flagsOf('sglang', repo, { ...(gpu && { gpu }) });
      expect(find(args, '--chat-template')).to.equal(
        `/sgl-workspace/sglang/examples/chat_template/${template}.jinja`,
      );
      expect(args.join(' ')).not.to.match(/is-embedding|radix|chunked-prefill|attention-backend/);
      expect(problemsOf(repo)).to.deep.equal([]);
    });

  it('refuses that without the prompt, and says what to do', () => {
    const repo = 'Qwen/Qwen3-Reranker-8B';
    const [message] = problemsOf(repo, { image: 'own:1' });
    expect(message).to.include('--chat-template').and.include('qwen3_reranker.jinja');
    expect(problemsOf(repo, { image: 'own:1', args: ['--chat-template=/mine.jinja'] })).to.deep.equal([]);
    expect(problemsOf(repo, { command: ['own'] })).to.deep.equal([]);
  });

  for (const repo of [
    'tomaarsen/Qwen3-Reranker-0.6B-seq-cls',
    'mixedbread-ai/mxbai-rerank-base-v2',
    'BAAI/bge-reranker-v2-gemma',
    'nvidia/llama-nemotron-rerank-1b-v2',
  ])
    it(`refuses ${repo}, of which it would rank badly without an error`, () => {
      expect(problemsOf(repo).join()).to.include('sglang cannot rank with this model').and.include('vllm');
      expect(problemsOf(repo, { image: 'own:1' })).to.deep.equal([]);
    });
});
