/** The front as a process on a loopback address. */
import { ADMIN_PATHS, GATEWAY_ENV } from '../../contract/gateway-environment.ts';
import { type ChildProgram, findFreePort, startProgram } from './child-program.ts';
import { waitForAnswer } from './model-replica.ts';

export interface FrontProcess {
  program: ChildProgram;
  origin: string;
  admin(path: string): Promise<Response>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Resolves when it listens; Redis may be away. */
export async function startFrontProcess(settings: {
  redisURL: string;
  /** Of the replicas that it dials. */
  replicaPort: number;
  env?: Record<string, string>;
}): Promise<FrontProcess> {
  const [httpPort, adminPort, metricsPort] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  const program = startProgram('gateway/main.ts', {
    [GATEWAY_ENV.role]: 'front',
    [GATEWAY_ENV.redisURL]: settings.redisURL,
    [GATEWAY_ENV.host]: '127.0.0.1',
    [GATEWAY_ENV.httpPort]: String(httpPort),
    [GATEWAY_ENV.adminPort]: String(adminPort),
    [GATEWAY_ENV.metricsPort]: String(metricsPort),
    [GATEWAY_ENV.replicaPort]: String(settings.replicaPort),
    ...settings.env,
  });
  const admin = (path: string) => fetch(`http://127.0.0.1:${adminPort}${path}`);
  await waitForAnswer(program, () => admin(ADMIN_PATHS.startup));
  return {
    program,
    origin: `http://127.0.0.1:${httpPort}`,
    admin,
    stop: (signal) => program.stop(signal),
  };
}
