/** Between the files of `make run` and the objects that its API serves. */
import { hashApiKey } from '../../contract/identity.ts';
import { API_VERSION } from '../../contract/kubernetes-types.ts';
import { LABELS, MANAGED_BY } from '../../contract/names.ts';
import type { LocalCredential } from '../local-credentials.ts';
import type { Manifests, Secret } from '../manifests.ts';
import type { ObjectStore } from './object-store.ts';
import { type LocalObject, parseObject } from './resources.ts';

const LOCAL_KEY_NAME = 'make-run';
/** For tests and tools: no limit that these would meet. */
const LOCAL_RPM = 100_000;
const LOCAL_TPD = 1_000_000_000;

const PLURALS = {
  modeldeployments: 'deployments',
  workspaces: 'workspaces',
  apikeys: 'apiKeys',
  storagecredentials: 'storageCredentials',
  webhookendpoints: 'webhookEndpoints',
} as const;

/** Puts in what the files say. */
export function giveManifests(store: ObjectStore, manifests: Manifests): void {
  for (const [plural, field] of Object.entries(PLURALS))
    for (const { status: _, ...object } of manifests[field] as LocalObject[]) store.give(plural, object);
  for (const { namespace, name, texts } of manifests.secrets) giveSecret(store, { namespace, name, texts });
}

export const giveSecret = (store: ObjectStore, secret: Secret): void =>
  store.give('secrets', buildSecret(secret));

/** Labelled as Berth's own. */
export function buildSecret({ namespace, name, texts }: Secret): LocalObject {
  const data = Object.fromEntries(
    Object.entries(texts).map(([field, text]) => [field, Buffer.from(text).toString('base64')]),
  );
  const metadata = { namespace, name, uid: '', generation: 0, labels: { [LABELS.managedBy]: MANAGED_BY } };
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data };
}

/** A bucket that the launcher brings itself, as a customer would describe it. */
export function giveCredential(store: ObjectStore, credential: LocalCredential): void {
  const { namespace, name, id, endpoint, region, bucket, prefix, pathStyle, keys } = credential;
  const secret = `${name}-keys`;
  giveSecret(store, { namespace, name: secret, texts: { ...keys } });
  const spec = { id, ...(endpoint && { endpoint }), region, bucket, prefix, pathStyle, secret };
  const metadata = { namespace, name, uid: '', generation: 0 };
  store.give('storagecredentials', { apiVersion: API_VERSION, kind: 'StorageCredential', metadata, spec });
}

/** The key of what the launcher prints. Throws where the files have another of its name. */
export function giveLocalKey(store: ObjectStore, namespace: string, key: string): void {
  const metadata = { namespace, name: LOCAL_KEY_NAME, uid: '', generation: 0 };
  if (store.find('apikeys', namespace, LOCAL_KEY_NAME))
    throw new Error(
      `APIKey/${LOCAL_KEY_NAME} in ${namespace}: make run makes one of that name: rename yours`,
    );
  const spec = { sha256: hashApiKey(key), rpm: LOCAL_RPM, tpd: LOCAL_TPD };
  store.give('apikeys', parseObject('apikeys', { apiVersion: API_VERSION, kind: 'APIKey', metadata, spec }));
}

/** All that there is now, as the files would say it. */
export function listManifests(store: ObjectStore): Manifests {
  const entries = Object.entries(PLURALS).map(([plural, field]) => [field, store.list(plural)]);
  return { ...Object.fromEntries(entries), secrets: readSecrets(store) } as Manifests;
}

export const readSecrets = (store: ObjectStore): Secret[] =>
  store.list('secrets').map(({ metadata: { namespace, name }, data = {} }) => ({
    namespace,
    name,
    texts: Object.fromEntries(
      Object.entries(data).map(([field, text]) => [field, Buffer.from(text, 'base64').toString()]),
    ),
  }));
