/** The only place where `make run` and `make cluster` read `process.env`; `make key` reads its own in launch/key.ts. */
import { parseEnvironment, type Variables } from '../kit/environment.ts';

/** State folder of `make run`, unless BERTH_STATE is set. */
export const DEFAULT_FOLDER = '.berth';
/** The state folder of this process; tests run instances of their own in other folders. */
export const STATE_FOLDER = process.env.BERTH_STATE || DEFAULT_FOLDER;
/** Name of the cluster that `make cluster` starts. */
export const CLUSTER_NAME = process.env.CLUSTER || 'berth';

export interface RunEnvironment {
  /** File or folder of the objects to run. */
  models: string;
  /** First of the ports, if it and those after it are free. */
  port: number;
}

const DEFAULT_PORT = 8100;

/** Throws EnvironmentError. */
export const readRunEnvironment = (variables: Variables = process.env): RunEnvironment =>
  parseEnvironment(variables, (env) => ({
    models: env.text('MODELS') ?? 'examples/local',
    port: env.port('PORT', DEFAULT_PORT, 1),
  }));
