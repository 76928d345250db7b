/** The front as a process on a loopback address. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADMIN_PATHS, GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { FRONT_SECRET_FILES } from '../../api/names.ts';
import { ensureGatewayBundle } from '../../tools/gateway-bundle.ts';
import { type ChildProgram, findFreePort, startProgram } from './child-program.ts';
import { waitForAnswer } from './model-replica.ts';

export const MASTER_KEY = 'test-master-key';

export interface FrontProcess {
  program: ChildProgram;
  origin: string;
  /** Origin of its storage service. */
  internalOrigin: string;
  admin(path: string): Promise<Response>;
  metrics(): Promise<string>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Resolves when it listens; Redis may be unavailable. */
export async function startFrontProcess(settings: {
  redisURL: string;
  /** Port of the replicas that it connects to. */
  replicaPort: number;
  /** Further files of its Secret, such as the keys of a bucket. */
  secrets?: Partial<Record<keyof typeof FRONT_SECRET_FILES, string>>;
  /** The gateway's program; bundled by default. */
  script?: string;
  env?: Record<string, string>;
}): Promise<FrontProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-front-'));
  const secrets = { masterKey: MASTER_KEY, ...settings.secrets };
  for (const [name, text] of Object.entries(secrets))
    writeFileSync(join(folder, FRONT_SECRET_FILES[name as keyof typeof secrets]), text);
  const [httpPort, adminPort, internalPort, metricsPort] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  const program = startProgram(settings.script ?? (await ensureGatewayBundle()), {
    [GATEWAY_ENV.role]: 'front',
    [GATEWAY_ENV.redisURL]: settings.redisURL,
    [GATEWAY_ENV.host]: '127.0.0.1',
    [GATEWAY_ENV.httpPort]: String(httpPort),
    [GATEWAY_ENV.adminPort]: String(adminPort),
    [GATEWAY_ENV.internalPort]: String(internalPort),
    [GATEWAY_ENV.secretPath]: folder,
    [GATEWAY_ENV.spoolPath]: join(folder, 'spool'),
    [GATEWAY_ENV.metricsPort]: String(metricsPort),
    [GATEWAY_ENV.replicaPort]: String(settings.replicaPort),
    ...settings.env,
  });
  const admin = (path: string) => fetch(`http://127.0.0.1:${adminPort}${path}`);
  await waitForAnswer(program, () => admin(ADMIN_PATHS.startup));
  return {
    program,
    origin: `http://127.0.0.1:${httpPort}`,
    internalOrigin: `http://127.0.0.1:${internalPort}`,
    admin,
    metrics: async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
    stop: async (signal) => {
      await program.stop(signal);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
