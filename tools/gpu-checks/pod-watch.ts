/** Whether pods stay ready while their engine is kept busy, with kubectl. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ENGINE_METRICS_PATH } from '../../api/gateway-environment.ts';
import { PORTS } from '../../api/names.ts';
import { selectPods } from './deployment.ts';
import { kubectl } from './endpoint.ts';

const POLL_MS = 1_000;

interface Pod {
  metadata: { name: string; namespace: string; deletionTimestamp?: string };
  status: {
    conditions?: { type: string; status: string }[];
    containerStatuses?: { restartCount: number }[];
  };
}

export interface PodReport {
  isCalm: boolean;
  /** To follow another detail. */
  detail: string;
}

const NO_REPORT: PodReport = { isCalm: true, detail: '; set DEPLOYMENT to have the pods watched, too' };

/** Undefined without a DEPLOYMENT. */
async function readPods(): Promise<Pod[] | undefined> {
  const text = await kubectl('get', 'pods', ...selectPods(), '-o', 'json');
  if (text === undefined) return undefined;
  return (JSON.parse(text) as { items: Pod[] }).items.filter(({ metadata }) => !metadata.deletionTimestamp);
}

const isReady = (pod: Pod | undefined): boolean =>
  pod?.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

const countRestarts = (pod: Pod | undefined): number =>
  (pod?.status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);

/** Watches the pods that were ready before `work`: they must stay ready, and none of their containers may restart. */
export async function watchPods<T>(work: () => Promise<T>): Promise<[T, PodReport]> {
  const before = await readPods();
  if (!before) return [await work(), NO_REPORT];
  const watched = before.filter(isReady);
  const unready = new Set<string>();
  let latest = before;
  const look = async () => {
    // A question that failed says nothing about a pod.
    latest = (await readPods().catch(() => undefined)) ?? latest;
    for (const { metadata } of watched)
      if (!isReady(latest.find((pod) => pod.metadata.name === metadata.name))) unready.add(metadata.name);
  };
  let isOver = false;
  const watch = async () => {
    for (; !isOver; await sleep(POLL_MS)) await look();
  };
  const watching = watch();
  try {
    const result = await work();
    isOver = true;
    await watching;
    await look();
    const restarts = watched.reduce((sum, pod) => {
      const now = latest.find(({ metadata }) => metadata.name === pod.metadata.name);
      return sum + Math.max(0, countRestarts(now) - countRestarts(pod));
    }, 0);
    return [
      result,
      {
        isCalm: watched.length > 0 && unready.size === 0 && restarts === 0,
        detail: `; ${watched.length - unready.size} of ${watched.length} pods ready all the time, ${restarts} restarts`,
      },
    ];
  } finally {
    isOver = true;
  }
}

/** vLLM's preemptions; undefined if not reported. */
export async function countPreemptions(): Promise<number | undefined> {
  const read = async ({ metadata: { namespace, name } }: Pod): Promise<number> => {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}:${PORTS.metrics}/proxy${ENGINE_METRICS_PATH}`;
    const counts = [
      ...(await kubectl('get', '--raw', path))!.matchAll(/^vllm:num_preemptions(?:_total)?\{.*\} (\S+)$/gm),
    ];
    if (counts.length === 0) throw new Error('it counts none');
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const pods = await readPods();
  return (
    pods &&
    Promise.all(pods.map(read)).then(
      (counts) => counts.reduce((sum, count) => sum + count, 0),
      () => undefined,
    )
  );
}
