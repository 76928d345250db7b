/** What is wrong in a namespace, in words, from what its pages show. Pure. */
import { formatAmount } from '../../../api/amount.ts';
import {
  type DeploymentView,
  findReachedLimit,
  type KeyView,
  type ProblemView,
  type StorageCredentialView,
  type WebhookView,
} from '../../api.ts';

/** As the alert on queues has it. */
export const OLD_QUEUE_MS = 30 * 60_000;
const MINUTE_MS = 60_000;
/** What is nearly gone. */
const LOW_CREDIT = 0.1;

/** Such as that it fails, or has too few GPUs. */
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

/** `oldestAt`: when the oldest request that waits was queued, Unix milliseconds; null where none does. */
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

/** Errors first, then by what they are about. */
export const sortProblems = (problems: readonly ProblemView[]): ProblemView[] =>
  [...problems].sort(
    (one, other) =>
      one.severity.localeCompare(other.severity) ||
      one.kind.localeCompare(other.kind) ||
      one.name.localeCompare(other.name),
  );
