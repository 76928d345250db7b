/** The state of a deployment's pods: whose log says why it does not serve. Pure. */
import type { V1PodStatus } from '@kubernetes/client-node';
import { CONTAINERS } from '../../api/names.ts';
import type { KubeObject } from '../../kube/object.ts';
import { findCrash, withoutRemains } from '../../operator/status/pod-findings.ts';

export type Pod = KubeObject & { status?: V1PodStatus };

export interface LogPlace {
  pod: string;
  container: string;
  hasFailed: boolean;
  /** Whether the log is that of the container before its last restart. */
  previous: boolean;
  /** End of the log that the kubelet kept; empty if there is none. */
  kept: string;
}

/** The container that failed last, else the engine that is still starting; by the operator's rules. */
export function findTellingLog(pods: readonly Pod[]): LogPlace | undefined {
  const containers = withoutLeaving(withoutRemains(pods)).flatMap((pod) => {
    const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
    return [...initContainerStatuses, ...containerStatuses].map((status) => ({
      pod: pod.metadata.name,
      status,
    }));
  });
  const failed = containers.flatMap(({ pod, status }) => {
    const ended = findCrash(status);
    return ended ? [{ pod, status, ended, at: toMillis(ended.finishedAt) }] : [];
  });
  const last = failed.sort((one, other) => one.at - other.at).at(-1);
  if (last) {
    const { pod, status, ended } = last;
    const previous = status.state?.terminated === undefined;
    return { pod, container: status.name, hasFailed: true, previous, kept: ended.message ?? '' };
  }
  const starting = containers.find(
    ({ status }) => status.name === CONTAINERS.engine && status.state?.running && !status.ready,
  );
  return (
    starting && {
      pod: starting.pod,
      container: CONTAINERS.engine,
      hasFailed: false,
      previous: false,
      kept: '',
    }
  );
}

function withoutLeaving(pods: readonly Pod[]): readonly Pod[] {
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return staying.length > 0 ? staying : pods;
}

const toMillis = (time: Date | string | undefined): number => (time ? new Date(time).getTime() : 0);
