/** The optional parameters by the names that SGLang Diffusion and vLLM-Omni share; others ignore what they do not know. */
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

/** Those that the request has. */
export const listExtraFields = (parameters: ExtraParameters): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(NAMES).flatMap(([key, name]) => {
      const value = parameters[key as keyof ExtraParameters];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** A form carries objects as JSON. */
export const writeFormValue = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value);
