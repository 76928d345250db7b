/** SGLang: LLM, vision-language and embedding models. It has no switch against fetching media: the gateway holds those back. */
import {
  ENGINE_HOST,
  type EngineInput,
  type EnginePresetDefinition,
  type EngineRun,
  modelFlag,
  revisionFlag,
} from './engine.ts';

export const SGLANG_IMAGE = 'docker.io/lmsysorg/sglang:v0.5.18';
export const SGLANG_UID = 2000;

export const sglang: EnginePresetDefinition = {
  image: () => SGLANG_IMAGE,
  gpus: 1,
  uid: SGLANG_UID,
  needsModel: true,
  run: ({ spec, location, servedModelName, gpus }: EngineInput): EngineRun => ({
    command: ['python3', '-m', 'sglang.launch_server'],
    args: [
      ...modelFlag('--model-path', location),
      `--host=${ENGINE_HOST}`,
      `--port=${spec.engine.port}`,
      `--served-model-name=${servedModelName}`,
      ...revisionFlag(location),
      ...(gpus > 1 ? [`--tp-size=${gpus}`] : []),
      ...(spec.kind === 'Embedding' ? ['--is-embedding'] : []),
    ],
    env: [],
  }),
};
