/** Syncs Redis with the desired state: changes soon, everything after Redis lost it. */

import type { DeploymentName } from '../../api/names.ts';
import { exponentialDelay } from '../../kit/retry.ts';
import type { Log } from '../../kube/log.ts';
import { isRedisAway, type RedisConnection } from '../../redis/client.ts';
import { Audits } from './audit.ts';
import { Backlog, describe } from './backlog.ts';
import { Batches } from './batches.ts';
import { type DesiredState, deploymentTarget, listTargets, type Target, targetKey } from './desired-state.ts';
import { FullPublication } from './full-publication.ts';
import { Outage } from './outage.ts';
import { Writer, type WriterSettings } from './writing.ts';

export interface PublisherSettings extends Omit<WriterSettings, 'redis'> {
  connection: RedisConnection;
  log: Log;
  /** A deployment's publication failed, recovered, or changed its host. */
  onDeploymentChange?: (name: DeploymentName, publication: { isFull: boolean }) => void;
  /** Requests can no longer be queued on this Redis, for a reason; null = they can again. */
  onRefusalChange?: (refusal: string | null) => void;
  /** The wrong settings of this Redis changed: all that are wrong now. */
  onWarningsChange?: (warnings: readonly string[]) => void;
  onStateChange?: (state: 'up' | 'away', reason: string) => void;
  /** Between two checks of whether Redis lost something; 5000. */
  checkIntervalMs?: number;
  /** Between two comparisons of Redis with the desired state; 10000. */
  auditIntervalMs?: number;
  /** Between two full publications; 600000. */
  resyncIntervalMs?: number;
}

const CONCURRENCY = 32;
const BACKOFF = { baseMs: 200, maxMs: 5_000 };

export class Publisher {
  readonly #settings: PublisherSettings;
  readonly #checkIntervalMs: number;
  readonly #resyncIntervalMs: number;
  readonly #desired: DesiredState;
  readonly #writer: Writer;
  readonly #full: FullPublication;
  readonly #batches: Batches;
  readonly #backlog = new Backlog();
  #everything = false;
  /** A full publication is running: differences that it finds are not recent changes. */
  #isFull = false;
  readonly #outage: Outage;
  #stopped = false;
  #wake: () => void = () => {};
  #loop: Promise<void> | undefined;
  #lastFull = 0;
  #writing = false;
  #lastCheck = 0;
  readonly #audits: Audits;
  #unlisten: () => void = () => {};

  constructor(settings: PublisherSettings) {
    this.#settings = settings;
    this.#checkIntervalMs = settings.checkIntervalMs ?? 5_000;
    this.#resyncIntervalMs = settings.resyncIntervalMs ?? 600_000;
    this.#desired = settings.desired;
    this.#writer = new Writer({
      ...settings,
      redis: settings.connection.redis,
      onHostChange: (name) => settings.onDeploymentChange?.(name, { isFull: this.#isFull }),
    });
    this.#full = new FullPublication({ ...settings, redis: settings.connection.redis }, this.#writer);
    this.#batches = new Batches(this.#writer);
    this.#outage = new Outage(settings.connection, settings.onStateChange);
    this.#audits = new Audits(settings.connection.redis, settings.desired, settings.auditIntervalMs);
  }

