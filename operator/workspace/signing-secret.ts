/** Where the secret comes from that signs a namespace's webhooks: a Secret that is named, or one that is made here. */

import { generateSigningSecret } from '../../api/identity.ts';
import { LABELS, MANAGED_BY, SIGNING_SECRET_FIELD, SIGNING_SECRET_NAME } from '../../api/names.ts';
import { joinSigningSecrets, readSigningSecrets } from '../../api/signing-secret.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { decodeData, ensureSecret } from '../framework/ensure-secret.ts';
import { type Verdict, verdict } from '../status/condition-list.ts';

/** The secret (`joinSigningSecrets`), or why there is none. */
export type SigningSecret =
  | { secret: string; isNew: boolean; resourceVersion?: string | undefined }
  | { problem: Verdict };

type Client = Pick<KubeClient, 'find' | 'create' | 'mergePatch'>;

interface Secret extends KubeObject {
  data?: Record<string, string>;
}

/** Of the Secret that a Workspace names. */
export async function readNamedSecret(
  client: Client,
  at: { namespace: string; name: string },
  signal: AbortSignal,
): Promise<SigningSecret> {
  const given = await client.find<Secret>(RESOURCES.Secret, at, { signal });
  const secrets = readSigningSecrets(decodeData(given?.data));
  if (secrets) return { secret: joinSigningSecrets(secrets), isNew: false };
  const message = `spec.signingSecret: Secret ${at.name} ${given ? `has no key ${SIGNING_SECRET_FIELD}` : 'does not exist'}`;
  return { problem: verdict('False', given ? 'SecretKeyNotFound' : 'SecretNotFound', message) };
}

/** The namespace's own: it has no owner, so that receivers can keep using it while objects come and go. */
export async function ensureSigningSecret(
  client: Client,
  namespace: string,
  signal: AbortSignal,
): Promise<SigningSecret> {
  const wanted = { name: SIGNING_SECRET_NAME, field: SIGNING_SECRET_FIELD, make: generateSigningSecret };
  const made = await ensureSecret(client, { namespace }, wanted, signal);
  if (made.outcome === 'made') return { secret: made.value, isNew: true };
  if (made.outcome === 'found') {
    const secret = joinSigningSecrets(readSigningSecrets(made.texts)!);
    return { secret, isNew: false, resourceVersion: made.resourceVersion };
  }
  const message = `Secret ${SIGNING_SECRET_NAME} was not created by Berth: reference it in spec.signingSecret, or label it ${LABELS.managedBy}=${MANAGED_BY}`;
  return { problem: verdict('False', 'NotOwned', message) };
}
