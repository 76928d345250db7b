/** Sums up all pods of a deployment: a condition for each stage, and the first obstacle. */
import type { ModelDeploymentStatus } from '../../api/model-deployment.ts';
import { type Verdict, verdict } from './condition-list.ts';
import { isLate } from './eviction.ts';
import { type Finding, INSUFFICIENT_GPUS, WAITING_FOR_QUOTA } from './placement.ts';
import type { PodFindings } from './pod-findings.ts';
import type { Problem } from './problem.ts';
import type { WantedGPUs } from './scheduling.ts';

export interface PodVerdicts {
  gpus: Verdict;
  images: Verdict;
  weights: Verdict;
  engine: Verdict;
  /** The stage that holds the pods up, earliest first; undefined when there is no pod. */
  obstacle: (Problem & { phase: string }) | undefined;
  /** What only an edit of the spec ends, of a pod of the newest template that is not ready. */
  stall: Finding | undefined;
}

interface Circumstances extends WantedGPUs {
  /** The engine fetches the weights itself, once it runs. */
  engineDownloads: boolean;
  startupTimeoutMs: number;
  /** Unix milliseconds. */
  now: number;
}

/** Other reasons are failures. */
const ENGINE_PHASES: Record<string, string> = { Starting: 'Starting', EngineUnhealthy: 'Unhealthy' };

const NOT_SCHEDULED = verdict('Unknown', 'NotStarted', 'the pod is not scheduled yet');
const NO_PODS = verdict('Unknown', 'NoPods', 'there are no pods');

export function evaluatePods(findings: readonly PodFindings[], circumstances: Circumstances): PodVerdicts {
  const live = findings.filter(({ terminating }) => !terminating);
  if (live.length === 0)
    return {
      gpus: NO_PODS,
      images: NO_PODS,
      weights: NO_PODS,
      engine: NO_PODS,
      obstacle: undefined,
      stall: undefined,
    };
  // A pod that is stuck frees nothing.
  const leaving = findings.filter(
    ({ terminating, goneBy }) => terminating && !isLate(goneBy, circumstances.now),
  );
  const gpus = evaluateGPUs(live, leaving, circumstances);
  const images = evaluateImages(live);
  const weights = evaluateWeights(live, circumstances);
  const engine = evaluateEngine(live, circumstances);
  const stages: [string, Verdict][] = [
    [isHeldBackInPart(gpus, live) ? 'Starting' : 'Pending', gpus],
    ['Failed', images],
    [weights.reason === 'Loading' ? 'Starting' : 'Failed', weights],
    [ENGINE_PHASES[engine.reason] ?? 'Failed', engine],
  ];
  // A known problem is more useful than an unknown state.
  const first =
    stages.find(([, { status }]) => status === 'False') ?? stages.find(([, { status }]) => status !== 'True');
  return {
    gpus,
    images,
    weights,
    engine,
    obstacle: first && {
      phase: first[1].status === 'Unknown' && first[0] === 'Failed' ? 'Starting' : first[0],
      reason: first[1].reason,
      message: first[1].message,
    },
    stall: firstFinding(listNewest(live), ({ stall, ready }) => (ready ? undefined : stall)),
  };
}

/** Other pods have quota, so a replica may be ready soon. */
const isHeldBackInPart = ({ reason }: Verdict, live: PodFindings[]): boolean =>
  reason === WAITING_FOR_QUOTA && live.some(({ unschedulable }) => unschedulable?.reason !== reason);

/** Those of a former template stay until these are ready, whatever is wrong with them. */
function listNewest(live: PodFindings[]): PodFindings[] {
  const { template } = live.reduce((newest, pod) => (pod.createdAt > newest.createdAt ? pod : newest));
  return live.filter((pod) => pod.template === template);
}

function evaluateGPUs(live: PodFindings[], leaving: PodFindings[], wanted: WantedGPUs): Verdict {
  const refused = live
    .filter(({ unschedulable }) => unschedulable !== undefined)
    .map((pod) => pod.unschedulable!);
  const worst = refused.find(({ gpus }) => gpus) ?? refused[0];
  const ends = [...leaving.map(({ goneBy }) => goneBy), ...(worst?.awaited ?? [])];
  if (worst?.reason === INSUFFICIENT_GPUS && ends.length > 0) {
    const goneBy = describeTime(Math.max(...ends));
    const pods = `${ends.length} ${ends.length === 1 ? 'pod' : 'pods'}`;
    return verdict('False', 'WaitingForDrain', `waiting for ${pods} to drain and free GPUs (by ${goneBy})`);
  }
  if (worst) return verdict(worst.gpus ? 'False' : 'Unknown', worst.reason, worst.message);
  if (live.some(({ scheduled }) => !scheduled))
    return verdict('Unknown', 'Scheduling', 'waiting for the scheduler');
  return wanted.gpuResource === '' && !wanted.hasClaims
    ? verdict('True', 'NotNeeded', 'the deployment requests no GPUs')
    : verdict('True', 'Scheduled', 'every pod has its GPUs');
}

