/** vLLM-Omni: image, video and speech models. */
import { parseDuration } from '../../api/quantity.ts';
import {
  ENGINE_HOST,
  type EngineCommand,
  type EngineInput,
  type EnginePresetDefinition,
  type ModelLocation,
  modelReference,
  NO_MEDIA_HOST,
} from './engine.ts';
import { OMNI_IMAGES, VLLM_ENV, VLLM_UID } from './vllm.ts';

const SERVE = ['vllm', 'serve'];

/** Most of its pipelines ignore the revision and load the default branch: the engine gets a folder instead. */
const SERVE_REVISION = `folder=$(python3 -c 'import sys, huggingface_hub
print(huggingface_hub.snapshot_download(sys.argv[1], revision=sys.argv[2]))' "$1" "$2") || exit
shift 2
exec ${SERVE.join(' ')} "$folder" "$@"`;

export const vllmOmni: EnginePresetDefinition = {
  image: OMNI_IMAGES,
  gpus: 1,
  uid: VLLM_UID,
  requests: { cpu: '1', memory: '4Gi' },
  metricsPath: '/metrics',
  needsModel: true,
  run: ({ spec, location, servedModelName, gpus }: EngineInput): EngineCommand => ({
    command: buildCommand(location),
    args: [
      ...(isPinned(location) ? [] : modelReference(location)),
      '--omni',
      `--host=${ENGINE_HOST}`,
      `--port=${spec.engine.port}`,
      `--served-model-name=${servedModelName}`,
      // Its defaults of 10 and 5 minutes would abort a start that the pod's probes still allow.
      ...listTimeouts(parseDuration(spec.engine.startupTimeout)),
      // Diffusion is split by sequence; speech models place their stages by their own configuration.
      ...(gpus > 1 && spec.kind !== 'Speech' ? [`--usp=${gpus}`] : []),
      `--allowed-media-domains=${NO_MEDIA_HOST}`,
    ],
    env: VLLM_ENV,
  }),
};

type PinnedRepository = Extract<ModelLocation, { kind: 'repository' }> & { revision: string };

const isPinned = (location: ModelLocation): location is PinnedRepository =>
  location.kind === 'repository' && Boolean(location.revision);

const buildCommand = (location: ModelLocation): string[] =>
  isPinned(location) ? ['bash', '-c', SERVE_REVISION, 'vllm', location.repository, location.revision] : SERVE;

function listTimeouts(startupMs: number): string[] {
  const seconds = Math.max(1, Math.ceil(startupMs / 1000));
  return [`--init-timeout=${seconds}`, `--stage-init-timeout=${seconds}`];
}
