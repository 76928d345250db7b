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
}

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

const toNumber = (value: unknown): number => (Number.isFinite(Number(value)) ? Number(value) : 0);
