/** Base of every reconciler: finds the object, parses it, and ignores namespaces that are being deleted. */
import type { ConditionType } from '../../api/conditions.ts';
import type { Condition } from '../../api/kubernetes-types.ts';
import { isNamespaceTerminating } from '../../kube/api-error.ts';
import type { Applier, StatusWriter } from '../../kube/apply.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { EventNote } from '../../kube/events.ts';
import type { Log } from '../../kube/log.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Resource } from '../../kube/resource.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import type { Publisher } from '../publish/publisher.ts';
import type { BuildSettings } from '../resources/settings.ts';
import { findCondition, mergeConditions, type Verdict } from '../status/condition-list.ts';
import type { Problem } from '../status/problem.ts';
import type { ClusterView } from './cluster-view.ts';
import type { Parsed } from './parsed-store.ts';

/** Settings that reconciling needs. */
export type ReconcileSettings = Pick<
  BuildSettings,
  | 'version'
  | 'namespace'
  | 'ingressClass'
  | 'gateway'
  | 'redisUsers'
  | 'externalRedisSecret'
  | 'masterKey'
  | 'egress'
  | 'readRedisCA'
>;

/** Dependencies of every reconciler. */
export interface ReconcileContext {
  client: KubeClient;
  view: ClusterView;
  applier: Applier;
  statusWriter: StatusWriter;
  record: (object: KubeObject, event: EventNote) => void;
  publisher: Publisher;
  settings: ReconcileSettings;
  /** Unix milliseconds. */
  now: () => number;
  log: Log;
}

export interface ReconciledKind<T> {
  resource: Resource;
  cache: { get(key: string): KubeObject | undefined };
  store: { get(key: string): Parsed<T> | undefined };
}

/** An object that is being deleted. */
export interface Leaving<T> {
  key: string;
  live: KubeObject;
  /** Undefined if its spec is invalid. */
  object: T | undefined;
  signal: AbortSignal;
}

export interface StatusWrite {
  conditions: Partial<Record<ConditionType, Verdict>>;
  /** The rest of the status. */
  fields?: object;
  /** Recorded if the status and this condition's reason changed. */
  event?: { condition: ConditionType; type: 'Normal' | 'Warning' } | undefined;
  signal: AbortSignal;
}

export abstract class Reconciler<T, C extends ReconcileContext = ReconcileContext> {
  protected readonly context: C;
  readonly #kind: ReconciledKind<T>;

  constructor(context: C, kind: ReconciledKind<T>) {
    this.context = context;
    this.#kind = kind;
  }

  /** Reconciles an object once; level-triggered, so it can be called at any time. */
  async reconcile(key: string, signal: AbortSignal): Promise<Requeue> {
    const live = this.#kind.cache.get(key);
    const parsed = this.#kind.store.get(key);
    if (live && parsed && live.metadata.deletionTimestamp !== undefined)
      return this.finalize({ key, live, object: parsed.ok ? parsed.value : undefined, signal });
    try {
      if (!live || !parsed) return await this.handleRemoval(key, signal);
      if (parsed.ok) return await this.sync(live, parsed.value, signal);
      return await this.refuse(live, { reason: 'InvalidSpec', message: parsed.message }, signal);
    } catch (error) {
      // Nothing can be created there anymore, and the object itself is about to be deleted.
      if (isNamespaceTerminating(error)) return {};
      throw error;
    }
  }

  protected abstract sync(live: KubeObject, object: T, signal: AbortSignal): Promise<Requeue>;

  /** Reports why the object's spec is not applied. */
  protected abstract refuse(live: KubeObject, problem: Problem, signal: AbortSignal): Promise<Requeue>;

  /** The object is gone. */
  protected abstract handleRemoval(key: string, signal: AbortSignal): Promise<Requeue>;

  /** The object is being deleted; handled as if it were gone unless overridden. */
  protected finalize({ key, signal }: Leaving<T>): Promise<Requeue> {
    return this.handleRemoval(key, signal);
  }

  /** Writes the status if it differs, and records an event for a notable change. */
  protected async writeStatus(live: KubeObject, write: StatusWrite): Promise<void> {
    const { conditions, fields, event, signal } = write;
    const { statusWriter, record, now } = this.context;
    const generation = live.metadata.generation ?? 0;
    const before = conditionsOf(live);
    const merged = mergeConditions(before, conditions, { generation, now: now() });
    const status = { observedGeneration: generation, ...fields, conditions: merged };
    const isChanged = await statusWriter.write(this.#kind.resource, live, { status, signal });
    if (!isChanged || !event) return;
    const { reason, message } = conditions[event.condition]!;
    if (findCondition(before, event.condition)?.reason === reason) return;
    record(live, { type: event.type, reason, note: message });
  }
}

export const conditionsOf = ({ status }: KubeObject): Condition[] =>
  ((status ?? {}) as { conditions?: Condition[] }).conditions ?? [];
