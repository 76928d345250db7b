/** StorageCredentials as the page shows them. Pure. */
import type { StorageCredential } from '../../../api/storage-credential.ts';
import type { StorageCredentialView } from '../../api.ts';

export const PENDING = { state: 'pending', message: 'Not verified yet.' } as const;

export function describeStorageCredential({
  metadata,
  spec,
  status,
}: StorageCredential): StorageCredentialView {
  return {
    name: metadata.name,
    id: status.id ?? spec.id ?? null,
    endpoint: spec.endpoint ?? null,
    region: spec.region,
    bucket: spec.bucket,
    prefix: spec.prefix,
    pathStyle: spec.pathStyle,
    ...evaluateState(status, metadata.generation),
    createdAt: String(metadata.creationTimestamp ?? ''),
  };
}

function evaluateState(
  { conditions }: StorageCredential['status'],
  generation: number,
): Pick<StorageCredentialView, 'state' | 'message'> {
  const verified = conditions.find(({ type }) => type === 'Verified');
  if (!verified || (verified.observedGeneration ?? 0) < generation) return PENDING;
  const { status, message } = verified;
  return { state: status === 'True' ? 'verified' : status === 'False' ? 'failed' : 'pending', message };
}
