/** Memory use from an engine's arguments. Pure. */
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { readArgument } from '../engines/arguments.ts';

export interface EngineDemand {
  /** Tokens of a request; `auto`: as many as fit; undefined: the model's. */
  context: number | 'auto' | undefined;
  tensorParallel: number;
  pipelineParallel: number;
  /** Share of a GPU's memory, from 0 to 1. */
  utilization: number;
  /** With `--dtype=float32`; otherwise engines load unquantized weights in 16 bits. */
  isFloat32: boolean;
  /** Bytes of a KV cache element; undefined: as in the model's config. */
  cacheBytes: number | undefined;
}

interface Flags {
  context: string;
  tensorParallel: string[];
  pipelineParallel: string[];
  utilization: string;
}

const FLAGS: Readonly<Record<'vllm' | 'sglang', Flags>> = {
  vllm: {
    context: 'max-model-len',
    tensorParallel: ['tensor-parallel-size'],
    pipelineParallel: ['pipeline-parallel-size'],
    utilization: 'gpu-memory-utilization',
  },
  sglang: {
    context: 'context-length',
    tensorParallel: ['tp-size', 'tensor-parallel-size', 'tp'],
    pipelineParallel: ['pp-size', 'pipeline-parallel-size'],
    utilization: 'mem-fraction-static',
  },
};

/** Default of vLLM 0.28; SGLang decides by the GPU, about this much. */
const DEFAULT_UTILIZATION = { vllm: 0.92, sglang: 0.88 } as const;

/** Flags that change the size of weights or cache compared to the files and the config. */
const UNKNOWN_EFFECT = [
  'quantization',
  'load-format',
  'cpu-offload-gb',
  'hf-overrides',
  'speculative-config',
  'speculative-draft-model-path',
  'data-parallel-size',
  'dp-size',
  'torchao-config',
];

/** Why it cannot be estimated: a flag, as it is written. */
export const findUnknownFlag = (args: readonly string[]): string | undefined => {
  const found = UNKNOWN_EFFECT.find((flag) => readArgument(args, flag) !== undefined);
  return found && `--${found}`;
};

export function readEngineDemand(
  preset: 'vllm' | 'sglang',
  { engine }: Pick<ModelDeploymentSpec, 'engine'>,
  gpus: number,
): EngineDemand {
  const flags = FLAGS[preset];
  const read = (...names: string[]): string | undefined =>
    names.map((name) => readArgument(engine.args, name)).find((value) => value !== undefined);
  const tensorParallel = readCount(read(...flags.tensorParallel));
  const utilization = Number(read(flags.utilization));
  return {
    context: readContext(read(flags.context)),
    tensorParallel: tensorParallel ?? gpus,
    pipelineParallel: readCount(read(...flags.pipelineParallel)) ?? 1,
    utilization: utilization > 0 && utilization <= 1 ? utilization : DEFAULT_UTILIZATION[preset],
    isFloat32: /^float(32)?$/.test(read('dtype') ?? ''),
    cacheBytes: readCacheBytes(read('kv-cache-dtype')),
  };
}

const readCount = (text: string | undefined): number | undefined => {
  const count = Number(text);
  return Number.isSafeInteger(count) && count > 0 ? count : undefined;
};

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1_000,
  K: 1_024,
  m: 1_000_000,
  M: 1_024 ** 2,
};

/** vLLM reads `32k` as 32,000 and `32K` as 32,768. */
function readContext(text: string | undefined): EngineDemand['context'] {
  if (text === 'auto' || text === '-1') return 'auto';
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([kKmM]?)$/.exec(text ?? '') ?? [];
  return number === undefined ? undefined : Math.floor(Number(number) * UNITS[unit]!);
}

function readCacheBytes(text: string | undefined): number | undefined {
  if (text === undefined || text === 'auto') return undefined;
  return text.startsWith('fp8') ? 1 : 2;
}
