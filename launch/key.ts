/** `make key`: makes an API key with chosen limits for what runs here, and prints the key alone. */
import { randomBytes } from 'node:crypto';
import { apiKeySpec } from '../contract/api-key.ts';
import { hashApiKey } from '../contract/identity.ts';
import { connectRedis } from '../redis/client.ts';
import { publishApiKey } from '../redis/publication.ts';
import { type EndpointsFile, readEndpoints } from './endpoints-file.ts';
import { DEFAULT_NAMESPACE } from './local-plan.ts';

export interface KeyRequest {
  namespace: string;
  name: string;
  sha256: string;
  rpm: number;
  tpd: number;
  expiresAt?: string;
}

/** Reads RPM, TPD, EXPIRES and NAMESPACE; throws with the field and what is allowed. */
function readRequest(env: NodeJS.ProcessEnv, key: string): KeyRequest {
  const spec = apiKeySpec.safeParse({
    ...(env.RPM ? { rpm: Number(env.RPM) } : {}),
    ...(env.TPD ? { tpd: Number(env.TPD) } : {}),
    ...(env.EXPIRES ? { expiresAt: env.EXPIRES } : {}),
  });
  if (!spec.success) {
    const issue = spec.error.issues[0]!;
    const names: Record<string, string> = { rpm: 'RPM', tpd: 'TPD', expiresAt: 'EXPIRES' };
    throw new Error(`${names[String(issue.path[0])] ?? 'argument'}: ${issue.message}`);
  }
  const { rpm, tpd, expiresAt } = spec.data;
  const sha256 = hashApiKey(key);
  return {
    namespace: env.NAMESPACE || DEFAULT_NAMESPACE,
    name: `key-${sha256.slice(0, 10)}`,
    sha256,
    rpm,
    tpd,
    ...(expiresAt ? { expiresAt } : {}),
  };
}

async function publishLocally(endpoints: EndpointsFile, request: KeyRequest): Promise<void> {
  const connection = connectRedis({ url: endpoints.redisURL, name: 'key', role: 'local' });
  try {
    await connection.untilUp(5_000);
    await publishApiKey(connection.redis, request.namespace, request.sha256, {
      n: request.name,
      rpm: request.rpm,
      tpd: request.tpd,
      exp: request.expiresAt ? Math.floor(Date.parse(request.expiresAt) / 1000) : 0,
      off: 0,
    });
  } finally {
    await connection.close();
  }
}

async function main(): Promise<void> {
  const endpoints = readEndpoints();
  if (!endpoints) throw new Error('nothing runs here: start make run or make cluster first');
  const key = `sk-berth-${randomBytes(32).toString('base64url')}`;
  const request = readRequest(process.env, key);
  if (endpoints.mode === 'cluster') {
    const { applyKey } = await import('./cluster-key.ts');
    await applyKey(endpoints, request);
  } else await publishLocally(endpoints, request);
  console.log(key);
}

main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
