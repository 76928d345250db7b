/** Writes replicas by the scale subresource, which admission webhooks for Deployments do not see. */
import { KUEUE } from '../../api/names.ts';
import { isForbidden, type KubeApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';

/**
 * Whether Kueue refuses changes of a Deployment, in whose words a label's path is (docs/kueue.md). Only that may be passed by:
 * other policies mean what they refuse.
 */
export const isFrozenByKueue = (error: unknown): boolean =>
  isForbidden(error) && (error as KubeApiError).message.includes(`metadata.labels[${KUEUE.prefix}`);

/** Throws the API server's errors: with the uid, 409 if it was recreated. */
export async function writeScale(
  client: Pick<KubeClient, 'mergePatch'>,
  { metadata: { name, namespace, uid } }: Pick<KubeObject, 'metadata'>,
  { replicas, signal }: { replicas: number; signal: AbortSignal },
): Promise<void> {
  const at = { name, namespace: namespace!, subresource: 'scale' };
  const patch = { metadata: { uid }, spec: { replicas } };
  await client.mergePatch(RESOURCES.Deployment, { at, patch, signal });
}
