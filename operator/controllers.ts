/** Which change of which object makes which key due, and what it changes in the stores. */
import { isDeepStrictEqual } from 'node:util';
import { SIGNING_SECRET_NAME } from '../api/names.ts';
import { type Controller, type ControllerOptions, createController, watchOf } from '../kube/controller.ts';
import { controllerOf, type KubeObject, objectKey } from '../kube/object.ts';
import type { Watcher } from '../kube/watcher.ts';
import { createWorkQueue, type WorkQueue, type WorkQueueOptions } from '../kube/work-queue.ts';
import { type CredentialContext, CredentialReconciler } from './credential/credential-reconciler.ts';
import type { CredentialStore } from './credential/credential-store.ts';
import { BERTH_RESOURCES } from './framework/berth-resources.ts';
import { type ClusterView, modelKeyOf } from './framework/cluster-view.ts';
import type { ParsedStore, RawObject } from './framework/parsed-store.ts';
import { type RecorderOptions, SpecRecorder } from './history/spec-recorder.ts';
import { type KeyContext, KeyReconciler } from './key/key-reconciler.ts';
import { type KeyStore, listHashes } from './key/key-store.ts';
import type { ModelContext } from './model/context.ts';
import { ModelReconciler } from './model/model-reconciler.ts';
import type { ModelStore } from './model/model-store.ts';
import { listOutdated } from './model/outdated-slices.ts';
import type { Publisher } from './publish/publisher.ts';
import { collectFronts } from './resources/front-slices.ts';
import { type EndpointContext, EndpointReconciler } from './webhook/endpoint-reconciler.ts';
import type { EndpointStore } from './webhook/endpoint-store.ts';
import { type WorkspaceContext, WorkspaceReconciler } from './workspace/workspace-reconciler.ts';

/** Workers of each queue, and its name in the metrics. */
const QUEUES = {
  models: { name: 'modeldeployment', workers: 8 },
  keys: { name: 'apikey', workers: 8 },
  workspaces: { name: 'workspace', workers: 8 },
  // A check of a barely responding bucket blocks a worker for 20 s.
  credentials: { name: 'storagecredential', workers: 16 },
  // Each occasionally waits for a DNS lookup.
  endpoints: { name: 'webhookendpoint', workers: 16 },
  // Apart from the deployments: a refused revision must not keep one from being served.
  history: { name: 'spechistory', workers: 2 },
};

/** Keys to reconcile. Whoever finds out that one is due adds it; the controllers take them. */
export type Queues = Record<keyof typeof QUEUES, WorkQueue>;

export function createQueues(options: Pick<WorkQueueOptions, 'log' | 'onProcessed'>): Queues {
  const create = (kind: keyof typeof QUEUES) => createWorkQueue({ ...QUEUES[kind], ...options });
  return {
    models: create('models'),
    keys: create('keys'),
    workspaces: create('workspaces'),
    credentials: create('credentials'),
    endpoints: create('endpoints'),
    history: create('history'),
  };
}

/** A rollout of the fronts changes their slices several times within a moment. */
const FRONTS_DEBOUNCE_MS = 250;

export function createControllers(
  context: ModelContext &
    KeyContext &
    WorkspaceContext &
    CredentialContext &
    EndpointContext &
    RecorderOptions,
  queues: Queues,
): readonly Controller[] {
  const { view, models: index, log } = context;
  const modelReconciler = new ModelReconciler(context);
  const keyReconciler = new KeyReconciler(context);
  const workspaceReconciler = new WorkspaceReconciler(context);
  const credentialReconciler = new CredentialReconciler(context);
  const endpointReconciler = new EndpointReconciler(context);
  const recorder = new SpecRecorder(context);
  const create = (kind: keyof Queues, options: Omit<ControllerOptions, 'name' | 'queue' | 'log'>) =>
    createController({ name: QUEUES[kind].name, queue: queues[kind], log, ...options });
  const models = create('models', {
    reconcile: (key, signal) => modelReconciler.reconcile(key, signal),
    watches: [
      watchOf({ watcher: view.models, mapToKeys: ownKey, isRelevant: changedBeyondStatus }),
      watchOf({
        watcher: view.pods,
        mapToKeys: (pod) => modelKeyOf(pod).flatMap((key) => [key, ...index.listAdapters(key)]),
      }),
      ...view.children.map((watcher) => watchOf({ watcher, mapToKeys: parentKeyOf })),
      watchOf({
        watcher: view.jobs,
        mapToKeys: (job) => parentKeyOf(job).filter((key) => index.isAdapter(key)),
      }),
      watchOf({ watcher: view.credentials, mapToKeys: (credential) => index.listStoringIn(credential) }),
    ],
    fanOuts: [
      {
        watcher: view.fronts,
        listKeys: () => listOutdated(view.slices.list(), collectFronts(view.fronts.list())),
        debounceMs: FRONTS_DEBOUNCE_MS,
      },
    ],
  });
  const keys = create('keys', {
    reconcile: (key, signal) => keyReconciler.reconcile(key, signal),
    watches: [
      watchOf({ watcher: view.keys, mapToKeys: ownKey, isRelevant: changedBeyondStatus }),
      watchOf({ watcher: view.secrets, mapToKeys: apiKeyOf }),
    ],
  });
  const workspaces = create('workspaces', {
    reconcile: (key, signal) => workspaceReconciler.reconcile(key, signal),
    watches: [
      watchOf({ watcher: view.workspaces, mapToKeys: namespaceOf, isRelevant: changedBeyondStatus }),
      // A namespace is a workspace as soon as it contains an object of Berth.
      watchOf({ watcher: view.models, mapToKeys: namespaceOf, isRelevant: () => false }),
      watchOf({ watcher: view.keys, mapToKeys: namespaceOf, isRelevant: () => false }),
      watchOf({ watcher: view.credentials, mapToKeys: namespaceOf, isRelevant: () => false }),
      watchOf({ watcher: view.endpoints, mapToKeys: namespaceOf, isRelevant: changedSigningSecret }),
      watchOf({ watcher: view.secrets, mapToKeys: signingNamespaceOf }),
    ],
  });
  const credentials = create('credentials', {
    reconcile: (key, signal) => credentialReconciler.reconcile(key, signal),
    watches: [watchOf({ watcher: view.credentials, mapToKeys: ownKey, isRelevant: changedBeyondStatus })],
  });
  const endpoints = create('endpoints', {
    reconcile: (key, signal) => endpointReconciler.reconcile(key, signal),
    watches: [watchOf({ watcher: view.endpoints, mapToKeys: ownKey, isRelevant: changedBeyondStatus })],
  });
  const history = create('history', {
    reconcile: (key, signal) => recorder.reconcile(key, signal),
    watches: [watchOf({ watcher: view.models, mapToKeys: ownKey, isRelevant: changedBeyondStatus })],
  });
  return [models, keys, workspaces, credentials, endpoints, history];
}

