/** SGLang Diffusion: image and video models. */
import {
  ENGINE_HOME,
  ENGINE_HOST,
  type EngineInput,
  type EnginePresetDefinition,
  type EngineRun,
  modelFlag,
  revisionFlag,
} from './engine.ts';
import { SGLANG_UID, sglangImage } from './sglang.ts';

const OUTPUTS = `${ENGINE_HOME}/outputs`;

/** Its DELETE drops a video and keeps the file, which is removed long after the gateway has fetched it. */
const TIDY = `while sleep 600; do find ${OUTPUTS} -type f -mmin +180 -delete 2>/dev/null; done &`;

/** Its workers take a parent with process id 1 for a dead one and end: a shell is that parent, and passes SIGTERM on. */
const AS_CHILD = `${TIDY} sglang "$@" & engine=$!; trap "kill -TERM $engine" TERM; wait $engine; wait $engine`;

export const sglangDiffusion: EnginePresetDefinition = {
  image: sglangImage,
  gpus: 1,
  uid: SGLANG_UID,
  requests: { cpu: '1', memory: '4Gi' },
  needsModel: true,
  run: ({ spec, location, gpus }: EngineInput): EngineRun => ({
    command: ['bash', '-c', AS_CHILD, 'sglang', 'serve'],
    args: [
      ...modelFlag('--model-path', location),
      '--model-type=diffusion',
      `--host=${ENGINE_HOST}`,
      `--port=${spec.engine.port}`,
      ...revisionFlag(location),
      ...(gpus > 1 ? [`--num-gpus=${gpus}`] : []),
      // Without a folder for results it refuses videos.
      `--output-path=${OUTPUTS}`,
    ],
    env: [],
  }),
};
