/** Every Secret that a spec refers to, wherever a pod could read it. Pure. */
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';

export interface NamedSecret {
  name: string;
  path: string;
}

/** Fields of Kubernetes objects that refer to a Secret, and the path of its name. */
const REFERENCES: Record<string, string> = {
  secretKeyRef: 'name',
  secretRef: 'name',
  nodePublishSecretRef: 'name',
};

export function listSecretNames({ model, engine, template }: ModelDeploymentSpec): NamedSecret[] {
  const { huggingFace, s3 } = model.source;
  return [
    ...(huggingFace?.tokenSecret
      ? [{ name: huggingFace.tokenSecret.name, path: 'spec.model.source.huggingFace.tokenSecret' }]
      : []),
    ...(s3?.secret ? [{ name: s3.secret, path: 'spec.model.source.s3.secret' }] : []),
    ...findReferences(engine.env, 'spec.engine.env'),
    ...findReferences(engine.envFrom, 'spec.engine.envFrom'),
    ...findReferences(template.volumes ?? [], 'spec.template.volumes'),
    ...(template.imagePullSecrets ?? []).map((name, index) => ({
      name,
      path: `spec.template.imagePullSecrets[${index}]`,
    })),
  ];
}

/** Recursive, since Kubernetes has more kinds of volumes than can be listed; admission limits the depth of objects. */
function findReferences(value: unknown, path: string): NamedSecret[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => findReferences(item, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const below = `${path}.${key}`;
    // A volume's own `secret` uses `secretName`, a projected source uses `name`.
    if (key === 'secret') return [...named(inner, 'secretName', below), ...named(inner, 'name', below)];
    if (REFERENCES[key]) return named(inner, REFERENCES[key], below);
    if (key === 'secretName' && typeof inner === 'string') return [{ name: inner, path: below }];
    return findReferences(inner, below);
  });
}

function named(reference: unknown, field: string, path: string): NamedSecret[] {
  const name = (reference as Record<string, unknown> | null)?.[field];
  return typeof name === 'string' && name !== '' ? [{ name, path }] : [];
}
