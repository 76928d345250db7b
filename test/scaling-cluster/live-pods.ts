/** Pods of the cluster's deployments, to the millisecond: their conditions have whole seconds. */
import { createKubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/connection.ts';
import { cluster, waitUntil } from '../e2e/installation.ts';
import { type PodRecord, watchPods } from '../support/pod-watch.ts';

export interface LivePods {
  /** Those of a deployment of the default workspace that are not gone. */
  present(name: string): PodRecord[];
  countReady(name: string): number;
  untilGone(name: string): Promise<void>;
  close(): Promise<void>;
}

const GONE_SECONDS = 300;

export function watchLivePods(): LivePods {
  const config = loadKubeConfig({ file: cluster.kubeconfig });
  const client = createKubeClient({ config, maxConnections: 2, userAgent: 'berth-e2e-watch' });
  const pods = watchPods(client);
  const present = (name: string) => pods.present(`default/${name}`);
  return {
    present,
    countReady: (name) =>
      present(name).filter(({ readyAt, leavingAt }) => readyAt !== undefined && leavingAt === undefined)
        .length,
    untilGone: (name) =>
      waitUntil(`${name} to have no pod`, GONE_SECONDS, async () => present(name).length === 0),
    close: async () => {
      pods.close();
      await client.close();
    },
  };
}

/** Unix milliseconds of a time of performance.now(). */
export const toUnixMs = (at: number): number => at + Date.now() - performance.now();
