/** `berth key`: creates an API key and prints it; the API server gets only its hash. */
import { apiKeySpec } from '../../api/api-key.ts';
import { FIELD_MESSAGES } from '../../api/field-messages.ts';
import { generateApiKey, hashApiKey, hintApiKey } from '../../api/identity.ts';
import { isAlreadyExists } from '../../kube/api-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import { BERTH_RESOURCES } from '../../operator/framework/berth-resources.ts';
import { Failure } from '../framework/failure.ts';
import type { Output } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import { waitForCondition } from '../framework/wait.ts';

export interface KeyLimits {
  rpm?: string | undefined;
  tpd?: string | undefined;
  priority?: string | undefined;
  expires?: string | undefined;
  owner?: string | undefined;
  /** With commas between. */
  deployments?: string | undefined;
  /** Such as `200/Month`. */
  budget?: string | undefined;
}

const HASH_DIGITS = 10;

/** Without a name, it gets one of its hash. Resolves once the gateways know it, or with exit code 5. */
export async function createKey(
  target: Target,
  given: { name: string | undefined; limits: KeyLimits },
  output: Output,
): Promise<void> {
  const key = generateApiKey();
  const sha256 = hashApiKey(key);
  const name = given.name || `key-${sha256.slice(0, HASH_DIGITS)}`;
  const limits = readLimits(given.limits, new Date());
  const { namespace, client } = target;
  const { apiVersion, kind } = BERTH_RESOURCES.APIKey;
  const object = {
    apiVersion,
    kind,
    metadata: { name, namespace },
    spec: { ...limits, sha256, hint: hintApiKey(key) },
  };
  await client.create<KubeObject>(BERTH_RESOURCES.APIKey, object).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
    throw new Failure(
      'failed',
      `there is an API key ${name} in ${namespace} already: choose another name, or remove it with kubectl delete apikey ${name} -n ${namespace}`,
    );
  });
  // Before anything else can happen: nobody else has the key.
  output.show({ name, namespace, key }, () => key);
  output.note(`The key ${name} is of the namespace ${namespace} of ${target.where}.`);
  const problem = await waitForCondition(target, 'APIKey', { name, type: 'Ready' }).catch(
    (error: Error) => error.message,
  );
  if (problem === undefined) return;
  output.note(`The key ${name} is created, but gateways do not know it yet: ${problem}`);
  output.endWith('not_ready');
}

/** Limits as the spec has them. Throws Failure with the option and what it may be. */
export function readLimits(limits: KeyLimits, now: Date): Partial<KeySpec> {
  const { rpm, tpd, priority, expires, owner, deployments, budget } = limits;
  const given = {
    rpm: toNumber(rpm),
    tpd: toNumber(tpd),
    priority: toNumber(priority),
    expiresAt: expires,
    owner,
    deployments: deployments?.split(','),
    budget: budget === undefined ? undefined : readBudget(budget),
  };
  const spec = apiKeySpec.safeParse(given, FIELD_MESSAGES);
  if (!spec.success) {
    const { path, message } = spec.error.issues[0]!;
    throw new Failure('usage', `--${path[0] === 'expiresAt' ? 'expires' : String(path[0])} ${message}`);
  }
  const { disabled: _, ...accepted } = spec.data;
  if (expires !== undefined && Date.parse(expires) <= now.getTime())
    throw new Failure(
      'usage',
      `--expires ${expires} is in the past; give a future time, such as 2030-01-01T00:00:00Z`,
    );
  return accepted;
}

/** An amount, and a period after `/` in any case. */
function readBudget(text: string): { amount: string; period?: string } {
  const slash = text.indexOf('/');
  if (slash < 0) return { amount: text };
  const period = text.slice(slash + 1);
  return {
    amount: text.slice(0, slash),
    period: period.charAt(0).toUpperCase() + period.slice(1).toLowerCase(),
  };
}

type KeySpec = ReturnType<typeof apiKeySpec.parse>;

/** What is no number is refused with the range. */
const toNumber = (text: string | undefined): number | string | undefined =>
  text === undefined || text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
