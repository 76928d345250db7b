import { expect } from 'chai';
import { modelDeployment } from '../../../../api/model-deployment.ts';
import { readModelShape } from '../../../../gateway/hub/model-shape.ts';
import { evaluateFit, type ModelSize } from '../../../../operator/fit/fit-verdict.ts';
import { findGPUMemory, type GPUNode } from '../../../../operator/fit/gpu-memory.ts';
import { LLAMA_8B, LLAMA_70B, MODEL_CONFIGS } from './model-configs.ts';

interface Change {
  args?: string[];
  gpu?: object;
  kind?: string;
  preset?: string;
  concurrency?: number;
  kvCache?: object;
  nodeSelector?: Record<string, string>;
}

const makeSpec = ({
  args = [],
  gpu = { count: 1, memory: '24Gi' },
  kind = 'LLM',
  preset = 'vllm',
  kvCache,
  ...more
}: Change) => {
  const { nodeSelector, ...rest } = more;
  return modelDeployment.parse({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name: 'chat', namespace: 'team' },
    spec: {
      kind,
      model: { id: 'm', source: { huggingFace: { repo: 'a/b' } } },
      engine: { preset, args, ...(kvCache && { kvCache }) },
      gpu,
      template: nodeSelector ? { nodeSelector } : {},
      ...rest,
    },
  }).spec;
};
const sizeOf = (config: object, weightBytes: number): ModelSize => ({
  shape: readModelShape(config)!,
  weightBytes,
});
/** Sizes as in their indexes. */
const SMALL = sizeOf(LLAMA_8B, 16_060_522_496);
const LARGE = sizeOf(LLAMA_70B, 141_107_412_992);

const evaluate = (change: Change, size: ModelSize = SMALL, nodes: readonly GPUNode[] = []) => {
  const spec = makeSpec(change);
  return evaluateFit(spec, size, findGPUMemory(spec, nodes));
};

