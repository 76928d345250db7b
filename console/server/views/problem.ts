/** Describes a namespace's problems, from what its pages show. Pure. */
import { formatAmount } from '../../../api/amount.ts';
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
  const about = { kind: 'deployment', name } as const;
  const gpus = conditions.find(({ type, status }) => type === 'GPUsAvailable' && status === 'False');
  if (gpus && state !== 'paused' && state !== 'deleting')
    return [
      {
        ...about,
        severity: state === 'ready' || state === 'degraded' ? 'warning' : 'error',
        title: 'Not enough GPUs',
        message: gpus.message,
      },
    ];
  if (state === 'failing' || state === 'unhealthy')
    return [{ ...about, severity: 'error', title: state === 'failing' ? 'Failing' : 'Unhealthy', message }];
  if (state === 'degraded') return [{ ...about, severity: 'warning', title: 'Degraded', message }];
  if (scaling?.isShort)
    return [
      {
        ...about,
        severity: 'warning',
        title: 'Not enough capacity to scale',
        message: `The cluster has no capacity for all ${scaling.needed} replicas that the demand requires.`,
      },
    ];
  return [];
}

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
    },
  ];
}

export function findWebhookProblems({ name, state, message }: WebhookView): ProblemView[] {
  const about = { kind: 'webhook', name, severity: 'error', message } as const;
  if (state === 'auto-disabled') return [{ ...about, title: 'Endpoint disabled' }];
  return state === 'refused' ? [{ ...about, title: 'Endpoint refused' }] : [];
}

export const findStorageProblems = ({ name, state, message }: StorageCredentialView): ProblemView[] =>
  state === 'failed'
    ? [{ kind: 'storage', name, severity: 'error', title: 'Bucket verification failed', message }]
    : [];

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
        },
      ];
}

/** In millionths; `granted` null: unlimited. */
export function findCreditProblems(granted: number | null, spent: number): ProblemView[] {
  if (granted === null) return [];
  const left = granted - spent;
  const about = { kind: 'credit', name: '' } as const;
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

/** Errors first, then by object. */
export const sortProblems = (problems: readonly ProblemView[]): ProblemView[] =>
  [...problems].sort(
    (one, other) =>
      one.severity.localeCompare(other.severity) ||
      one.kind.localeCompare(other.kind) ||
      one.name.localeCompare(other.name),
  );
