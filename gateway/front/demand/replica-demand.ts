/** Deployments that this front needs a replica of: reported until one is ready, with the number of waiting and refused requests. */

import type { DeploymentName } from '../../../api/names.ts';
import type { FrontShare } from '../../../api/redis-keys.ts';
import { type Clock, systemClock } from '../../../kit/clock.ts';
import { BusyTime } from '../../capacity/busy-time.ts';

export interface ReplicaDemandOptions {
  /** This front's pod. */
  front: string;
  /** Writes this front's share of the demand, and returns how many the others hold; throws while Redis is down. */
  publish: (deployment: DeploymentName, share: Omit<FrontShare, 'at'>) => Promise<number>;
  /** Notifies the operator; only a hint. Throws while Redis is down. */
  wake: (deployment: DeploymentName) => Promise<unknown>;
  /** Whether replicas are ready, so that none is needed anymore; checked each second. */
  isServed: (deployment: DeploymentName) => Promise<boolean>;
  /** No request needs one anymore, and none has become ready. */
  onExpire: (deployment: DeploymentName) => void;
  onError: (error: unknown) => void;
  clock?: Clock;
}

interface DeploymentDemand extends DeploymentName {
  held: BusyTime;
  refused: number;
  /** Scaled externally: demand is only counted. */
  isForeign: boolean;
  wantedAt: number;
  /** By the clock; a refused request needs a replica until then. */
  wantedUntil: number;
  reportedAt: number;
  writtenAt: number;
  wokenAt: number;
  /** The share last written. */
  reported: string;
  /** Held by all other fronts. */
  heldByOthers: number;
}

const INTERVAL_MS = 1_000;
/** Longer than any Retry-After after which an SDK retries. */
const DEMAND_TTL_MS = 90_000;
/** An empty share stays readable for a minute, for a reader that was down. */
const QUIET_MS = 15_000;
/** An unchanged share is rewritten while a replica is needed, so that it does not expire. */
const RENEW_MS = 30_000;
/** Longer than a share lives in Redis: a later one starts from zero. */
const FORGET_MS = 300_000;

export class ReplicaDemand {
  readonly #options: ReplicaDemandOptions;
  readonly #clock: Clock;
  /** By `namespace/name`. Only callers with a valid key create any, so there are no more than deployments. */
  readonly #demands = new Map<string, DeploymentDemand>();
  #cancelTick: (() => void) | null = null;
  #isClosed = false;

  constructor(options: ReplicaDemandOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** A request found no replica: one is needed now, and for a minute and a half. */
  ask(deployment: DeploymentName): void {
    const demand = this.#find(deployment);
    demand.isForeign = false;
    this.#request(demand);
  }

  /** A request was refused only for want of a replica. */
  refuse(deployment: DeploymentName): void {
    this.#find(deployment).refused++;
    this.ask(deployment);
  }

  /** The same for an externally scaled one: it shows in the demand, and the operator is not notified. */
  countRefused(deployment: DeploymentName): void {
    const demand = this.#find(deployment);
    demand.refused++;
    demand.isForeign = true;
    this.#request(demand);
  }

  /** It waits until the returned function is called. */
  hold(deployment: DeploymentName): () => void {
    const leave = this.#find(deployment).held.enter();
    this.#schedule();
    return leave;
  }

  /** A request was queued without a replica to claim it: only a hint, since the queue itself shows it. */
  hint(deployment: DeploymentName): void {
    this.#options.wake(deployment).catch(this.#options.onError);
  }

  /** This front's share of what all fronts hold for a deployment, above 0 to 1. */
  shareOf(deployment: DeploymentName): number {
    const { held, heldByOthers } = this.#find(deployment);
    return Math.max(1, held.level) / (Math.max(1, held.level) + heldByOthers);
  }

  /** Reports each share again: nothing, once all holds have ended. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTick?.();
    for (const demand of this.#demands.values()) this.#report(demand, false);
  }

  #request(demand: DeploymentDemand): void {
    const now = this.#clock.now();
    demand.wantedAt = this.#clock.date().getTime();
    demand.wantedUntil = now + DEMAND_TTL_MS;
    if (now - demand.wokenAt >= INTERVAL_MS) this.#report(demand);
    this.#schedule();
  }

  #find({ namespace, name }: DeploymentName): DeploymentDemand {
    const key = `${namespace}/${name}`;
    const known = this.#demands.get(key);
    if (known) return known;
    const demand: DeploymentDemand = {
      namespace,
      name,
      held: new BusyTime(this.#clock),
      refused: 0,
      isForeign: false,
      wantedAt: 0,
      wantedUntil: 0,
      reportedAt: Number.NEGATIVE_INFINITY,
      writtenAt: Number.NEGATIVE_INFINITY,
      wokenAt: Number.NEGATIVE_INFINITY,
      reported: '',
      heldByOthers: 0,
    };
    this.#demands.set(key, demand);
    return demand;
  }

  #schedule(): void {
    if (this.#isClosed || this.#cancelTick) return;
    this.#cancelTick = this.#clock.after(INTERVAL_MS, () => {
      this.#cancelTick = null;
      for (const [key, demand] of this.#demands) this.#visit(key, demand);
      if (this.#demands.size > 0) this.#schedule();
    });
  }

  #visit(key: string, demand: DeploymentDemand): void {
    const now = this.#clock.now();
    if (demand.held.level > 0 || demand.wantedUntil > 0) void this.#renew(demand, now);
    else if (now - demand.reportedAt > FORGET_MS) this.#demands.delete(key);
    else if (JSON.stringify(this.#describe(demand)) !== demand.reported) this.#report(demand, false);
  }

  /** Maintains the demand, unless a replica has become ready or the time is over. */
  async #renew(demand: DeploymentDemand, now: number): Promise<void> {
    const isServed = await this.#options.isServed(demand).catch(() => false);
    const isOver = demand.held.level === 0 && now >= demand.wantedUntil;
    if (isServed || isOver) demand.wantedUntil = 0;
    if (isOver && !isServed) this.#options.onExpire(demand);
    this.#report(demand, !isServed && !isOver);
  }

  /** The share first, since the hint makes the operator read it. */
  #report(demand: DeploymentDemand, isWanted = true): void {
    const { publish, wake, onError } = this.#options;
    const share = this.#describe(demand);
    const text = JSON.stringify(share);
    demand.reportedAt = this.#clock.now();
    const { reportedAt } = demand;
    const isStale = isWanted && reportedAt - demand.writtenAt >= RENEW_MS;
    if (text !== demand.reported || isStale)
      publish(demand, share).then((held) => {
        demand.reported = text;
        demand.writtenAt = reportedAt;
        demand.heldByOthers = held;
      }, onError);
    if (!isWanted) return;
    demand.wokenAt = demand.reportedAt;
    if (!demand.isForeign) wake(demand).catch(onError);
  }

  #describe({ held, refused, wantedAt }: DeploymentDemand): Omit<FrontShare, 'at'> {
    const { boot, busyMs } = held.read();
    return {
      v: 1,
      front: this.#options.front,
      boot,
      held: held.level,
      heldMs: busyMs,
      refused,
      wantedAt,
      every: held.level > 0 ? INTERVAL_MS : QUIET_MS,
    };
  }
}
