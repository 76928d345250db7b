/** Warnings that kubectl shows, by the function of `make run` and by the chart's policy alike. */

interface WarningCase {
  what: string;
  spec: object;
  /** Undefined: none. */
  warning: RegExp | undefined;
}

const vllm = (more: object = {}, args: string[] = []) => ({
  kind: 'LLM',
  model: { id: 'm' },
  engine: { preset: 'vllm', args },
  ...more,
});
const custom = (resilience?: object) => ({
  kind: 'LLM',
  model: { id: 'm' },
  engine: { preset: 'custom', image: 'registry.example/engine:1' },
  ...(resilience && { resilience }),
});
const simulator = (kind: string, more: object) => ({
  kind,
  model: { id: 'm' },
  engine: { preset: 'simulator' },
  ...more,
});
const holding = (holdFor: string, mode = 'Hold') => ({
  scaling: { min: 0, max: 1, coldStart: { mode, holdFor } },
});
const hub = (repo: string) => ({ model: { id: 'm', source: { huggingFace: { repo } } } });

const LARGE = hub('meta-llama/Llama-3.1-70B-Instruct');

export const WARNING_CASES: WarningCase[] = [
  {
    what: 'a large model on one GPU',
    spec: vllm(LARGE),
    warning:
      /spec\.gpu: by the name of meta-llama\/llama-3\.1-70b-instruct its weights take about 130 GiB, more than 1 x 80 GiB of GPU memory; set spec\.gpu\.memory/,
  },
  {
    what: 'an engine that cannot sleep',
    spec: { ...custom(), scaling: { min: 0, max: 1, idle: 'Sleep' } },
    warning:
      /^spec\.scaling\.idle: only vllm with GPUs can sleep, not this engine; its last replica is removed instead$/,
  },
  {
    what: 'vLLM that sleeps without a GPU',
    spec: vllm({ gpu: { count: 0 }, scaling: { min: 0, max: 1, idle: 'Sleep' } }),
    warning: /spec\.scaling\.idle/,
  },
  {
    what: 'vLLM that sleeps',
    spec: vllm({ scaling: { min: 0, max: 1, idle: 'Sleep' } }),
    warning: undefined,
  },
  { what: 'it on two', spec: vllm({ ...LARGE, gpu: { count: 2 } }), warning: undefined },
  { what: 'it on a larger one', spec: vllm({ ...LARGE, gpu: { memory: '180Gi' } }), warning: undefined },
  {
    what: 'a model on a GPU whose memory is told',
    spec: vllm({ ...hub('Qwen/Qwen3-14B'), gpu: { memory: '24Gi' } }),
    warning: /take about 26 GiB, more than 1 x 24 GiB of GPU memory$/,
  },
  {
    what: 'a model on a slice of a GPU',
    spec: vllm({ ...hub('Qwen/Qwen3-8B'), gpu: { resourceName: 'nvidia.com/mig-1g.10gb' } }),
    warning: /take about 14 GiB, more than 1 x 9 GiB of GPU memory$/,
  },
  { what: 'all experts of a model', spec: vllm(hub('Qwen/Qwen3-235B-A22B')), warning: /about 437 GiB/ },
  { what: 'a quantized model', spec: vllm(hub('Qwen/Qwen2.5-72B-Instruct-AWQ')), warning: undefined },
  { what: 'one of 8 bits', spec: vllm(hub('RedHatAI/Llama-3.3-70B-Instruct-FP8')), warning: undefined },
  {
    what: 'one that is quantized as it is loaded',
    spec: vllm(LARGE, ['--quantization=fp8']),
    warning: undefined,
  },
  ...['AutoRound', '4.0bpw-exl2', 'HQQ', 'NVFP4A16', 'q4f16_1'].map((suffix) => ({
    what: `a model with ${suffix} in its name`,
    spec: vllm(hub(`org/Llama-3.3-70B-Instruct-${suffix}`)),
    warning: undefined,
  })),
  { what: 'a name in another script', spec: vllm(hub('org/模型-405B')), warning: /754 GiB/ },
  {
    what: 'the path on a volume',
    spec: vllm({ model: { id: 'm', source: { pvc: { claimName: 'weights', path: 'llama-70b/main' } } } }),
    warning: /130 GiB/,
  },
  {
    what: 'a prefix in S3',
    spec: vllm({ model: { id: 'm', source: { s3: { uri: 's3://models/llama-70b/' } } } }),
    warning: /130 GiB/,
  },
  {
    what: 'the path in an image',
    spec: vllm({ model: { id: 'm', source: { image: { reference: 'r/models:1', path: '/llama-70b' } } } }),
    warning: /130 GiB/,
  },
  {
    what: 'the reference of an image',
    spec: vllm({ model: { id: 'm', source: { image: { reference: 'r/models:llama-70b-v1' } } } }),
    warning: /130 GiB/,
  },
  {
    what: 'the id of a model whose files are elsewhere',
    spec: vllm({ model: { id: 'llama-405b', source: { pvc: { claimName: 'weights' } } } }),
    warning: undefined,
  },
  { what: 'a name without a size', spec: vllm(hub('deepseek-ai/DeepSeek-V3')), warning: undefined },
  { what: 'a small model', spec: vllm(hub('Qwen/Qwen3-0.6B')), warning: undefined },
  {
    what: 'the id of a model without a source',
    spec: vllm({ model: { id: 'llama-405b' } }),
    warning: /754 GiB/,
  },
  {
    what: 'more shards than GPUs',
    spec: vllm({}, ['--tensor-parallel-size=4']),
    warning: /^spec\.engine\.args: --tensor-parallel-size=4 needs more GPUs than the 1 of spec\.gpu\.count$/,
  },
  {
    what: 'as many shards as GPUs',
    spec: vllm({ gpu: { count: 4 } }, ['--tensor-parallel-size=4']),
    warning: undefined,
  },
  {
    what: 'another engine',
    spec: vllm({ ...LARGE, engine: { preset: 'llama-cpp', args: [] } }),
    warning: undefined,
  },
  {
    what: 'streams that an unknown engine is to continue',
    spec: custom({ continueStreams: true }),
    warning: /^spec\.resilience\.continueStreams: needs an engine that knows continue_final_message/,
  },
  { what: 'an unknown engine', spec: custom(), warning: undefined },
  ...[
    { preset: 'vllm', args: ['--no-enable-prefix-caching'] },
    { preset: 'sglang', args: ['--disable-radix-cache'] },
    { preset: 'llama-cpp', args: ['--no-cache-prompt'] },
  ].flatMap((engine) => [
    {
      what: `a balance by prefix without a cache of ${engine.preset}`,
      spec: { ...vllm(), engine, route: { balance: 'Prefix' } },
      warning:
        /^spec\.route\.balance: Prefix has no effect while spec\.engine\.args turn off the prefix cache/,
    },
    { what: `${engine.preset} without its cache`, spec: { ...vllm(), engine }, warning: undefined },
  ]),
  { what: 'a balance by prefix', spec: vllm({ route: { balance: 'Prefix' } }), warning: undefined },
  {
    what: 'streams that vLLM is to continue',
    spec: vllm({ resilience: { continueStreams: true } }),
    warning: undefined,
  },
  { what: 'no GPU', spec: vllm({ ...LARGE, gpu: { count: 0 } }), warning: undefined },
  ...['10m', '301s', '1d'].map((requestTimeout) => ({
    what: `requests that may take ${requestTimeout}`,
    spec: vllm({ limits: { requestTimeout } }),
    warning: /^spec\.limits\.requestTimeout: SDKs for Node give up after 300 s without a response/,
  })),
  {
    what: 'requests that may take 300 s',
    spec: vllm({ limits: { requestTimeout: '5m' } }),
    warning: undefined,
  },
  {
    what: 'images for which callers may wait for ten minutes',
    spec: simulator('Image', { limits: { imageTimeout: '10m' } }),
    warning: /^spec\.limits\.imageTimeout: .*async=true/,
  },
  ...['Transcription', 'Speech', 'Embedding'].map((kind) => ({
    what: `${kind} that may take ten minutes`,
    spec: simulator(kind, { limits: { requestTimeout: '10m' } }),
    warning: /^spec\.limits\.requestTimeout: /,
  })),
  ...['Image', 'Video'].map((kind) => ({
    what: `${kind} that is queued, whatever its jobs may take`,
    spec: simulator(kind, { limits: { requestTimeout: '10m', imageJobTimeout: '1h', videoTimeout: '1h' } }),
    warning: undefined,
  })),
  {
    what: 'requests that may be held for ten minutes',
    spec: vllm(holding('10m')),
    warning: /^spec\.scaling\.coldStart\.holdFor: /,
  },
  {
    what: 'requests that may take and be held for so long',
    spec: vllm({ ...holding('10m'), limits: { requestTimeout: '10m' } }),
    warning: /^spec\.limits\.requestTimeout, spec\.scaling\.coldStart\.holdFor: /,
  },
  {
    what: 'requests that are not held',
    spec: vllm(holding('10m', 'Reject')),
    warning: undefined,
  },
  ...['Image', 'Video'].map((kind) => ({
    what: `${kind}, which is queued or refused rather than held`,
    spec: simulator(kind, holding('10m')),
    warning: undefined,
  })),
];
