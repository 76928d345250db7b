/** Records the specs of ModelDeployments as ControllerRevisions, which belong to them (decision 0379). */
import { ANNOTATIONS, LABELS, MANAGED_BY } from '../../api/names.ts';
import {
  newestFirst,
  readRevision,
  revisionLabels,
  revisionName,
  type Spec,
  specVersion,
  writtenSpec,
} from '../../api/spec-revision.ts';
import { isAlreadyExists, isNamespaceTerminating, isNotFound } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listInPages } from '../../kube/list-pages.ts';
import { controllerOf, controllerReference, isStub, type KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import type { ClusterView } from '../framework/cluster-view.ts';
import { listRevisions } from '../framework/revision-list.ts';
import { readSpecWriter } from '../framework/spec-writer.ts';
import { describeChange, type KnownRevision, knowRevision, planRevisions } from './revision-plan.ts';

const { ControllerRevision } = RESOURCES;
const PAGE_SIZE = 500;
/** Whoever changes a spec in a loop causes one revision in this time. */
const INTERVAL_MS = 1_000;

export interface RecorderOptions {
  client: Pick<KubeClient, 'list' | 'create' | 'delete'>;
  view: { models: Pick<ClusterView['models'], 'get'> };
  /** `watchNamespaces`: the only ones that may be listed; empty for all. */
  settings: { watchNamespaces: readonly string[] };
  /** Unix milliseconds. */
  now: () => number;
}

/** What is known of a deployment. */
interface Recorded {
  uid: string;
  /** Newest first. */
  revisions: KnownRevision[];
  /** The highest number whose name is in use. */
  taken: number;
  /** Unix milliseconds of the last look at its spec. */
  lookedAt: number;
}

export class SpecRecorder {
  readonly #options: RecorderOptions;
  readonly #recorded = new Map<string, Recorded>();
  /** By what is listed at once: a namespace, or '' for all. */
  readonly #loads = new Map<string, Promise<void>>();

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Level-triggered: of the specs within a second, it records the last. */
  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const live = this.#options.view.models.get(key);
    if (!live || live.metadata.deletionTimestamp !== undefined) {
      this.#recorded.delete(key);
      return {};
    }
    if (isStub(live)) return {};
    await this.#load(live.metadata.namespace!, signal);
    const recorded = this.#find(key, live.metadata.uid!);
    const now = this.#options.now();
    const waitMs = recorded.lookedAt + INTERVAL_MS - now;
    // More: the clock was set back.
    if (waitMs > 0 && waitMs <= INTERVAL_MS) return { requeueAfterMs: waitMs };
    recorded.lookedAt = now;
    try {
      return await this.#record(live, recorded, signal);
    } catch (error) {
      // The deployment is about to be deleted itself.
      if (isNamespaceTerminating(error)) return {};
      recorded.lookedAt = 0;
      throw error;
    }
  }

  #find(key: string, uid: string): Recorded {
    const known = this.#recorded.get(key);
    if (known?.uid === uid) return known;
    const recorded = { uid, revisions: [], taken: 0, lookedAt: 0 };
    this.#recorded.set(key, recorded);
    return recorded;
  }

  async #record(live: KubeObject, recorded: Recorded, signal: AbortSignal): Promise<Requeue> {
    const { client, now } = this.#options;
    const { namespace } = live.metadata;
    const version = specVersion(live.spec as Spec);
    const { number, remove } = planRevisions(recorded.revisions, version, recorded.taken);
    if (number !== undefined) {
      const change = describeChange(readSpecWriter(live), recorded.revisions[0], now());
      const revision = { name: revisionName(live.metadata.name, recorded.uid, number), number, ...change };
      try {
        await client.create(ControllerRevision, buildRevision(live, revision), { signal });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        // Another operator wrote it, or it is somebody else's.
        recorded.taken = number;
        const found = newestFirst(await listRevisions(client, live, signal));
        recorded.revisions = found.map(knowRevision);
        return { requeueAfterMs: INTERVAL_MS };
      }
      recorded.revisions = [{ ...revision, version }, ...recorded.revisions];
    }
    for (const { name } of remove) {
      await client.delete(ControllerRevision, { namespace: namespace!, name }, { signal }).catch((error) => {
        if (!isNotFound(error)) throw error;
      });
      recorded.revisions = recorded.revisions.filter((revision) => revision.name !== name);
    }
    return {};
  }

  /** Once: one list of all deployments' revisions, instead of one for each of them. */
  #load(namespace: string, signal: AbortSignal): Promise<void> {
    const scope = this.#options.settings.watchNamespaces.length === 0 ? '' : namespace;
    const begun = this.#loads.get(scope);
    if (begun) return begun;
    const load = this.#readAll(scope, signal).catch((error) => {
      this.#loads.delete(scope);
      throw error;
    });
    this.#loads.set(scope, load);
    return load;
  }

  async #readAll(scope: string, signal: AbortSignal): Promise<void> {
    const { client, view } = this.#options;
    const { objects } = await listInPages(client, {
      resource: ControllerRevision,
      selection: {
        ...(scope !== '' && { namespace: scope }),
        labelSelector: `${LABELS.managedBy}=${MANAGED_BY},${LABELS.deployment}`,
      },
      pageSize: PAGE_SIZE,
      signal,
      keep: (object) => {
        const key = `${object.metadata.namespace}/${controllerOf(object)?.name}`;
        const uid = view.models.get(key)?.metadata.uid;
        const revision = uid === undefined ? undefined : readRevision(object, uid);
        return revision && { key, uid: uid!, known: knowRevision(revision) };
      },
      onPage: () => {},
    });
    for (const { key, uid, known } of objects.values()) this.#find(key, uid).revisions.push(known);
    for (const recorded of this.#recorded.values())
      recorded.revisions.sort((one, other) => other.number - one.number);
  }
}

type WrittenRevision = Omit<KnownRevision, 'version'>;

function buildRevision(live: KubeObject, { name, number, manager, at }: WrittenRevision): KubeObject {
  const { apiVersion, kind } = ControllerRevision;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace: live.metadata.namespace!,
      labels: revisionLabels(live.metadata.name),
      // An empty name: unknown.
      annotations: { [ANNOTATIONS.changedBy]: manager ?? '', [ANNOTATIONS.changedAt]: at },
      ownerReferences: [controllerReference(live)],
    },
    data: { spec: writtenSpec(live.spec as Spec) },
    revision: number,
  };
}
