/** Whether results can be stored where a deployment wants them; the deployment serves anyway. */

import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { StorageCredential } from '../../api/storage-credential.ts';
import { findCondition, type Verdict, verdict } from '../status/condition-list.ts';
import type { ModelContext } from './context.ts';

/** Undefined if the spec has no credential. */
export function evaluateStorage(
  { view }: Pick<ModelContext, 'view'>,
  { metadata, spec }: ModelDeployment,
): Verdict | undefined {
  const name = spec.storage.credential;
  if (name === undefined) return undefined;
  const live = view.credentials.get(`${metadata.namespace}/${name}`);
  const consequence = 'requests that store results without naming another credential are rejected';
  if (!live)
    return verdict(
      'False',
      'CredentialNotFound',
      `spec.storage.credential: StorageCredential ${name} not found; ${consequence}`,
    );
  const { conditions = [] } = (live.status ?? {}) as Partial<StorageCredential['status']>;
  const verified = findCondition(conditions, 'Verified');
  if (verified?.status === 'True') return verdict('True', 'CredentialVerified', verified.message);
  const message = verified?.message ?? 'not checked yet';
  if (verified?.status !== 'False') return verdict('Unknown', 'CredentialNotTried', message);
  return verdict(
    'False',
    'CredentialNotVerified',
    `StorageCredential ${name} is not verified: ${message}; ${consequence}`,
  );
}
