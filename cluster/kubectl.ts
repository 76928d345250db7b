/** kubectl, run in the cluster's network. */
import { ensureBinary } from './binaries.ts';
import { runCommand, tryCommand } from './commands.ts';
import type { Cluster } from './layout.ts';

/** Runs kubectl as the cluster's admin; resolves with its output. Throws with its errors if it fails. */
export async function runKubectl(cluster: Cluster, args: string[], input?: string): Promise<string> {
  return runCommand(await kubectlCommand(cluster, args), input === undefined ? {} : { input });
}

/** Whether kubectl succeeds. */
export async function tryKubectl(cluster: Cluster, args: string[]): Promise<boolean> {
  const { code } = await tryCommand(await kubectlCommand(cluster, args));
  return code === 0;
}

const kubectlCommand = async (cluster: Cluster, args: string[]): Promise<string[]> => [
  ...cluster.exec,
  await ensureBinary('kubectl'),
  `--kubeconfig=${cluster.kubeconfig}`,
  ...args,
];
