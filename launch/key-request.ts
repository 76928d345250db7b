/** The key that `make key` is asked for: its hash, and its limits by the environment. */
import { apiKeySpec } from '../api/api-key.ts';
import { FIELD_MESSAGES } from '../api/field-messages.ts';
import { hashApiKey, hintApiKey } from '../api/identity.ts';
import { DEFAULT_NAMESPACE } from './local-plan.ts';

export interface KeyRequest {
  namespace: string;
  name: string;
  sha256: string;
  hint?: string | undefined;
  rpm: number;
  tpd: number;
  priority: number;
  expiresAt?: string;
}

/** Reads RPM, TPD, PRIORITY, EXPIRES and NAMESPACE; throws with the field and its allowed values. */
export function readRequest(env: NodeJS.ProcessEnv, key: string): KeyRequest {
  const given = {
    ...(env.RPM ? { rpm: Number(env.RPM) } : {}),
    ...(env.TPD ? { tpd: Number(env.TPD) } : {}),
    ...(env.PRIORITY ? { priority: Number(env.PRIORITY) } : {}),
    ...(env.EXPIRES ? { expiresAt: env.EXPIRES } : {}),
  };
  const spec = apiKeySpec.safeParse(given, FIELD_MESSAGES);
  if (!spec.success) {
    const issue = spec.error.issues[0]!;
    const names: Record<string, string> = {
      rpm: 'RPM',
      tpd: 'TPD',
      priority: 'PRIORITY',
      expiresAt: 'EXPIRES',
    };
    throw new Error(`${names[String(issue.path[0])] ?? 'argument'}: ${issue.message}`);
  }
  const { rpm, tpd, priority, expiresAt } = spec.data;
  if (expiresAt && Date.parse(expiresAt) <= Date.now())
    throw new Error(`EXPIRES: ${expiresAt} is in the past; give a future time, such as 2030-01-01T00:00:00Z`);
  const sha256 = hashApiKey(key);
  return {
    namespace: env.NAMESPACE || DEFAULT_NAMESPACE,
    name: `key-${sha256.slice(0, 10)}`,
    sha256,
    hint: hintApiKey(key),
    rpm,
    tpd,
    priority,
    ...(expiresAt ? { expiresAt } : {}),
  };
}
