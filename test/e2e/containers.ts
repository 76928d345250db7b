/** Kills containers as a crash would: from the node, with no warning. */
import * as node from '../../cluster/node.ts';
import { cluster, isPodReady, listPods, type Pod, waitUntil } from './installation.ts';

const statusesOf = ({ status }: Pod) => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
];

export function readContainer(pod: Pod, name: string) {
  const found = statusesOf(pod).find((container) => container.name === name);
  if (!found) throw new Error(`no container ${name} in ${pod.metadata.name}`);
  return found;
}

/** SIGKILL to the container's first process. */
export async function killContainer(pod: Pod, name: string): Promise<void> {
  const id = readContainer(pod, name).containerID!.replace('containerd://', '');
  await node.killContainer(cluster.name, id);
}

/** Resolves with the pod once the container runs again after so many restarts, and the pod is ready. */
export async function waitForRestart(
  selector: string,
  { container, restarts, seconds }: { container: string; restarts: number; seconds: number },
): Promise<Pod> {
  let pod: Pod | undefined;
  await waitUntil(`restart ${restarts} of ${container}`, seconds, async () => {
    pod = (await listPods(selector))[0];
    if (!pod) return false;
    return readContainer(pod, container).restartCount >= restarts && isPodReady(pod);
  });
  return pod!;
}
