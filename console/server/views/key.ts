/** API keys as the page shows them. Pure. */
import type { APIKey } from '../../../api/api-key.ts';
import { ANNOTATIONS } from '../../../api/names.ts';
import type { BudgetView, CreatorView, KeyView } from '../../api.ts';
import { readFieldManager } from '../kubernetes/field-manager.ts';

/** Identifies requests and counters in Redis. */
export interface KnownKey {
  name: string;
  hint: string | null;
  owner: string | null;
}

/** undefined until the operator has created the key. */
export const hashOf = ({ spec, status }: APIKey): string | undefined => spec.sha256 ?? status.sha256;

export const hintOf = ({ spec, status }: APIKey): string | null => spec.hint ?? status.hint ?? null;

/** Without its usage. */
export function describeKey(key: APIKey): KeyView {
  const { metadata, spec, status } = key;
  const ready = status.conditions.find(({ type }) => type === 'Ready');
  const isStale = (ready?.observedGeneration ?? 0) < metadata.generation;
  return {
    name: metadata.name,
    hint: hintOf(key),
    rpm: spec.rpm,
    tpd: spec.tpd,
    priority: spec.priority,
    expiresAt: spec.expiresAt ?? null,
    disabled: spec.disabled,
    owner: spec.owner ?? null,
    deployments: spec.deployments ? [...spec.deployments] : null,
    budget: describeBudget(key),
    isReady: ready?.status === 'True' && !isStale,
    message: ready === undefined || isStale ? 'Publishing to gateways.' : ready.message,
    createdAt: String(metadata.creationTimestamp ?? ''),
    creator: findCreator(metadata),
    usage: null,
  };
}

function describeBudget({ spec: { budget }, status }: APIKey): BudgetView | null {
  if (!budget) return null;
  const { spent = null, percent = null, periodEndsAt = null } = status.budget ?? {};
  return { amount: budget.amount, period: budget.period, spent, percent, periodEndsAt };
}

interface ManagedFields {
  manager?: string;
  subresource?: string;
  time?: string;
}

/** The user recorded by the console, else the tool that wrote it first. */
export function findCreator({
  annotations,
  managedFields,
}: {
  annotations?: Record<string, string> | undefined;
  managedFields?: unknown;
}): CreatorView | null {
  const user = annotations?.[ANNOTATIONS.createdBy];
  if (user) return { kind: 'user', name: user };
  const entries = (Array.isArray(managedFields) ? managedFields : []) as ManagedFields[];
  const [first] = entries
    .filter(({ manager, subresource }) => manager && !subresource)
    .sort((a, b) => (a.time ?? '').localeCompare(b.time ?? ''));
  if (!first?.manager) return null;
  const { program, user: author } = readFieldManager(first.manager);
  return author === null ? { kind: 'tool', name: program } : { kind: 'user', name: author };
}
