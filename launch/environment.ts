/** The only place where `make run` and `make cluster` read `process.env`. */
import { port, text, type ValuesOf } from '../api/variables.ts';
import { WEIGHTS_VARIABLES } from '../api/weights-cache.ts';
import { parseEnvironment, type Variables } from '../kit/environment.ts';

export const RUN_VARIABLES = {
  model: text(
    'MODEL',
    '`make run`, on its command line: a model of your own: the path of a GGUF file or of a folder of safetensors, or `owner/repo:quant` of a hub.',
  ),
  args: text(
    'ARGS',
    '`make run`, on its command line: flags for the engine of MODEL, such as `--ctx-size 8192`.',
    '',
  ),
  models: text(
    'MODELS',
    '`make run`: file or folder of the objects to run. With MODEL, only those of a given one.',
    'examples/local',
  ),
  hub: WEIGHTS_VARIABLES.hub,
  hubToken: WEIGHTS_VARIABLES.token,
  port: port('PORT', '`make run`: first of its ports, if it and those after it are free.', 8100, 1),
} as const;
export const STATE_VARIABLES = {
  folder: text(
    'BERTH_STATE',
    'State folder of `make run`; tests run instances of their own in other folders.',
    '.berth',
  ),
  cluster: text('CLUSTER', 'Name of the cluster that `make cluster` starts.', 'berth'),
} as const;

const state = parseEnvironment(process.env, (env) => env.readAll(STATE_VARIABLES));
export const DEFAULT_FOLDER = STATE_VARIABLES.folder.fallback;
/** The state folder of this process. */
export const STATE_FOLDER = state.folder;
export const CLUSTER_NAME = state.cluster;

export interface RunEnvironment extends Omit<ValuesOf<typeof RUN_VARIABLES>, 'args' | 'models'> {
  args: string[];
  /** Files and folders. */
  models: string[];
}

/** Throws EnvironmentError. */
export const readRunEnvironment = (variables: Variables = process.env): RunEnvironment =>
  parseEnvironment(variables, (env) => {
    const { args, models, ...given } = env.readAll(RUN_VARIABLES);
    const hasOnlyOwn = given.model && !variables[RUN_VARIABLES.models.name];
    return { ...given, args: args.split(/\s+/).filter(Boolean), models: hasOnlyOwn ? [] : [models] };
  });
