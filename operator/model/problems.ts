/** Finds what in the cluster keeps a spec from being applied. */
import type { V1PersistentVolumeClaim } from '@kubernetes/client-node';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import { maxReplicas } from '../resources/deployment.ts';
import { decideRouteType } from '../resources/route.ts';
import type { Problem } from '../status/problem.ts';
import type { ModelContext } from './context.ts';
import { registrationIdOf } from './model-store.ts';

type Search = Pick<ModelContext, 'client' | 'view' | 'models' | 'settings' | 'secretKeys'>;

/** Problems that only the cluster shows; the builders evaluate the spec alone. */
export async function findProblems(
  context: Search,
  model: ModelDeployment,
  signal: AbortSignal,
): Promise<Problem[]> {
  return [
    ...findConflicts(context, model),
    ...findClassProblem(context, model),
    ...(await findSecretProblems(context, model, signal)),
    ...(await findClaimProblems(context, model, signal)),
    ...(await findAdapterClaimProblem(context, model, signal)),
  ];
}

export function findConflicts({ models }: Pick<Search, 'models'>, model: ModelDeployment): Problem[] {
  const { namespace, name } = model.metadata;
  const key = `${namespace}/${name}`;
  const describe = (owner: string) =>
    owner.startsWith(`${namespace}/`) ? owner : 'a deployment in another namespace';
  const problems: Problem[] = [];
  const host = models.hostOf(model);
  // Without an owner it is a disallowed host, which is a different problem.
  const hostOwner = host === undefined ? undefined : models.hostOwner(host);
  if (hostOwner !== undefined && hostOwner !== key && models.mayHave(model, host!))
    problems.push({
      reason: 'HostConflict',
      message: `host ${host} is already used by ${describe(hostOwner)}`,
    });
  const id = registrationIdOf(model);
  const idOwner = models.idOwner(id);
  if (idOwner !== undefined && idOwner !== key)
    problems.push({ reason: 'IdConflict', message: `spec.id ${id} is already used by ${describe(idOwner)}` });
  return problems;
}

const DEFAULT_CLASS = 'ingressclass.kubernetes.io/is-default-class';

function findClassProblem({ view, settings }: Search, model: ModelDeployment): Problem[] {
  const { enabled, className } = model.spec.route;
  if (
    !enabled ||
    decideRouteType(model, settings) !== 'Ingress' ||
    className ||
    settings.ingressClass ||
    !view.classes
  )
    return [];
  const hasDefault = view.classes
    .list()
    .some(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true');
  if (hasDefault) return [];
  const message =
    'the cluster has no default IngressClass: set spec.route.className, or spec.route.enabled to false';
  return [{ reason: 'NoIngressClass', message }];
}

async function findSecretProblems(
  context: Search,
  model: ModelDeployment,
  signal: AbortSignal,
): Promise<Problem[]> {
  const { redisUsers, externalRedisSecret } = context.settings;
  const references = listSecretReferences(model);
  if (redisUsers === 'external')
    references.push({
      name: externalRedisSecret,
      keys: ['username', 'password'],
      path: "the namespace's Redis user",
    });
  const problems = await Promise.all(
    references.map((reference) => checkSecret(context, model, reference, signal)),
  );
  return problems.flat();
}

async function checkSecret(
  { secretKeys }: Search,
  { metadata, status }: ModelDeployment,
  { name, keys, path }: SecretReference,
  signal: AbortSignal,
): Promise<Problem[]> {
  // A new spec is evaluated with the current state.
  const isFresh = status.observedGeneration !== metadata.generation;
  const at = { namespace: metadata.namespace, name };
  const present = await secretKeys.read(at, { mustHave: keys, isFresh, signal });
  if (!present) return [{ reason: 'SecretNotFound', message: `${path}: Secret ${name} not found` }];
  const missing = keys.filter((key) => !present.has(key));
  if (missing.length === 0) return [];
  return [
    { reason: 'SecretKeyNotFound', message: `${path}: Secret ${name} has no key ${missing.join(', ')}` },
  ];
}

const SHARED = ['ReadWriteMany', 'ReadOnlyMany'];

async function findClaimProblems(
  { client }: Search,
  model: ModelDeployment,
  signal: AbortSignal,
): Promise<Problem[]> {
  if (maxReplicas(model.spec) <= 1 || sharesNode(model)) return [];
  const { namespace } = model.metadata;
  const problems = await Promise.all(
    listClaims(model).map(async ({ name, path }): Promise<Problem[]> => {
      const claim = await client.find<Wire<V1PersistentVolumeClaim>>(
        RESOURCES.PersistentVolumeClaim,
        { namespace, name },
        { signal },
      );
      if (!claim || claim.spec?.accessModes?.some((mode) => SHARED.includes(mode))) return [];
      const message = `${path}: claim ${name} can be mounted on one node only: use ReadWriteMany or one replica`;
      return [{ reason: 'ClaimNotShared', message }];
    }),
  );
  return problems.flat();
}

/** Jobs write to the claim of `engine.adapters` on any node, and pods mount a folder of it. */
export async function findAdapterClaimProblem(
  { client }: Pick<Search, 'client'>,
  { metadata: { namespace }, spec }: ModelDeployment,
  signal: AbortSignal,
): Promise<Problem[]> {
  const name = spec.engine.adapters?.claimName;
  if (name === undefined) return [];
  const at = { namespace, name };
  const claim = await client.find<Wire<V1PersistentVolumeClaim>>(RESOURCES.PersistentVolumeClaim, at, {
    signal,
  });
  const refuse = (reason: string, message: string) => [
    { reason, message: `spec.engine.adapters.claimName: claim ${name} ${message}` },
  ];
  if (!claim || claim.metadata.deletionTimestamp !== undefined)
    return refuse('ClaimNotFound', 'not found, or being deleted');
  if (claim.spec?.accessModes?.includes('ReadWriteMany')) return [];
  return refuse('ClaimNotShared', 'is not ReadWriteMany: use one that is');
}

/** Pods that are all held on one node may share a claim of that node. */
export const sharesNode = ({ spec }: ModelDeployment): boolean =>
  spec.template.nodeSelector?.['kubernetes.io/hostname'] !== undefined;

/** What a ModelDeployment refers to in its namespace, beside what the operator makes. */
export interface SecretReference {
  name: string;
  /** Required keys; empty if any will do. */
  keys: readonly string[];
  /** Path in the spec. */
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

/** Existing claims that every replica mounts, and whether they are writable. */
export function listClaims({ spec }: ModelDeployment): { name: string; path: string }[] {
  const { huggingFace, pvc, cache } = spec.model.source;
  const claims: { name: string; path: string }[] = [];
  if (huggingFace?.cache?.claimName)
    claims.push({ name: huggingFace.cache.claimName, path: 'spec.model.source.huggingFace.cache.claimName' });
  if (cache) claims.push({ name: cache.claimName, path: 'spec.model.source.cache.claimName' });
  if (pvc) claims.push({ name: pvc.claimName, path: 'spec.model.source.pvc.claimName' });
  return claims;
}
