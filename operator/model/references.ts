/** What a ModelDeployment refers to in its namespace, beside what the operator makes. */
import type { ModelDeployment } from '../../api/model-deployment.ts';

export interface SecretReference {
  name: string;
  /** Keys that have to be in it; none where any will do. */
  keys: readonly string[];
  /** Where the spec names it. */
  path: string;
}

interface EnvironmentVariable {
  name?: string;
  valueFrom?: { secretKeyRef?: { name?: string; key?: string; optional?: boolean } };
}

interface EnvironmentSource {
  secretRef?: { name?: string; optional?: boolean };
}

interface Volume {
  secret?: { secretName?: string; optional?: boolean };
}

/** Secrets without which a pod could not start. */
export function listSecretReferences({ spec }: ModelDeployment): SecretReference[] {
  const { huggingFace, s3 } = spec.model.source;
  const references: SecretReference[] = [];
  if (huggingFace?.tokenSecret)
    references.push({
      name: huggingFace.tokenSecret.name,
      keys: [huggingFace.tokenSecret.key],
      path: 'spec.model.source.huggingFace.tokenSecret',
    });
  if (s3?.secret)
    references.push({
      name: s3.secret,
      keys: ['accessKeyId', 'secretAccessKey'],
      path: 'spec.model.source.s3.secret',
    });
  for (const [index, { valueFrom }] of (spec.engine.env as EnvironmentVariable[]).entries()) {
    const { name, key, optional } = valueFrom?.secretKeyRef ?? {};
    if (name && key && !optional) references.push({ name, keys: [key], path: `spec.engine.env[${index}]` });
  }
  for (const [index, { secretRef }] of (spec.engine.envFrom as EnvironmentSource[]).entries()) {
    if (secretRef?.name && !secretRef.optional)
      references.push({ name: secretRef.name, keys: [], path: `spec.engine.envFrom[${index}]` });
  }
  for (const [index, { secret }] of ((spec.template.volumes ?? []) as Volume[]).entries()) {
    if (secret?.secretName && !secret.optional)
      references.push({ name: secret.secretName, keys: [], path: `spec.template.volumes[${index}]` });
  }
  return references;
}

/** Claims that exist already and are mounted by every replica, with whether they are written to. */
export function listClaims({ spec }: ModelDeployment): { name: string; path: string }[] {
  const { huggingFace, pvc } = spec.model.source;
  const claims: { name: string; path: string }[] = [];
  if (huggingFace?.cache?.claimName)
    claims.push({ name: huggingFace.cache.claimName, path: 'spec.model.source.huggingFace.cache.claimName' });
  if (pvc) claims.push({ name: pvc.claimName, path: 'spec.model.source.pvc.claimName' });
  return claims;
}

/** The most replicas that may run at once. */
export const maxReplicas = ({ spec }: ModelDeployment): number =>
  spec.scaling ? spec.scaling.max : (spec.replicas ?? 1);
