/** Records the specs of ModelDeployments as ControllerRevisions, which belong to them (decision 0379). */
import { ANNOTATIONS } from '../../api/names.ts';
import {
  MAX_REVISIONS,
  newestFirst,
  readRevision,
  recordedSpec,
  revisionLabels,
  revisionName,
  revisionSelector,
  type Spec,
  type SpecRevision,
} from '../../api/spec-revision.ts';
import { isNamespaceTerminating, isNotFound } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listInPages } from '../../kube/list-pages.ts';
import { controllerReference, isStub, type KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import type { ClusterView } from '../framework/cluster-view.ts';
import { readSpecWriter } from '../framework/spec-writer.ts';
import { type Change, describeChange, planRevisions } from './revision-plan.ts';

const { ControllerRevision } = RESOURCES;

export interface RecorderOptions {
  client: Pick<KubeClient, 'list' | 'create' | 'mergePatch' | 'delete'>;
  view: { models: Pick<ClusterView['models'], 'get'> };
  /** Unix milliseconds. */
  now: () => number;
}

export class SpecRecorder {
  readonly #options: RecorderOptions;
  /** Name of the revision that each deployment was last seen with, by its key: only another spec makes calls. */
  readonly #recorded = new Map<string, string>();

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Level-triggered: of specs that follow each other faster than it is called, it records the last. */
  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const live = this.#options.view.models.get(key);
    if (!live || live.metadata.deletionTimestamp !== undefined) this.#recorded.delete(key);
    else if (!isStub(live)) await this.#record(key, live, signal);
    return {};
  }

  async #record(key: string, live: KubeObject, signal: AbortSignal): Promise<void> {
    const spec = live.spec as Spec;
    const name = revisionName(live.metadata.name, live.metadata.uid!, spec);
    if (this.#recorded.get(key) === name) return;
    try {
      await this.#write(live, { name, spec }, signal);
    } catch (error) {
      // It is about to be deleted itself.
      if (!isNamespaceTerminating(error)) throw error;
    }
    this.#recorded.set(key, name);
  }

  async #write(
    live: KubeObject,
    { name, spec }: { name: string; spec: Spec },
    signal: AbortSignal,
  ): Promise<void> {
    const { client, now } = this.#options;
    const { namespace } = live.metadata;
    const revisions = await this.#list(live, signal);
    const { write, remove } = planRevisions(revisions, spec);
    if (write) {
      const { number, known } = write;
      const change = describeChange(readSpecWriter(live), newestFirst(revisions)[0], now());
      const annotations = describeWriter(change);
      if (known) {
        const at = { namespace: namespace!, name: known.name };
        const patch = { metadata: { annotations }, revision: number };
        await client.mergePatch(ControllerRevision, { at, patch, signal });
      } else {
        const revision = buildRevision(live, { name, spec, number, annotations });
        await client.create(ControllerRevision, revision, { signal });
      }
    }
    for (const revision of remove)
      await client
        .delete(ControllerRevision, { namespace: namespace!, name: revision.name }, { signal })
        .catch((error) => {
          if (!isNotFound(error)) throw error;
        });
  }

  /** By its label: other controllers' revisions are never in memory. */
  async #list({ metadata }: KubeObject, signal: AbortSignal): Promise<SpecRevision[]> {
    const { namespace, name, uid } = metadata;
    const { objects } = await listInPages(this.#options.client, {
      resource: ControllerRevision,
      selection: { namespace: namespace!, labelSelector: revisionSelector(name) },
      pageSize: MAX_REVISIONS,
      signal,
      keep: (object) => readRevision(object, uid!),
      onPage: () => {},
    });
    return [...objects.values()];
  }
}

/** Empty: unknown, also where a revision that gets another number has had one. */
const describeWriter = ({ manager, at }: Change): Record<string, string> => ({
  [ANNOTATIONS.changedBy]: manager ?? '',
  [ANNOTATIONS.changedAt]: at,
});

function buildRevision(
  live: KubeObject,
  revision: { name: string; spec: Spec; number: number; annotations: Record<string, string> },
): KubeObject {
  const { name, spec, number, annotations } = revision;
  const { apiVersion, kind } = ControllerRevision;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace: live.metadata.namespace!,
      labels: revisionLabels(live.metadata.name),
      annotations,
      ownerReferences: [controllerReference(live)],
    },
    data: { spec: recordedSpec(spec) },
    revision: number,
  };
}
