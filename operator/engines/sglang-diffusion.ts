/** SGLang Diffusion: image and video models. */
import {
  ENGINE_HOME,
  ENGINE_HOST,
  ENGINE_NOTES,
  type EngineCommand,
  type EngineInput,
  type EnginePresetDefinition,
  modelFlag,
  revisionFlag,
  variables,
} from './engine.ts';
import { SGLANG_UID, sglangImage } from './sglang.ts';

const OUTPUTS = `${ENGINE_HOME}/outputs`;
/** Its default is below its working folder, which is not writable. */
const INPUTS = `${ENGINE_HOME}/inputs`;

/** Nothing else removes the files: its DELETE drops only a video's record. The gateway fetches results long before. */
const TIDY = `while sleep 600 && kill -0 $engine; do find ${OUTPUTS} ${INPUTS} -type f -mmin +180 -delete; done`;

/** Live children of the engine with the title of its workers; a killed one stays as a zombie. */
const COUNT_WORKERS = `count() {
  local n=0 line
  for each in /proc/[0-9]*/stat; do
    read -r line < $each && [[ $line == *"(sgl_diffusion"*") "[!ZX]" $engine "* ]] && n=$((n + 1))
  done
  echo $n
}`;

/**
 * It does not supervise its workers: after the death of one, requests wait forever at a server that reports itself healthy (decision 0161).
 * None of them can end, so it gets less time to do so than a client waits.
 */
const WATCH = `most=0
while sleep 5 && kill -0 $engine; do
  now=$(count)
  if ((now < most)); then
    echo "A worker of the engine has died: the engine is restarted." >&3
    kill -TERM $engine; sleep 5; kill -KILL $engine
  fi
  most=$now
done`;

const MEMORY_MARK = `${ENGINE_NOTES}/out-of-memory`;
const MEMORY_MARK_VARIABLE = 'BERTH_MEMORY_MARK';

/** Passes its log through and searches it for out-of-memory errors of its workers, since its responses only say "Internal Server Error". */
const LOOK = `exec 4> >(exec tee >(grep -a --line-buffered "OOM detected" | while read -r _; do echo > "$${MEMORY_MARK_VARIABLE}"; done)); log=$!`;

/** Its parent shell forwards SIGTERM; its workers then end before it does. */
const SERVE = `exec 3>&2
${LOOK}
sglang "$@" >&4 & engine=$!
exec 4>&-
trap 'kill -TERM $engine; kill $watch 2>/dev/null' TERM
${COUNT_WORKERS}
{ ${TIDY}; } 2>/dev/null &
{ ${WATCH}
} 2>/dev/null & watch=$!
wait $engine; wait $engine; ended=$?
{ sleep 1; kill $log; } 2>/dev/null & wait $log
exit $ended`;

export const sglangDiffusion: EnginePresetDefinition = {
  image: sglangImage,
  gpus: 1,
  uid: SGLANG_UID,
  requests: { cpu: '1', memory: '4Gi' },
  memoryMark: MEMORY_MARK,
  needsModel: true,
  run: ({ spec, location, gpus }: EngineInput): EngineCommand => ({
    command: ['bash', '-c', SERVE, 'sglang', 'serve'],
    args: [
      ...modelFlag('--model-path', location),
      '--model-type=diffusion',
      `--host=${ENGINE_HOST}`,
      `--port=${spec.engine.port}`,
      ...revisionFlag(location),
      ...(gpus > 1 ? [`--num-gpus=${gpus}`] : []),
      // Without an output folder it refuses videos.
      `--output-path=${OUTPUTS}`,
      `--input-save-path=${INPUTS}`,
    ],
    env: variables({ [MEMORY_MARK_VARIABLE]: MEMORY_MARK }),
  }),
};
