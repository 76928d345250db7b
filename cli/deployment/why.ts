/** `berth why`: the condition of a deployment in one sentence, with the log line that matters. */
import type { Condition } from '../../api/kubernetes-types.ts';
import { isForbidden, isNotFound, KubeApiError } from '../../kube/api-error.ts';
import { type Output, printable } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import { findDecisiveLine } from './decisive-line.ts';
import { type Deployment, findDeployment, listPods } from './deployment.ts';
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
}

const TAIL_LINES = 200;

/** Its exit code says whether the deployment is ready. */
export async function explainDeployment(target: Target, name: string, output: Output): Promise<void> {
  const cause = await findCause(target, await findDeployment(target, name));
  output.show(cause, () => formatCause(cause));
  if (!cause.ready) output.endWith('not_ready');
}

export async function findCause(target: Target, deployment: Deployment): Promise<Cause> {
  const condition = deployment.status?.conditions?.find(({ type }) => type === 'Ready');
  const cause = describeCondition(deployment, condition);
  if (cause.ready) return cause;
  const place = findTellingLog(await listPods(target, cause.name));
  const line = place && findDecisiveLine(await readTail(target, place));
  return { ...cause, log: place && line ? { pod: place.pod, container: place.container, line } : null };
}

/** Without the log lines that the operator appends. */
export function describeCondition(
  { metadata, status }: Pick<Deployment, 'metadata' | 'status'>,
  condition: Condition | undefined,
): Cause {
  const [sentence = ''] = (condition?.message ?? '').split(/; last log:|\n/);
  return {
    name: metadata.name,
    namespace: metadata.namespace!,
    ready: condition?.status === 'True',
    phase: status?.phase ?? 'Unknown',
    reason: condition?.reason ?? 'NotReconciled',
    sentence: condition ? sentence : 'the operator has not seen it yet: check that it runs',
    since: condition?.lastTransitionTime ?? null,
    log: null,
  };
}

/** Reading logs may be forbidden, and the kubelet may have removed them: it keeps the end of a failed container's. */
async function readTail({ client, namespace }: Target, place: LogPlace): Promise<string[]> {
  const { pod, container, previous, kept } = place;
  const options = { container, previous, tailLines: TAIL_LINES };
  try {
    const lines: string[] = [];
    for await (const line of client.readLog({ namespace, name: pod }, options)) lines.push(line);
    return lines;
  } catch (error) {
    const isMissing = isForbidden(error) || isNotFound(error) || isGoneContainer(error);
    if (!isMissing) throw error;
    return kept.split('\n');
  }
}

/** Kubernetes' answer where a container has not run, or has no earlier run. */
const isGoneContainer = (error: unknown): boolean => error instanceof KubeApiError && error.code === 400;

export function formatCause({ name, ready, reason, sentence, since, log }: Cause): string {
  const state = ready ? 'is ready' : 'is not ready';
  const note = ready || reason === '' ? '' : ` (${reason}${since ? `, since ${since}` : ''})`;
  const lines = [`${name} ${state}: ${printable(sentence)}${note}`];
  if (log && !sentence.includes(log.line))
    lines.push(`  ${log.container} of ${log.pod}: ${printable(log.line)}`);
  if (!ready) lines.push(`Its log: berth logs ${name}`);
  return lines.join('\n');
}
