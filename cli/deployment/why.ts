/** `berth why`: the condition of a deployment in one sentence, with the log line that matters. */
import type { Condition } from '../../api/kubernetes-types.ts';
import { isForbidden, isNotFound, KubeApiError } from '../../kube/api-error.ts';
import { findCause as findCrashCause, findLastLine } from '../../operator/status/crash-cause.ts';
import { type Output, printable } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import { type Deployment, findDeployment, isSeen, listPods } from './deployment.ts';
import { findTellingLog, type LogPlace } from './pod.ts';

export interface Cause {
  name: string;
  namespace: string;
  ready: boolean;
  phase: string;
  reason: string;
  sentence: string;
  since: string | null;
  log: { pod: string; container: string; line: string } | null;
  /** Why there is no line, if it could not be read. */
  log_problem: string | null;
}

const TAIL_LINES = 200;
const MAX_LINE = 4_096;
/** The condition is known already: its log is worth no long wait. */
const LOG_TIMEOUT_MS = 5_000;

/** Its exit code says whether the deployment is ready. */
export async function explainDeployment(target: Target, name: string, output: Output): Promise<void> {
  const cause = await findCause(target, await findDeployment(target, name));
  output.show(cause, () => formatCause(cause));
  if (!cause.ready) output.endWith('not_ready');
}

export async function findCause(
  target: Target,
  deployment: Deployment,
  timeoutMs = LOG_TIMEOUT_MS,
): Promise<Cause> {
  const cause = describeCondition(deployment);
  if (cause.ready) return cause;
  try {
    return { ...cause, log: await findLine(target, deployment, AbortSignal.timeout(timeoutMs)) };
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    return { ...cause, log_problem: error.message };
  }
}

async function findLine(target: Target, deployment: Deployment, signal: AbortSignal): Promise<Cause['log']> {
  const place = findTellingLog(await listPods(target, deployment, signal));
  if (!place) return null;
  const { pod, container, hasFailed } = place;
  const text = (await readTail(target, place, signal)).join('\n');
  const line = (hasFailed ? findCrashCause(text)?.split('\n', 1)[0] : undefined) ?? findLastLine(text);
  return line ? { pod, container, line } : null;
}

/** Without the log lines that the operator appends. */
function describeCondition(deployment: Deployment): Cause {
  const { metadata, status } = deployment;
  const condition: Condition | undefined = isSeen(deployment)
    ? status?.conditions?.find(({ type }) => type === 'Ready')
    : undefined;
  const [sentence = ''] = (condition?.message ?? '').split(/; last log:|\n/);
  return {
    name: metadata.name,
    namespace: metadata.namespace!,
    ready: condition?.status === 'True',
    phase: status?.phase ?? 'Unknown',
    reason: condition?.reason ?? 'NotReconciled',
    sentence: condition ? sentence : 'the operator has not seen its spec yet: check that it runs',
    since: condition?.lastTransitionTime ?? null,
    log: null,
    log_problem: null,
  };
}

/** The kubelet may not have the log anymore, and reading it may be forbidden: of a failed container, the pod's status has its end. */
async function readTail(
  { client, namespace }: Target,
  { pod, container, previous, kept }: LogPlace,
  signal: AbortSignal,
): Promise<string[]> {
  const lines: string[] = [];
  try {
    const options = { container, previous, tailLines: TAIL_LINES, signal };
    for await (const line of client.readLog({ namespace, name: pod }, options))
      lines.push(line.slice(0, MAX_LINE));
    return lines;
  } catch (error) {
    const isMissing = isForbidden(error) || isNotFound(error) || isGoneContainer(error);
    if (lines.length > 0) return lines;
    if (kept !== '' || isMissing) return kept.split('\n');
    throw error;
  }
}

/** Kubernetes' answer where a container has not run, or has no earlier run. */
const isGoneContainer = (error: unknown): boolean => error instanceof KubeApiError && error.code === 400;

export function formatCause({
  name,
  namespace,
  ready,
  phase,
  reason,
  sentence,
  since,
  log,
  log_problem: problem,
}: Cause): string {
  const state = ready ? describeReady(phase) : 'is not ready';
  const note = ready || reason === '' ? '' : ` (${reason}${since ? `, since ${since}` : ''})`;
  const lines = [`${name} ${state}: ${printable(sentence)}${note}`];
  if (log && !sentence.includes(log.line))
    lines.push(`  ${log.container} of ${log.pod}: ${printable(log.line)}`);
  if (problem) lines.push(`  its log could not be read: ${printable(problem)}`);
  if (!ready) lines.push(`Its log: berth logs ${name} -n ${namespace}`);
  return lines.join('\n');
}

/** A deployment is as its spec asks also where nothing serves. */
export const describeReady = (phase: string): string =>
  phase === 'Paused' ? 'is paused' : phase === 'ScaledToZero' ? 'is scaled to zero' : 'is ready';
