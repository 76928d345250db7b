/** The state of a deployment's pods: whose log says why it does not serve. Pure. */
import type { V1ContainerStatus, V1PodStatus } from '@kubernetes/client-node';
import { CONTAINERS } from '../../api/names.ts';
import type { KubeObject } from '../../kube/object.ts';

export type Pod = KubeObject & { status?: V1PodStatus };

export interface LogPlace {
  pod: string;
  container: string;
  /** Whether the log is that of the container before its last restart. */
  previous: boolean;
  /** End of the log that the kubelet kept; empty if there is none. */
  kept: string;
}

/** The container that failed last, else the engine that is still starting. */
export function findTellingLog(pods: readonly Pod[]): LogPlace | undefined {
  const containers = pods.flatMap((pod) => {
    const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
    return [...initContainerStatuses, ...containerStatuses].map((status) => ({
      pod: pod.metadata.name,
      status,
    }));
  });
  const failed = containers.flatMap(({ pod, status }) => {
    const ended = findBadEnd(status);
    return ended ? [{ pod, container: status.name, ...ended }] : [];
  });
  const last = failed.sort((one, other) => one.at - other.at).at(-1);
  if (last) {
    const { at: _, ...place } = last;
    return place;
  }
  const running = containers.find(
    ({ status }) => status.name === CONTAINERS.engine && status.state?.running && !status.ready,
  );
  return running && { pod: running.pod, container: CONTAINERS.engine, previous: false, kept: '' };
}

function findBadEnd({ name, ready, state, lastState, restartCount }: V1ContainerStatus) {
  if (ready) return undefined;
  const now = state?.terminated;
  const ended = now ?? ((restartCount ?? 0) > 0 ? lastState?.terminated : undefined);
  if (!ended || (ended.exitCode === 0 && name !== CONTAINERS.engine)) return undefined;
  const at = ended.finishedAt ? new Date(ended.finishedAt).getTime() : 0;
  return { previous: now === undefined, kept: ended.message ?? '', at };
}
