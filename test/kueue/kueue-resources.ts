/** Kueue's resources that the tests read and write. */
import type { Resource } from '../../kube/resource.ts';

const kueueResource = (kind: string, plural: string): Resource => ({
  apiVersion: 'kueue.x-k8s.io/v1beta2',
  kind,
  plural,
  namespaced: true,
});
export const KUEUE_RESOURCES = {
  Workload: kueueResource('Workload', 'workloads'),
  LocalQueue: kueueResource('LocalQueue', 'localqueues'),
};