function evaluateImages(live: PodFindings[]): Verdict {
  const problem = firstFinding(live, ({ image }) => image);
  if (problem) return verdict('False', problem.reason, problem.message);
  if (live.some(({ scheduled }) => !scheduled)) return NOT_SCHEDULED;
  if (live.every(({ imagesPulled, ready }) => imagesPulled || ready))
    return verdict('True', 'Pulled', 'all images are present');
  const since = Math.min(
    ...live.filter(({ imagesPulled }) => !imagesPulled).map(({ createdAt }) => createdAt),
  );
  const message = `pulling images and mounting volumes since ${describeTime(since)}`;
  return verdict('Unknown', 'Pulling', message);
}

function evaluateWeights(live: PodFindings[], { engineDownloads }: Circumstances): Verdict {
  const problem = firstFinding(live, ({ init }) => init);
  if (problem) return verdict('False', problem.reason, problem.message);
  if (live.some(({ scheduled }) => !scheduled)) return NOT_SCHEDULED;
  const loading = live.filter((pod) => pod.loading.length > 0);
  if (loading.length > 0) {
    const since = Math.min(...loading.map(({ createdAt }) => createdAt));
    const message = `init container ${loading[0]!.loading[0]} has not completed since ${describeTime(since)}`;
    return verdict('False', 'Loading', message);
  }
  if (engineDownloads && !live.every(({ ready, engineStarted }) => ready || engineStarted))
    return verdict(
      'Unknown',
      'EngineLoads',
      'the engine downloads and loads the weights itself while it starts',
    );
  return verdict('True', 'Loaded', 'the weights are present');
}

function evaluateEngine(live: PodFindings[], { startupTimeoutMs }: Circumstances): Verdict {
  const problem = firstFinding(live, ({ engine, ready }) => (ready ? undefined : engine));
  if (problem) return verdict('False', problem.reason, problem.message);
  const unhealthy = live.flatMap(({ engineUnhealthySince: since }) => (since === undefined ? [] : [since]));
  if (unhealthy.length > 0) {
    const since = describeTime(Math.min(...unhealthy));
    return verdict(
      'False',
      'EngineUnhealthy',
      `the engine was healthy before and has been unhealthy since ${since}`,
    );
  }
  const running = live.filter((pod) => !pod.ready && pod.engineRunningSince !== undefined);
  if (running.length > 0) {
    const since = Math.min(...running.map((pod) => pod.engineRunningSince!));
    const limit = describeSpan(startupTimeoutMs);
    return verdict(
      'False',
      'Starting',
      `the engine has been starting since ${describeTime(since)} (limit ${limit})`,
    );
  }
  if (live.some(({ ready }) => !ready))
    return verdict('Unknown', 'NotStarted', 'the engine is not running yet');
  return verdict('True', 'Healthy', 'the engine passes its health check');
}

function firstFinding(
  pods: PodFindings[],
  pick: (pod: PodFindings) => Finding | undefined,
): Finding | undefined {
  for (const pod of pods) {
    const finding = pick(pod);
    if (finding) return finding;
  }
  return undefined;
}

/** A time rather than its age, which would change the status of each such deployment every minute. */
const describeTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** `4 min`, `2 h 5 min`. */
function describeSpan(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return 'less than a minute';
  if (minutes < 60) return `${minutes} min`;
  const rest = minutes % 60;
  return rest === 0 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 60)} h ${rest} min`;
}

/** With a time limit that is shorter than a start, Kueue evicts each pod anew. */
const MIN_VAIN_EVICTIONS = 2;

/** Pods get their GPUs, and lose them again before they are ready. */
export function evaluateEvictions(
  evictions: { count: number; message: string } | undefined,
  live: readonly PodFindings[],
): Verdict | undefined {
  const { count, message } = evictions ?? { count: 0, message: '' };
  if (count < MIN_VAIN_EVICTIONS || live.some(({ ready }) => ready)) return undefined;
  // Without pods, or quota for one, nothing is taken from them.
  if (live.every(({ unschedulable }) => unschedulable?.reason === WAITING_FOR_QUOTA)) return undefined;
  return verdict('False', 'EvictedBeforeReady', `evicted ${count} times before a pod was ready: ${message}`);
}

/** The autoscaler holds pods back: existing ones do not show everything. */
export function evaluateShortage(
  { scaling, gpuResource, hasClaims }: WantedGPUs & { scaling?: ModelDeploymentStatus['scaling'] },
  live: readonly PodFindings[],
): Verdict | undefined {
  if (!scaling?.short || (gpuResource === '' && !hasClaims)) return undefined;
  const placed = live.filter(({ scheduled }) => scheduled).length;
  return verdict('False', 'GPUsShort', `needs ${scaling.needed}, has ${placed}`);
}
