/** The optional parameters by the names that SGLang Diffusion and vLLM-Omni share; engines ignore unknown ones. */
import { randomInt } from 'node:crypto';
import { findMediaEngine } from '../../api/media-engines.ts';
import type { ExtraParameters } from './job.ts';

const NAMES: Readonly<Record<keyof ExtraParameters, string>> = {
  negativePrompt: 'negative_prompt',
  seed: 'seed',
  steps: 'num_inference_steps',
  guidanceScale: 'guidance_scale',
  trueCfgScale: 'true_cfg_scale',
  flowShift: 'flow_shift',
  extraParams: 'extra_params',
};

/** Those present in the request. */
export const listExtraFields = (parameters: ExtraParameters): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(NAMES).flatMap(([key, name]) => {
      const value = parameters[key as keyof ExtraParameters];
      return value === undefined ? [] : [[name, value]];
    }),
  );

const SEEDS = 2 ** 31;

/** With a random seed where the engine would use its own fixed one. */
export const addSeed = <Parameters extends ExtraParameters>(
  parameters: Parameters,
  preset: string,
): Parameters =>
  parameters.seed === undefined && findMediaEngine(preset).hasFixedSeed
    ? { ...parameters, seed: randomInt(SEEDS) }
    : parameters;

/** A form carries objects as JSON. */
export const writeFormValue = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value);
