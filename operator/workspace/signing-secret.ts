/** The secrets that sign a namespace's webhooks: from a named Secret, or one created here (decision 0264). */

import { generateSigningSecret } from '../../api/identity.ts';
import { LABELS, MANAGED_BY, SIGNING_SECRET_FIELD, SIGNING_SECRET_NAME } from '../../api/names.ts';
import {
  endpointSecretFields,
  findInvalidSecret,
  listStaleFields,
  readEndpointSecrets,
  readSigningSecrets,
  SIGNING_SECRET_RULE,
  type SigningSecrets,
  type WorkspaceSecrets,
} from '../../api/signing-secret.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { decodeData, ensureSecret } from '../framework/ensure-secret.ts';
import { type Verdict, verdict } from '../status/condition-list.ts';

type Client = Pick<KubeClient, 'find' | 'create' | 'mergePatch'>;

interface Secret extends KubeObject {
  data?: Record<string, string>;
}

/** The workspace's secret from its named Secret, or why there is none. */
export async function readNamedSecret(
  client: Client,
  at: { namespace: string; name: string },
  signal: AbortSignal,
): Promise<{ workspace: SigningSecrets } | { problem: Verdict }> {
  const given = await client.find<Secret>(RESOURCES.Secret, at, { signal });
  const workspace = readSigningSecrets(decodeData(given?.data));
  const invalid = workspace && findInvalidSecret(workspace);
  if (invalid) return { problem: invalidSecret(`spec.signingSecret: ${describeInvalid(at.name, invalid)}`) };
  if (workspace) return { workspace };
  const message = `spec.signingSecret: Secret ${at.name} ${given ? `has no key ${SIGNING_SECRET_FIELD}` : 'does not exist'}`;
  return { problem: verdict('False', given ? 'SecretKeyNotFound' : 'SecretNotFound', message) };
}

const invalidSecret = (message: string): Verdict => verdict('False', 'InvalidSigningSecret', message);
const describeInvalid = (name: string, field: string): string =>
  `key ${field} of Secret ${name} ${SIGNING_SECRET_RULE}`;

/** Which endpoints must have a secret, and for which others an existing one is kept. */
export interface EndpointNames {
  needed: readonly string[];
  unreadable: readonly string[];
  /** There may be others, which could not be listed: everything is kept. */
  isPartial: boolean;
}

export type OwnSecrets =
  | {
      secrets: WorkspaceSecrets;
      /** Why endpoints lack their own, by name. */
      invalid: ReadonlyMap<string, string>;
      isNew: boolean;
      resourceVersion?: string | undefined;
    }
  | { problem: Verdict };

/** The namespace's own: it has no owner, so that receivers can keep using it while objects come and go. */
export async function ensureSigningSecrets(
  client: Client,
  { namespace, endpoints }: { namespace: string; endpoints: EndpointNames },
  signal: AbortSignal,
): Promise<OwnSecrets> {
  const wanted = { name: SIGNING_SECRET_NAME, field: SIGNING_SECRET_FIELD, make: generateSigningSecret };
  const found = await ensureSecret(client, { namespace }, wanted, signal);
  if (found.outcome === 'foreign') {
    const message = `Secret ${SIGNING_SECRET_NAME} was not created by Berth: reference it in spec.signingSecret, or label it ${LABELS.managedBy}=${MANAGED_BY}`;
    return { problem: verdict('False', 'NotOwned', message) };
  }
  const isNew = found.outcome === 'made';
  const change = planEndpointSecrets(found.texts, endpoints);
  const texts = { ...found.texts, ...change.made };
  const workspace = readSigningSecrets(texts)!;
  const wrong = findInvalidSecret(workspace);
  if (wrong) return { problem: invalidSecret(describeInvalid(SIGNING_SECRET_NAME, wrong)) };
  const own = readEndpointSecrets(texts, endpoints.needed);
  const invalid = takeInvalid(own);
  const secrets = { workspace, endpoints: own };
  if (Object.keys(change.data).length > 0) {
    const at = { name: SIGNING_SECRET_NAME, namespace };
    // A concurrent roll must not be overwritten.
    const metadata = isNew ? {} : { resourceVersion: found.resourceVersion };
    await client.mergePatch(RESOURCES.Secret, { at, patch: { metadata, data: change.data }, signal });
    return { secrets, invalid, isNew };
  }
  return { secrets, invalid, isNew, ...(!isNew && { resourceVersion: found.resourceVersion }) };
}

/** Removes those of endpoints that are none; why, by name. */
function takeInvalid(own: Map<string, SigningSecrets>): Map<string, string> {
  const invalid = new Map<string, string>();
  for (const [name, secrets] of own) {
    const field = findInvalidSecret(secrets, endpointSecretFields(name));
    if (field) invalid.set(name, describeInvalid(SIGNING_SECRET_NAME, field));
  }
  for (const name of invalid.keys()) own.delete(name);
  return invalid;
}

/** Adds missing endpoints' secrets, and removes those of deleted ones; `data` as a patch of the Secret. */
function planEndpointSecrets(
  texts: Readonly<Record<string, string>>,
  { needed, unreadable, isPartial }: EndpointNames,
): { made: Record<string, string>; data: Record<string, string | null> } {
  const made = Object.fromEntries(
    needed
      .map((name) => endpointSecretFields(name).secret)
      .filter((field) => !texts[field])
      .map((field) => [field, generateSigningSecret()]),
  );
  const stale = isPartial ? [] : listStaleFields(Object.keys(texts), [...needed, ...unreadable]);
  return {
    made,
    data: {
      ...Object.fromEntries(stale.map((field) => [field, null])),
      ...Object.fromEntries(
        Object.entries(made).map(([field, text]) => [field, Buffer.from(text).toString('base64')]),
      ),
    },
  };
}
