/** Kubernetes' own controllers and scheduler next to an API server. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';

const CONTROLLERS = [
  'deployment-controller',
  'replicaset-controller',
  'endpointslice-controller',
  'disruption-controller',
  'garbage-collector-controller',
  'namespace-controller',
];
/** Calls per second: the default of 20 would delay 5,000 deployments. */
const QPS = 1_000;

/** Arguments by program. `controllers`: further ones. `folder` is where the scheduler's settings are written. */
export function listControllers({
  kubeconfig,
  folder,
  controllers = [],
}: {
  kubeconfig: string;
  folder: string;
  controllers?: string[];
}): Record<'kube-controller-manager' | 'kube-scheduler', string[]> {
  const settings = join(folder, 'scheduler.yaml');
  writeFileSync(
    settings,
    stringify({
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      leaderElection: { leaderElect: false },
      clientConnection: { kubeconfig, qps: QPS, burst: QPS },
    }),
  );
  return {
    'kube-controller-manager': [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${[...CONTROLLERS, ...controllers].join(',')}`,
      '--leader-elect=false',
      '--secure-port=0',
      `--kube-api-qps=${QPS}`,
      `--kube-api-burst=${QPS}`,
    ],
    'kube-scheduler': [`--config=${settings}`, '--secure-port=0'],
  };
}
