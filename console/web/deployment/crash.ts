/** Which container a condition's message says has crashed, and where its log is. Pure. */
import type { ReplicaView } from '../../api.ts';

/** undefined if it reports no crash. */
export const findCrashedContainer = (message: string): string | undefined =>
  /^(?:init container )?(\S+) exited with code \d/.exec(message)?.[1];

/** On the page of the deployment. */
export const findLogSearch = (container: string): string =>
  `?tab=logs&container=${encodeURIComponent(container)}&run=crashed`;

type Run = Pick<ReplicaView, 'name' | 'state' | 'restarts' | 'lastExit'>;

/** Whose log tells of the crash, and whether that is the log of its previous run: it may run again. undefined if none has crashed. */
export function findCrashedRun<R extends Run>(
  replicas: readonly R[],
): { replica: R; isPrevious: boolean } | undefined {
  const failing = replicas.find(({ state }) => state === 'failing');
  if (failing) return { replica: failing, isPrevious: false };
  const restarted = replicas.filter(({ restarts }) => restarts > 0);
  const replica =
    restarted.find(({ state }) => state === 'starting') ?? restarted.find(({ lastExit }) => lastExit);
  return replica && { replica, isPrevious: true };
}