const ownKey = (object: KubeObject): string[] => [objectKey(object)];
/** A route in Berth's own namespace carries the label, too, but has no parent: its deployment is in another one. */
const parentKeyOf = (child: KubeObject): string[] => (controllerOf(child) ? modelKeyOf(child) : []);
/** The namespace whose webhooks a Secret signs. */
const signingNamespaceOf = ({ metadata }: KubeObject): string[] =>
  metadata.name === SIGNING_SECRET_NAME ? [metadata.namespace!] : [];

/** The APIKey that a Secret was created for. */
function apiKeyOf(secret: KubeObject): string[] {
  const owner = controllerOf(secret);
  return owner?.kind === BERTH_RESOURCES.APIKey.kind ? [`${secret.metadata.namespace}/${owner.name}`] : [];
}

const namespaceOf = ({ metadata }: KubeObject): string[] => [metadata.namespace!];

/** An endpoint asked for a secret of its own, or no longer does. */
function changedSigningSecret(old: KubeObject, current: KubeObject): boolean {
  const read = ({ spec }: KubeObject) => (spec as { signingSecret?: unknown } | undefined)?.signingSecret;
  return read(old) !== read(current);
}

/** The operator's own status writes are no reason to reconcile again. */
function changedBeyondStatus(old: KubeObject, current: KubeObject): boolean {
  return !isDeepStrictEqual(withoutStatus(old), withoutStatus(current));
}

const changesPublication = (old: KubeObject, current: KubeObject): boolean =>
  changedBeyondStatus(old, current) || !isDeepStrictEqual(listHashes(old), listHashes(current));

function withoutStatus({ status, metadata, ...rest }: KubeObject): object {
  const { resourceVersion, managedFields, ...kept } = metadata;
  return { ...rest, metadata: kept };
}

export interface ParsedStores {
  models: ModelStore;
  keys: KeyStore;
  credentials: CredentialStore;
  endpoints: EndpointStore;
}

/**
 * Keeps the stores in sync with the watches, and enqueues objects that are affected by another's change. Call before any
 * controller listens, so that a reconcile finds the stores as new as the caches.
 */
export function keepStores(
  view: ClusterView,
  stores: ParsedStores,
  { queues, publisher }: { queues: Queues; publisher: Pick<Publisher, 'mark'> },
): void {
  for (const kind of Object.keys(stores) as (keyof ParsedStores)[])
    keepStore(view[kind], stores[kind], (key) => queues[kind].add(key));
  view.keys.onChange((old, current) => {
    // What a key has spent is written to its status all the time.
    if (old && current && !changesPublication(old, current)) return;
    const only = new Set([old, current].flatMap((object) => (object ? listHashes(object) : [])));
    if (only.size > 0)
      publisher.mark({ what: 'apikeys', namespace: (current ?? old!).metadata.namespace!, only });
  });
  // Entries of existing objects are marked when they are reconciled.
  for (const what of ['credentials', 'endpoints'] as const)
    view[what].onChange((old, current) => {
      if (!current) publisher.mark({ what, namespace: old!.metadata.namespace! });
    });
}

function keepStore(
  watcher: Watcher<KubeObject>,
  store: ParsedStore<unknown>,
  onAffected: (key: string) => void,
): void {
  watcher.onChange((old, current) => {
    const key = objectKey((current ?? old)!);
    const affected = current ? store.put(key, current as unknown as RawObject) : store.remove(key);
    for (const other of affected) onAffected(other);
  });
}
