/** Objects that `make run` itself applies: those of the files, a key per workspace, an example bucket. */
import { hashApiKey, hintApiKey } from '../api/identity.ts';
import { API_VERSION } from '../api/kubernetes-types.ts';
import type { MemoryApi } from '../kube/memory/memory-api.ts';
import { groupVersion, typeKey } from '../kube/memory/resource-type.ts';
import { StatusError } from '../kube/memory/status-error.ts';
import type { KubeObject } from '../kube/object.ts';
import type { CustomerBucket } from './local-buckets.ts';
import type { ManifestObject } from './manifests.ts';

/** Field manager of what is applied here: objects no longer in the files are deleted. */
const MANAGER = 'make-run';
const LOCAL_KEY_NAME = 'make-run';
/** High limits, for tests and tools. */
const LOCAL_RPM = 100_000;
const LOCAL_TPD = 1_000_000_000;

/** Applies all, and deletes what an earlier start applied and is no longer included. Throws with file and field. */
export function applyLocalObjects(api: MemoryApi, manifests: readonly ManifestObject[]): void {
  const kept = new Set<string>();
  const namespaces = new Set([
    'default',
    ...manifests.map(({ object }) => object.metadata.namespace ?? 'default'),
  ]);
  for (const name of namespaces) apply(api, describeNamespace(name), kept);
  for (const { object, file } of manifests) {
    try {
      apply(api, object, kept);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      throw new Error(`${file}: ${object.kind}/${object.metadata.name}: ${error.message}`);
    }
  }
  for (const { key, object } of [...api.store.all()]) {
    const { name, namespace, managedFields = [], deletionTimestamp } = object.metadata;
    const isOurs = managedFields.some(
      ({ manager, operation }) => manager === MANAGER && operation === 'Apply',
    );
    if (isOurs && key !== 'namespaces' && !deletionTimestamp && !kept.has(`${key} ${namespace}/${name}`))
      api.delete(key, { namespace, name });
  }
}

function apply(api: MemoryApi, object: KubeObject, kept: Set<string>): void {
  const type = api.types.find(
    (each) => each.kind === object.kind && groupVersion(each) === object.apiVersion,
  );
  if (!type)
    throw new StatusError(
      404,
      'NotFound',
      `make run does not support ${object.kind} of ${object.apiVersion}`,
    );
  const namespace = type.namespaced ? (object.metadata.namespace ?? 'default') : undefined;
  const at = { namespace, name: object.metadata.name };
  kept.add(`${typeKey(type)} ${namespace}/${at.name}`);
  const metadata = { ...object.metadata, ...(namespace ? { namespace } : {}) };
  api.patch(
    typeKey(type),
    at,
    { ...object, metadata },
    { type: 'apply', force: true, manager: MANAGER, strict: true },
  );
}

const describeNamespace = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
});

/** The key that the launcher prints. Throws if the files have one with its name. */
export function describeLocalKey(
  manifests: readonly ManifestObject[],
  namespace: string,
  key: string,
): ManifestObject {
  const isTaken = manifests.some(
    ({ object: { kind, metadata } }) =>
      kind === 'APIKey' &&
      metadata.name === LOCAL_KEY_NAME &&
      (metadata.namespace ?? 'default') === namespace,
  );
  if (isTaken)
    throw new Error(
      `APIKey/${LOCAL_KEY_NAME} in ${namespace}: the name is reserved by make run; rename your key`,
    );
  const limits = { rpm: LOCAL_RPM, tpd: LOCAL_TPD, disabled: false };
  const spec = { sha256: hashApiKey(key), hint: hintApiKey(key), ...limits };
  const metadata = { namespace, name: LOCAL_KEY_NAME };
  return { file: 'make run', object: { apiVersion: API_VERSION, kind: 'APIKey', metadata, spec } };
}

/** A bucket of the launcher, as a customer would configure it. */
export function describeBucketObjects(bucket: CustomerBucket, namespace: string): ManifestObject[] {
  const { id, name, endpoint, keys } = bucket;
  const secret = `${name}-keys`;
  const spec = { id, endpoint, bucket: bucket.bucket, secret };
  const objects: KubeObject[] = [
    { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: secret }, stringData: { ...keys } },
    { apiVersion: API_VERSION, kind: 'StorageCredential', metadata: { namespace, name }, spec },
  ];
  return objects.map((object) => ({ file: 'make run', object }));
}
