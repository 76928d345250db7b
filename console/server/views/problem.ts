/** Describes a namespace's problems, from what its pages show. Pure. */
import { formatAmount } from '../../../api/amount.ts';
import type { Condition } from '../../../api/kubernetes-types.ts';
import {
  type DeploymentView,
  findReachedLimit,
  type KeyView,
  type ProblemView,
  type StorageCredentialView,
  type WebhookView,
} from '../../api.ts';

/** The same as in the alert on queues. */
export const OLD_QUEUE_MS = 30 * 60_000;
const MINUTE_MS = 60_000;
/** Share of credit that counts as nearly used up. */
const LOW_CREDIT = 0.1;

/** Such as failing, or too few GPUs. */
export function findDeploymentProblems(view: DeploymentView): ProblemView[] {
  const { name, state, message, conditions, scaling } = view;
  const about = { kind: 'deployment', name, message } as const;
  const serves = state === 'ready' || state === 'degraded';
  const gpus = findFault(conditions, ({ type }) => type === 'GPUsAvailable');
  if (gpus && state !== 'paused' && state !== 'deleting')
    return [
      {
        ...about,
        severity: serves ? 'warning' : 'error',
        title: 'Not enough GPUs',
        message: gpus.message,
        since: sinceOf(gpus),
        runbook: 'gpus-short',
      },
    ];
  const since = sinceOf(findFault(conditions, (condition) => condition.message === message));
  if (state === 'failing')
    return [{ ...about, severity: 'error', title: 'Failing', since, runbook: 'not-ready' }];
  if (state === 'unhealthy')
    return [{ ...about, severity: 'error', title: 'Unhealthy', since, runbook: 'engine-down' }];
  if (state === 'degraded')
    return [{ ...about, severity: 'warning', title: 'Degraded', since, runbook: 'not-ready' }];
  if (scaling?.isShort)
    return [
      {
        ...about,
        severity: 'warning',
        title: 'Not enough capacity to scale',
        message: `The cluster has no capacity for all ${scaling.needed} replicas that the demand requires.`,
        since: null,
        runbook: 'gpus-short',
      },
    ];
  return [];
}

const findFault = (
  conditions: readonly Condition[],
  matches: (condition: Condition) => boolean,
): Condition | undefined => conditions.find((each) => each.status === 'False' && matches(each));

const sinceOf = (condition: Condition | undefined): string | null => condition?.lastTransitionTime ?? null;

/** `oldestAt`: when the oldest waiting request was queued, Unix milliseconds; null if none waits. */
export function findQueueProblem(name: string, oldestAt: number | null, now: number): ProblemView[] {
  if (oldestAt === null || now - oldestAt < OLD_QUEUE_MS) return [];
  const minutes = Math.floor((now - oldestAt) / MINUTE_MS);
  return [
    {
      kind: 'queue',
      name,
      severity: 'warning',
      title: 'Old queue',
      message: `The oldest request has waited for ${minutes} minutes.`,
      since: new Date(oldestAt).toISOString(),
      runbook: 'queue-old',
    },
  ];
}

export function findWebhookProblems(
  { name, state, message }: WebhookView,
  conditions: readonly Condition[],
): ProblemView[] {
  if (state !== 'auto-disabled' && state !== 'refused') return [];
  const [title, type] =
    state === 'refused' ? ['Endpoint refused', 'Accepted'] : ['Endpoint disabled', 'Active'];
  const since = sinceOf(findFault(conditions, (each) => each.type === type));
  return [{ kind: 'webhook', name, severity: 'error', title, message, since, runbook: 'webhooks-failing' }];
}

export function findStorageProblems(
  { name, state, message }: StorageCredentialView,
  conditions: readonly Condition[],
): ProblemView[] {
  if (state !== 'failed') return [];
  const since = sinceOf(findFault(conditions, ({ type }) => type === 'Verified'));
  const title = 'Bucket verification failed';
  return [{ kind: 'storage', name, severity: 'error', title, message, since, runbook: 'storage-failing' }];
}

export function findKeyProblems(key: KeyView): ProblemView[] {
  const limit = key.disabled ? null : findReachedLimit(key);
  return limit === null
    ? []
    : [
        {
          kind: 'key',
          name: key.name,
          severity: 'warning',
          title: 'Limit reached',
          message: `${limit}. Requests are rejected with HTTP 429.`,
          since: null,
          runbook: null,
        },
      ];
}

/** In millionths; `granted` null: unlimited. */
export function findCreditProblems(granted: number | null, spent: number): ProblemView[] {
  if (granted === null) return [];
  const left = granted - spent;
  const about = { kind: 'credit', name: '', since: null, runbook: 'credit-gone' } as const;
  if (left <= 0)
    return [
      {
        ...about,
        severity: 'error',
        title: 'Credit used up',
        message: 'Requests that cost something are rejected until more credit is granted.',
      },
    ];
  if (left > granted * LOW_CREDIT) return [];
  const message = `${formatAmount(left)} of ${formatAmount(granted)} remaining.`;
  return [{ ...about, severity: 'warning', title: 'Credit nearly used up', message }];
}

/** By how many requests they concern. */
const KINDS: ProblemView['kind'][] = ['credit', 'deployment', 'storage', 'queue', 'webhook', 'key'];

/** Worst first: errors, then what concerns most, then the oldest. */
export const sortProblems = (problems: readonly ProblemView[]): ProblemView[] =>
  [...problems].sort(
    (one, other) =>
      one.severity.localeCompare(other.severity) ||
      KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind) ||
      (one.since ?? '~').localeCompare(other.since ?? '~') ||
      one.name.localeCompare(other.name),
  );
