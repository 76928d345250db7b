/** Berth's own engine without a model or a GPU. */
import { sleepsWhenIdle } from '../../api/engine-traits.ts';
import {
  ENGINE_HOST,
  type EngineCommand,
  type EngineInput,
  type EnginePresetDefinition,
  variables,
} from './engine.ts';

export const simulator: EnginePresetDefinition = {
  // The chart names the image: it is Berth's own, of the same version.
  image: () => undefined,
  gpus: 0,
  uid: 65_532,
  readOnlyRootFilesystem: true,
  requests: { cpu: '10m', memory: '64Mi' },
  metricsPath: '/metrics',
  needsModel: false,
  run: ({ spec, servedModelName }: EngineInput): EngineCommand => ({
    args: ['simulator/main.ts'],
    env: variables({
      SIMULATOR_HOST: ENGINE_HOST,
      SIMULATOR_PORT: String(spec.engine.port),
      SIMULATOR_MODEL: servedModelName,
      SIMULATOR_KIND: spec.kind,
      ...(sleepsWhenIdle(spec) && { SIMULATOR_SLEEP_MODE: '1' }),
    }),
  }),
};
