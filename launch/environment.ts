/** The only place where `make run` and `make cluster` read `process.env`; `make key` reads its own in launch/key.ts. */
import { port, text, type ValuesOf } from '../api/variables.ts';
import { parseEnvironment, type Variables } from '../kit/environment.ts';

export const RUN_VARIABLES = {
  models: text('MODELS', '`make run`: file or folder of the objects to run.', 'examples/local'),
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

export const LISTEN_VARIABLES = {
  token: text(
    'BERTH_TOKEN',
    '`make listen` by a console: a Kubernetes bearer token, instead of --token-file.',
  ),
} as const;

const state = parseEnvironment(process.env, (env) => env.readAll(STATE_VARIABLES));
export const DEFAULT_FOLDER = STATE_VARIABLES.folder.fallback;
/** The state folder of this process. */
export const STATE_FOLDER = state.folder;
export const CLUSTER_NAME = state.cluster;

export type RunEnvironment = ValuesOf<typeof RUN_VARIABLES>;

/** Throws EnvironmentError. */
export const readRunEnvironment = (variables: Variables = process.env): RunEnvironment =>
  parseEnvironment(variables, (env) => env.readAll(RUN_VARIABLES));
