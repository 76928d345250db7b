/** Whether this machine can hold a model. */
import { existsSync } from 'node:fs';
import { totalmem } from 'node:os';
import { formatGibibytes } from '../../weights/eviction.ts';
import type { Variant } from './gguf-variants.ts';

export interface Memory {
  /** The machine's, or the limit of its container. */
  bytes: number;
  /** One with memory of its own, whose size is unknown here. */
  hasGPU: boolean;
}

export const readMemory = (): Memory => ({
  bytes: Math.min(totalmem(), process.constrainedMemory() || Infinity),
  hasGPU: ['/dev/nvidiactl', '/dev/kfd'].some((device) => existsSync(device)),
});

/** A warning if the weights alone are larger than the memory, with what would fit; `others` are choices of the same model. */
export function describeShortage(
  bytes: number,
  { bytes: limit, hasGPU }: Memory,
  others: readonly Variant[] = [],
): string | undefined {
  if (hasGPU || bytes < limit) return undefined;
  const fitting = others.flatMap(({ quantization, bytes }) =>
    quantization && bytes < limit ? [`${quantization} (${formatGibibytes(bytes)})`] : [],
  );
  const remedy =
    fitting.length > 0
      ? `Those that fit: ${fitting.join(', ')}`
      : 'A smaller model or quantization would fit.';
  // llama.cpp maps its file: a mixture of experts may still be fast enough.
  return `the model has ${formatGibibytes(bytes)}, and this machine ${formatGibibytes(limit)} of memory: weights will be read from the disk again and again. ${remedy}`;
}