describe('whether a model fits', () => {
  it('tells how many requests a KV cache beyond the GPU keeps', () => {
    const args = ['--context-length=8192'];
    const { message } = evaluate({ args, preset: 'sglang', kvCache: { cpu: '40Gi', disk: '200Gi' } })!;
    expect(message).to.match(/; kvCache keeps 40 in memory and 180 on disk when they have ended$/);
    // The context that fits counts, where that is chosen.
    const auto = evaluate({ args: ['--max-model-len=auto'], kvCache: { cpu: '40Gi' } })!;
    const [, context] = /1 × (\d+) tokens/.exec(auto.message)!;
    const [, kept] = /keeps (\d+) in memory/.exec(auto.message)!;
    const fixed = evaluate({ args: [`--max-model-len=${context}`], kvCache: { cpu: '40Gi' } })!;
    expect(fixed.message).to.include(`kvCache keeps ${kept} in memory`);
  });

  it('tells nothing of a KV cache beyond GPUs that the model does not fit', () => {
    const { status, message } = evaluate({ preset: 'sglang', kvCache: { cpu: '40Gi' } }, LARGE)!;
    expect(status).to.equal('False');
    expect(message).not.to.include('kvCache');
  });

  it('is true with the numbers, and how many requests there is room for', () => {
    const args = ['--max-model-len=8192'];
    expect(evaluate({ args })).to.deep.equal({
      status: 'True',
      reason: 'Fits',
      message:
        'weights 15.0 GiB + KV cache 1.0 GiB for 1 × 8192 tokens + overhead 1.5 GiB fit into 24.0 GiB × 0.92; room for 5 such requests',
    });
  });

  it('is false where not one request of the whole context fits, with the context and the GPUs that would', () => {
    expect(evaluate({})).to.deep.equal({
      status: 'False',
      reason: 'ContextTooLong',
      message:
        'weights 15.0 GiB + KV cache 16.0 GiB for 1 × 131072 tokens + overhead 1.5 GiB exceed 24.0 GiB × 0.92; a context of 45056 would fit, or 2 GPUs',
    });
    expect(evaluate({ args: ['--max-model-len=45056'] })!.status).to.equal('True');
    expect(evaluate({ args: ['--max-model-len=46080'] })!.status).to.equal('False');
  });

  it('is false where the weights alone do not', () => {
    const verdict = evaluate({ gpu: { count: 1, memory: '80Gi' } }, LARGE)!;
    expect(verdict).to.include({ status: 'False', reason: 'WeightsTooLarge' });
    expect(verdict.message).to.match(/^weights 131.4 GiB .* exceed 80.0 GiB × 0.92; 4 GPUs$/);
    expect(evaluate({ gpu: { count: 4, memory: '80Gi' } }, LARGE)!.message).to.match(
      /^weights 32.9 GiB .* fit into 80.0 GiB × 0.92 of each GPU/,
    );
  });

  it('is false where the requests of spec.concurrency do not, though the engine starts', () => {
    const verdict = evaluate({ args: ['--max-model-len=32768'], concurrency: 8 })!;
    expect(verdict).to.include({ status: 'False', reason: 'ConcurrencyTooHigh' });
    expect(verdict.message).to.match(
      /KV cache 32.0 GiB for 8 × 32768 tokens .*; a context of 5120 would fit, or a concurrency of 1, or 4 GPUs; the engine starts/,
    );
  });

  it('goes by the arguments of the engine', () => {
    const fitting: [string, Change][] = [
      ['8 bits', { args: ['--max-model-len=81920', '--kv-cache-dtype=fp8'] }],
      ['utilization', { args: ['--max-model-len', '45056', '--gpu-memory-utilization', '0.95'] }],
      ['thousands', { args: ['--max-model-len=40k'] }],
      ['SGLang', { preset: 'sglang', args: ['--context-length=32768'] }],
      ['what fits', { args: ['--max-model-len=auto'] }],
      [
        'pipelines',
        {
          args: ['--tensor-parallel-size=1', '--pipeline-parallel-size=2'],
          gpu: { count: 2, memory: '24Gi' },
        },
      ],
    ];
    for (const [what, change] of fitting) expect(evaluate(change)?.status, what).to.equal('True');
    expect(evaluate({ args: ['--max-model-len=auto'] })!.message).to.match(/for 1 × 45056 tokens/);
    expect(evaluate({ args: ['--max-model-len=40K', '--gpu-memory-utilization=0.8'] })!.status).to.equal(
      'False',
    );
  });

  it('counts weights and cache in the bits that the engine holds them in', () => {
    const float32 = sizeOf({ ...LLAMA_8B, torch_dtype: 'float32' }, 32_121_044_992);
    const large = { count: 1, memory: '80Gi' };
    const inWhole = /^weights 29.9 GiB \+ KV cache 2.0 GiB for 1 × 8192 tokens/;
    const inHalf = /^weights 15.0 GiB \+ KV cache 1.0 GiB for 1 × 8192 tokens/;
    const args = ['--max-model-len=8192'];
    expect(evaluate({ args, gpu: large }, float32)!.message).to.match(inHalf);
    expect(evaluate({ args: [...args, '--dtype=bfloat16'], gpu: large })!.message).to.match(inHalf);
    for (const size of [SMALL, float32])
      expect(evaluate({ args: [...args, '--dtype=float32'], gpu: large }, size)!.message).to.match(inWhole);
    const quantized = { ...LLAMA_8B, torch_dtype: 'float32', quantization_config: { quant_method: 'awq' } };
    expect(evaluate({ args, gpu: large }, sizeOf(quantized, 16_060_522_496))!.message).to.match(inHalf);
  });

  it('is false where the arguments divide the model over more GPUs than there are', () => {
    const gpu = { count: 2, memory: '80Gi' };
    expect(evaluate({ args: ['--pipeline-parallel-size=2'], gpu })).to.deep.equal({
      status: 'False',
      reason: 'TooFewGPUs',
      message: '2 tensor-parallel × 2 pipeline-parallel shards need more GPUs than the 2 of spec.gpu.count',
    });
    const args = ['--pipeline-parallel-size=2', '--tensor-parallel-size=1'];
    expect(evaluate({ args, gpu })!.reason).not.to.equal('TooFewGPUs');
  });

  it('is unknown where the nodes do not tell the memory, or are chosen by more than labels', () => {
    const nodes = [{ 'nvidia.com/gpu.memory': '81559' }];
    const intel = { count: 1, resourceName: 'gpu.intel.com/i915' };
    expect(evaluate({ gpu: intel }, SMALL, nodes)).to.include({ reason: 'GPUMemoryUnknown' });
    const terms = [{ matchExpressions: [{ key: 'product', operator: 'In', values: ['t4'] }] }];
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
    };
    const spec = makeSpec({ gpu: { count: 1 } });
    expect(findGPUMemory(spec, nodes)).not.to.equal(undefined);
    const affine = { ...spec, template: { ...spec.template, affinity: { nodeAffinity } } };
    expect(findGPUMemory(affine, nodes)).to.equal(undefined);
  });

  it('is by the weights alone for models that keep no cache', () => {
    const verdict = evaluate({ kind: 'Embedding' })!;
    expect(verdict).to.include({ status: 'True' });
    expect(verdict.message).not.to.include('KV cache');
  });

  it('is by the size of a MIG slice, or by the labels of the nodes that may be chosen', () => {
    const slice = { count: 1, resourceName: 'nvidia.com/mig-1g.10gb' };
    expect(evaluate({ gpu: slice })).to.include({ reason: 'WeightsTooLarge' });
    const args = ['--max-model-len=8192'];
    const node = (memory: string, product: string) => ({ 'nvidia.com/gpu.memory': memory, product });
    const nodes = [node('81559', 'h100'), node('15360', 't4')];
    const gpu = { count: 1 };
    expect(evaluate({ args, gpu, nodeSelector: { product: 'h100' } }, SMALL, nodes)!.status).to.equal('True');
    expect(evaluate({ args, gpu, nodeSelector: { product: 't4' } }, SMALL, nodes)!.reason).to.equal(
      'WeightsTooLarge',
    );
    const mixed = evaluate({ args, gpu }, SMALL, nodes)!;
    expect(mixed).to.include({ status: 'False', reason: 'SmallerGPUs' });
    expect(mixed.message).to.match(/^fits GPUs of 79.6 GiB, but those of 15.0 GiB may be chosen, too/);
    const amd = { count: 1, resourceName: 'amd.com/gpu' };
    expect(evaluate({ gpu: amd }, SMALL, [{ 'amd.com/gpu.vram': '192G' }])!.message).to.match(
      /192.0 GiB × 0.92/,
    );
  });

  it('is unknown without the memory of a GPU, and says what the model takes', () => {
    const verdict = evaluate({ gpu: { count: 1 } })!;
    expect(verdict).to.include({ status: 'Unknown', reason: 'GPUMemoryUnknown' });
    expect(verdict.message).to.match(/^weights 15.0 GiB .*set spec.gpu.memory$/);
  });

  it('is unknown where arguments or the config leave it open', () => {
    const open: [string, ReturnType<typeof evaluate>][] = [
      ['a flag', evaluate({ args: ['--quantization=fp8'] })],
      ['no shape', evaluate({}, { shape: null, weightBytes: 1 })],
      ['no context', evaluate({}, sizeOf(MODEL_CONFIGS['Gemma 3 27B']!.config, 1))],
    ];
    for (const [what, verdict] of open)
      expect(verdict, what).to.include({ status: 'Unknown', reason: 'NotEstimated' });
    const reason = { reason: 'ModelNotRead', message: 'a/b has no config.json' };
    expect(evaluate({}, reason)).to.deep.equal({ status: 'Unknown', ...reason });
  });

  it('is not said of engines that run without GPUs, or hold their models otherwise', () => {
    expect(evaluate({ gpu: { count: 0 } })).to.equal(undefined);
    expect(evaluate({ preset: 'llama-cpp' })).to.equal(undefined);
    expect(evaluate({ preset: 'simulator', gpu: { count: 0 } })).to.equal(undefined);
  });
});