  /** Starts with a full publication. Call once the desired state is complete, and as the leader only. */
  start(): void {
    this.#everything = true;
    this.#unlisten = this.#settings.connection.onStateChange((state, reason) => {
      // A server that recovers may be a different one, or the same one, empty.
      if (state === 'up') this.#everything = true;
      else this.#outage.begin(reason);
      this.#wake();
    });
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unlisten();
    this.#wake();
    await this.#loop;
  }

  mark(target: Target): void {
    this.#backlog.mark(target);
    this.#wake();
  }

  /** The host under which the front knows a deployment; undefined while that is not written. */
  publishedHost(name: DeploymentName): string | undefined {
    return this.#writer.hostOf(name);
  }

  /** What prevents a deployment from being written; undefined if unknown. */
  explain(name: DeploymentName): string | undefined {
    if (this.outage !== undefined) return `Redis is unavailable: ${this.outage}`;
    const target = deploymentTarget(name);
    const failure = this.#backlog.failureOf(target);
    if (failure !== undefined) return `the last attempt failed: ${failure}`;
    if (this.#desired.unseen().has(name.namespace))
      return "the operator is not allowed to read all of Berth's resources in this namespace";
    if (this.#lastFull === 0)
      return 'everything is being republished after a start of the operator or of Redis';
    return this.#backlog.isMarked(target)
      ? `${this.#backlog.marked} changes are waiting to be written`
      : undefined;
  }

  /** Whether Redis has what the budgets of a namespace have spent, as far as their statuses say it. */
  isRestored(namespace: string): boolean {
    return this.#full.isRestored(namespace);
  }

  /** Why Redis is unavailable; undefined while it is available. */
  get outage(): string | undefined {
    return this.#outage.reason;
  }

  /** Why requests cannot be queued on this Redis; null = they can. */
  get asyncRefusal(): string | null {
    return this.#writer.asyncRefusal;
  }

  /** Settings of this Redis by which it may lose data, or be filled. */
  get warnings(): readonly string[] {
    return this.#writer.warnings;
  }

  /** Why one workspace's requests cannot be queued, such as its share of memory being used up. */
  refusalOf(namespace: string): string | null {
    return this.#writer.refusalOf(namespace);
  }

  /** Whether everything has been written. */
  get idle(): boolean {
    return this.#lastFull > 0 && !this.#everything && this.#backlog.isEmpty && !this.#writing;
  }

  /** Syncs one target with the desired state now; throws while Redis is unavailable. */
  async publish(target: Target): Promise<void> {
    const [failure] = await this.#batches.execute([target]);
    if (failure !== undefined) throw failure;
  }

  async #run(): Promise<void> {
    let attempt = 0;
    while (!this.#stopped) {
      const ended = await this.#step();
      attempt = ended === 'failed' ? attempt + 1 : 0;
      if (ended === 'failed') await this.#sleep(exponentialDelay(BACKOFF, attempt));
      else if (!this.#everything && this.#backlog.marked === 0)
        await this.#sleep(Math.min(this.#checkIntervalMs, this.#backlog.nextInMs));
    }
  }

  /** One round of work, with a check of Redis when one is due. */
  async #step(): Promise<'done' | 'failed'> {
    try {
      if (this.#isCheckDue) await this.#check();
      this.#writing = true;
      if (this.#everything) await this.#publishEverything();
      else await this.#publishDirty();
      this.#outage.end();
      return 'done';
    } catch (error) {
      this.#outage.begin(describe(error));
      return 'failed';
    } finally {
      this.#writing = false;
    }
  }

  /** Also after a failure: with nothing to write, only a check shows that Redis has recovered. */
  get #isCheckDue(): boolean {
    return this.#everything || this.outage !== undefined || isPast(this.#lastCheck, this.#checkIntervalMs);
  }

  async #check(): Promise<void> {
    this.#lastCheck = Date.now();
    const { isRefusalNew, areWarningsNew } = await this.#writer.evaluateServer();
    if (areWarningsNew) this.#settings.onWarningsChange?.(this.#writer.warnings);
    if (isRefusalNew) {
      this.#settings.onRefusalChange?.(this.#writer.asyncRefusal);
      for (const namespace of this.#desired.namespaces()) this.mark({ what: 'workspace', namespace });
    }
    // Never reset here: Redis may have recovered during the check.
    if (
      !this.#everything &&
      (isPast(this.#lastFull, this.#resyncIntervalMs) || !(await this.#full.isIntact()))
    )
      this.#everything = true;
    if (!this.#everything && this.#audits.isDue) await this.#audit();
  }

  async #audit(): Promise<void> {
    // Failures are retried.
    const found = await this.#audits.run((target) => !this.#backlog.hasRetry(target));
    for (const target of found.due) this.mark(target);
    if (found.again.length === 0) return;
    this.#settings.log.warn(
      { targets: found.again.slice(0, 10), count: found.again.length },
      'Redis differs from the desired state after publishing, repairing',
    );
    await this.#batches.alone(() => this.#full.prune());
  }

  async #publishEverything(): Promise<void> {
    this.#everything = false;
    this.#isFull = true;
    try {
      await this.#full.begin();
      for (const target of listTargets(this.#desired)) this.#backlog.mark(target);
      await this.#batches.alone(() => this.#full.prune());
      await this.#publishDirty();
      await this.#full.finish();
      this.#lastFull = Date.now();
    } catch (error) {
      this.#everything = true;
      throw error;
    } finally {
      this.#isFull = false;
    }
  }

  /** Writes marked and due targets in batches. A failure does not stop the others. */
  async #publishDirty(): Promise<void> {
    const targets = this.#backlog.take();
    let absence: unknown;
    for (let start = 0; start < targets.length; start += CONCURRENCY) {
      const batch = targets.slice(start, start + CONCURRENCY);
      const failures = await this.#batches.execute(batch);
      for (const [index, failure] of failures.entries()) {
        this.#settle(batch[index]!, failure);
        if (isRedisAway(failure)) absence = failure;
      }
    }
    if (absence !== undefined) throw absence;
  }

  #settle(target: Target, failure: unknown): void {
    const { isChanged, isFirstRetry } = this.#backlog.settle(target, failure);
    if (isFirstRetry)
      this.#settings.log.error({ target: targetKey(target), err: failure }, 'publish failed, retrying');
    if (isChanged && target.what === 'deployment')
      this.#settings.onDeploymentChange?.(target, { isFull: this.#isFull });
  }

  #sleep(ms: number): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const isPast = (since: number, intervalMs: number): boolean => Date.now() - since >= intervalMs;
