/** Any engine with compatible routes: its image, command and arguments come from the spec. */
import {
  ENGINE_HOST,
  type EngineCommand,
  type EngineInput,
  type EnginePresetDefinition,
  modelReference,
  variables,
} from './engine.ts';

export const custom: EnginePresetDefinition = {
  image: () => undefined,
  gpus: 0,
  uid: undefined,
  requests: { cpu: '100m', memory: '256Mi' },
  needsModel: false,
  // `spec.engine.args` may name these as $(ENGINE_PORT), $(MODEL_PATH) …
  run: ({ spec, location, servedModelName }: EngineInput): EngineCommand => ({
    args: [],
    env: variables({
      ENGINE_HOST,
      ENGINE_PORT: String(spec.engine.port),
      MODEL_PATH: modelReference(location)[0] ?? '',
      MODEL_NAME: servedModelName,
    }),
  }),
};
