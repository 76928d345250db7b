/** What dashboards and alerts read of Berth's objects as the watches show them. Pure. */
import { listObjectives, type ModelSLO, type Objective } from '../api/model-slo.ts';
import type { KubeObject } from '../kube/object.ts';

export interface FailingCondition {
  kind: string;
  namespace: string;
  name: string;
  condition: string;
  reason: string;
}

export interface DeploymentGauges {
  namespace: string;
  deployment: string;
  phase: string;
  desired: number;
  ready: number;
  targets: [Objective, number][];
}

export interface CreditSample {
  namespace: string;
  granted: number;
  remaining: number;
}

export interface BudgetSample {
  namespace: string;
  holder: 'key' | 'owner';
  name: string;
  amount: number;
  spent: number;
}

interface Condition {
  type?: unknown;
  status?: unknown;
  reason?: unknown;
}

interface ObjectStatus {
  conditions?: Condition[];
  phase?: unknown;
  desiredReplicas?: unknown;
  readyReplicas?: unknown;
  creditRemaining?: unknown;
  budget?: { spent?: unknown };
  owners?: { name?: unknown; spent?: unknown }[];
}

/** Budgets that are exported: those of owners first, since they sum up their keys. */
const MAX_BUDGETS = 1_000;
/** For a broken cluster; more would add nothing. */
const MAX_CONDITIONS = 5_000;
/** Conditions that should be False. */
const GOOD_WHEN_FALSE = new Set(['UpdateAvailable']);
/** Reasons for completed changes, and states that an owner chose. */
const GOOD_REASONS = new Set([
  'Complete',
  'Paused',
  'ScaledToZero',
  'Disabled',
  'Starting',
  // `Ready` says why.
  'NoReplicaReady',
]);

const statusOf = ({ status }: KubeObject): ObjectStatus => (status ?? {}) as ObjectStatus;

/** Conditions that are False and should not be. */
export function listFailingConditions(objects: Iterable<KubeObject>): FailingCondition[] {
  const failing: FailingCondition[] = [];
  for (const object of objects) {
    const { namespace = '', name = '' } = object.metadata;
    for (const { type, status, reason } of statusOf(object).conditions ?? []) {
      if (status !== 'False' || GOOD_WHEN_FALSE.has(String(type)) || GOOD_REASONS.has(String(reason)))
        continue;
      if (failing.length >= MAX_CONDITIONS) return failing;
      failing.push({
        kind: object.kind ?? '',
        namespace,
        name,
        condition: String(type),
        reason: String(reason),
      });
    }
  }
  return failing;
}

/** Describes ModelDeployments. */
export function* describeDeployments(objects: Iterable<KubeObject>): Generator<DeploymentGauges> {
  for (const object of objects) {
    const { namespace = '', name = '' } = object.metadata;
    const { phase, desiredReplicas, readyReplicas } = statusOf(object);
    const { slo } = (object.spec ?? {}) as { slo?: ModelSLO };
    yield {
      namespace,
      deployment: name,
      phase: typeof phase === 'string' ? phase : 'Unknown',
      desired: toNumber(desiredReplicas),
      ready: toNumber(readyReplicas),
      targets: slo ? listObjectives(slo) : [],
    };
  }
}

/** Describes Workspaces that have a credit. */
export function* describeCredits(objects: Iterable<KubeObject>): Generator<CreditSample> {
  for (const object of objects) {
    const { credit } = (object.spec ?? {}) as { credit?: unknown };
    const { creditRemaining } = statusOf(object);
    if (credit === undefined || creditRemaining === undefined) continue;
    yield {
      namespace: object.metadata.namespace ?? '',
      granted: toNumber(credit),
      remaining: toNumber(creditRemaining),
    };
  }
}

/** Describes budgets that have a status: of owners in Workspaces, then of APIKeys. */
export function describeBudgets(
  workspaces: Iterable<KubeObject>,
  keys: Iterable<KubeObject>,
): BudgetSample[] {
  const samples: BudgetSample[] = [];
  for (const object of workspaces) {
    const { owners = [] } = (object.spec ?? {}) as {
      owners?: { name: string; budget?: { amount?: unknown } }[];
    };
    const states = statusOf(object).owners ?? [];
    for (const { name, budget } of owners) {
      const state = states.find((each) => each.name === name);
      if (budget && state) add(object, { holder: 'owner', name, amount: budget.amount, spent: state.spent });
    }
  }
  for (const object of keys) {
    const { budget } = (object.spec ?? {}) as { budget?: { amount?: unknown } };
    const state = statusOf(object).budget;
    const { name = '' } = object.metadata;
    if (budget && state) add(object, { holder: 'key', name, amount: budget.amount, spent: state.spent });
  }
  return samples;

  function add(
    { metadata }: KubeObject,
    {
      holder,
      name,
      amount,
      spent,
    }: Pick<BudgetSample, 'holder' | 'name'> & { amount: unknown; spent: unknown },
  ): void {
    if (samples.length >= MAX_BUDGETS) return;
    const { namespace = '' } = metadata;
    samples.push({ namespace, holder, name, amount: toNumber(amount), spent: toNumber(spent) });
  }
}

const toNumber = (value: unknown): number => (Number.isFinite(Number(value)) ? Number(value) : 0);
