/** The Kubernetes versions between which Berth supports all. */
import { KUBERNETES_VERSION, OLDEST_KUBERNETES_VERSION } from '../../cluster/go-modules.ts';

export interface KubernetesVersion {
  age: 'oldest' | 'newest';
  /** Such as v1.37.2. */
  version: string;
  /** Its API server. */
  program: string;
}

export const KUBERNETES_VERSIONS: readonly KubernetesVersion[] = [
  { age: 'oldest', version: OLDEST_KUBERNETES_VERSION, program: 'kube-apiserver-oldest' },
  { age: 'newest', version: KUBERNETES_VERSION, program: 'kube-apiserver' },
];
