/** When each pod of a model was created, scheduled, ready and deleted, from a watch. */
import type { V1Pod } from '@kubernetes/client-node';
import { LABELS } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Wire } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';

const RETRY_MS = 1_000;

export const keyOf = ({ namespace, name }: { namespace: string; name: string }): string =>
  `${namespace}/${name}`;

export interface PodRecord {
  /** `namespace/deployment`. */
  model: string;
  namespace: string;
  pod: string;
  /** By performance.now(); so all below. */
  createdAt: number;
  placedAt?: number;
  readyAt?: number;
  /** Its deletion was requested. */
  leavingAt?: number;
  goneAt?: number;
}

export interface PodWatch {
  /** By uid, in the order of their arrival. */
  readonly records: ReadonlyMap<string, PodRecord>;
  /** Existing pods of a model. */
  present(model: string): PodRecord[];
  close(): void;
}

export function watchPods(client: KubeClient): PodWatch {
  const records = new Map<string, PodRecord>();
  const stopping = new AbortController();
  const run = async () => {
    const { signal } = stopping;
    while (!signal.aborted)
      try {
        const selection = { labelSelector: LABELS.deployment };
        const { items, metadata } = await client.list<Wire<V1Pod>>(RESOURCES.Pod, selection);
        for (const pod of items) record(records, pod, false);
        const options = {
          ...selection,
          resourceVersion: metadata.resourceVersion!,
          timeoutSeconds: 3_600,
          signal,
        };
        for await (const { type, object } of client.watch<Wire<V1Pod>>(RESOURCES.Pod, options))
          if (type !== 'BOOKMARK' && object.metadata.uid) record(records, object, type === 'DELETED');
      } catch (error) {
        if (signal.aborted) return;
        console.error('the watch of pods broke off:', (error as Error).message);
        // The API server may be unavailable.
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
  };
  void run();
  return {
    records,
    present: (model) =>
      [...records.values()].filter((each) => each.model === model && each.goneAt === undefined),
    close: () => stopping.abort(),
  };
}

function record(
  records: Map<string, PodRecord>,
  { metadata, spec, status }: Wire<V1Pod>,
  isGone: boolean,
): void {
  const now = performance.now();
  const namespace = metadata.namespace!;
  const known = records.get(metadata.uid!);
  const entry: PodRecord = known ?? {
    model: `${namespace}/${metadata.labels![LABELS.deployment]}`,
    namespace,
    pod: metadata.name!,
    createdAt: now,
  };
  records.set(metadata.uid!, entry);
  if (spec?.nodeName) entry.placedAt ??= now;
  if (status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'))
    entry.readyAt ??= now;
  if (metadata.deletionTimestamp) entry.leavingAt ??= now;
  if (isGone) entry.goneAt ??= now;
}
