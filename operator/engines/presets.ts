/** The engine presets, by name. */
import type { EnginePreset } from '../../api/engine-presets.ts';
import { custom } from './custom.ts';
import type { EnginePresetDefinition } from './engine.ts';
import { llamaCpp } from './llama-cpp.ts';
import { sglang } from './sglang.ts';
import { sglangDiffusion } from './sglang-diffusion.ts';
import { simulator } from './simulator.ts';
import { tei } from './tei.ts';
import { vllm } from './vllm.ts';
import { vllmOmni } from './vllm-omni.ts';

export const PRESETS: Record<EnginePreset, EnginePresetDefinition> = {
  vllm,
  sglang,
  'vllm-omni': vllmOmni,
  'sglang-diffusion': sglangDiffusion,
  tei,
  'llama-cpp': llamaCpp,
  simulator,
  custom,
};
