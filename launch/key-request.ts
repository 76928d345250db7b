/** The key that `make key` is asked for: its hash, and its limits by the environment. */
import { apiKeySpec } from '../api/api-key.ts';
import { FIELD_MESSAGES } from '../api/field-messages.ts';
import { hashApiKey, hintApiKey } from '../api/identity.ts';
import { text } from '../api/variables.ts';
import { parseEnvironment } from '../kit/environment.ts';
import { DEFAULT_NAMESPACE } from './local-plan.ts';

export const KEY_VARIABLES = {
  rpm: text('RPM', '`make key`: requests per minute, 60 if unset.'),
  tpd: text('TPD', '`make key`: tokens per UTC day, 1000000 if unset.'),
  priority: text('PRIORITY', '`make key`: priority from -100 to 100, 0 if unset.'),
  expiresAt: text(
    'EXPIRES',
    '`make key`: time from which the key is rejected, such as 2030-01-01T00:00:00Z.',
  ),
  name: text('NAME', '`make key`, on its command line: name of the key; derived from its hash if unset.'),
  namespace: text('NAMESPACE', '`make key`: namespace of the key.', DEFAULT_NAMESPACE),
} as const;

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

/** What is no number stays as it is, for the schema's message. */
const toNumber = (given: string | undefined): number | string | undefined =>
  given !== undefined && /^-?\d+(\.\d+)?$/.test(given) ? Number(given) : given;

/** Reads NAME, RPM, TPD, PRIORITY, EXPIRES and NAMESPACE; throws with the field and its allowed values. */
export function readRequest(env: NodeJS.ProcessEnv, key: string): KeyRequest {
  const given = parseEnvironment(env, (reader) => reader.readAll(KEY_VARIABLES));
  const spec = apiKeySpec.safeParse(
    {
      rpm: toNumber(given.rpm),
      tpd: toNumber(given.tpd),
      priority: toNumber(given.priority),
      expiresAt: given.expiresAt,
    },
    FIELD_MESSAGES,
  );
  if (!spec.success) {
    const issue = spec.error.issues[0]!;
    const variable = KEY_VARIABLES[issue.path[0] as keyof typeof KEY_VARIABLES];
    throw new Error(`${variable?.name ?? 'argument'}: ${issue.message}`);
  }
  const { rpm, tpd, priority, expiresAt } = spec.data;
  if (expiresAt && Date.parse(expiresAt) <= Date.now())
    throw new Error(`EXPIRES: ${expiresAt} is in the past; give a future time, such as 2030-01-01T00:00:00Z`);
  const sha256 = hashApiKey(key);
  return {
    namespace: given.namespace,
    name: given.name ?? `key-${sha256.slice(0, 10)}`,
    sha256,
    hint: hintApiKey(key),
    rpm,
    tpd,
    priority,
    ...(expiresAt ? { expiresAt } : {}),
  };
}
