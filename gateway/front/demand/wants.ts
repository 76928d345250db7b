/** Which deployments this front wants a replica of: it says so until one is there, and counts who waited or was refused. */

import type { FrontShare } from '../../../api/redis-keys.ts';
import { type Clock, systemClock } from '../../../kit/clock.ts';
import type { DeploymentName } from '../../../redis/publication/publication.ts';
import { BusyTime } from '../../capacity/busy-time.ts';

export interface WantsOptions {
  /** This front's pod. */
  front: string;
  /** Writes this front's share of the demand, and answers how many the others hold; throws while Redis is away. */
  say: (deployment: DeploymentName, share: Omit<FrontShare, 'at'>) => Promise<number>;
  /** Tells the operator; a hint only. Throws while Redis is away. */
  wake: (deployment: DeploymentName) => Promise<unknown>;
  /** Whether replicas are there, so that nothing is wanted any more; asked each second. */
  isServed: (deployment: DeploymentName) => Promise<boolean>;
  /** Nobody wants one any more, and none has come. */
  onLapse: (deployment: DeploymentName) => void;
  onError: (error: unknown) => void;
  clock?: Clock;
}

interface Want extends DeploymentName {
  held: BusyTime;
  refused: number;
  /** Others scale it: it is only counted. */
  isForeign: boolean;
  wantedAt: number;
  /** By the clock; a request that was refused wants a replica until then. */
  wantedUntil: number;
  saidAt: number;
  writtenAt: number;
  wokenAt: number;
  /** The share that was last written. */
  said: string;
  /** What all other fronts hold. */
  heldByOthers: number;
}

const INTERVAL_MS = 1_000;
/** Longer than any Retry-After, with which an SDK comes again. */
const WANT_MS = 90_000;
/** What holds nothing any more stays readable for a minute, for a reader that was away. */
const QUIET_MS = 15_000;
/** What has not changed is written again while a replica is wanted, so that it stays readable. */
const RENEW_MS = 30_000;
/** Longer than a share lives in Redis: one that comes back later starts from zero. */
const FORGET_MS = 300_000;

export class Wants {
  readonly #options: WantsOptions;
  readonly #clock: Clock;
  /** By `namespace/name`. Only callers with a valid key make any, so there are no more than deployments. */
  readonly #wants = new Map<string, Want>();
  #cancelTick: (() => void) | null = null;
  #isClosed = false;

  constructor(options: WantsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** A request found no replica: one is wanted now, and for a minute and a half. */
  ask(deployment: DeploymentName): void {
    const want = this.#find(deployment);
    want.isForeign = false;
    this.#want(want);
  }

  /** It was refused, although it would have been served. */
  refuse(deployment: DeploymentName): void {
    this.#find(deployment).refused++;
    this.ask(deployment);
  }

  /** The same of one that others scale: it shows in the demand, and tells nobody else. */
  countRefused(deployment: DeploymentName): void {
    const want = this.#find(deployment);
    want.refused++;
    want.isForeign = true;
    this.#want(want);
  }

  /** It waits until what is returned is called. */
  hold(deployment: DeploymentName): () => void {
    const leave = this.#find(deployment).held.enter();
    this.#schedule();
    return leave;
  }

  /** A request was queued that no replica is there to claim: only a hint, since the queue itself shows it. */
  hint(deployment: DeploymentName): void {
    this.#options.wake(deployment).catch(this.#options.onError);
  }

  /** This front's share of what all fronts hold for a deployment, above 0 to 1. */
  shareOf(deployment: DeploymentName): number {
    const { held, heldByOthers } = this.#find(deployment);
    return Math.max(1, held.level) / (Math.max(1, held.level) + heldByOthers);
  }

  /** Says once more what each holds: nothing, once all holds have ended. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTick?.();
    for (const want of this.#wants.values()) this.#speak(want, false);
  }

  #want(want: Want): void {
    const now = this.#clock.now();
    want.wantedAt = this.#clock.date().getTime();
    want.wantedUntil = now + WANT_MS;
    if (now - want.wokenAt >= INTERVAL_MS) this.#speak(want);
    this.#schedule();
  }

  #find({ namespace, name }: DeploymentName): Want {
    const key = `${namespace}/${name}`;
    const known = this.#wants.get(key);
    if (known) return known;
    const want: Want = {
      namespace,
      name,
      held: new BusyTime(this.#clock),
      refused: 0,
      isForeign: false,
      wantedAt: 0,
      wantedUntil: 0,
      saidAt: Number.NEGATIVE_INFINITY,
      writtenAt: Number.NEGATIVE_INFINITY,
      wokenAt: Number.NEGATIVE_INFINITY,
      said: '',
      heldByOthers: 0,
    };
    this.#wants.set(key, want);
    return want;
  }

  #schedule(): void {
    if (this.#isClosed || this.#cancelTick) return;
    this.#cancelTick = this.#clock.after(INTERVAL_MS, () => {
      this.#cancelTick = null;
      for (const [key, want] of this.#wants) this.#visit(key, want);
      if (this.#wants.size > 0) this.#schedule();
    });
  }

  #visit(key: string, want: Want): void {
    const now = this.#clock.now();
    if (want.held.level > 0 || want.wantedUntil > 0) void this.#renew(want, now);
    else if (now - want.saidAt > FORGET_MS) this.#wants.delete(key);
    else if (JSON.stringify(this.#describe(want)) !== want.said) this.#speak(want, false);
  }

  /** Goes on wanting, unless a replica has come or the time is over. */
  async #renew(want: Want, now: number): Promise<void> {
    const isServed = await this.#options.isServed(want).catch(() => false);
    const isOver = want.held.level === 0 && now >= want.wantedUntil;
    if (isServed || isOver) want.wantedUntil = 0;
    if (isOver && !isServed) this.#options.onLapse(want);
    this.#speak(want, !isServed && !isOver);
  }

  /** The share first: it is the truth that the hint leads to. */
  #speak(want: Want, isWanted = true): void {
    const { say, wake, onError } = this.#options;
    const share = this.#describe(want);
    const words = JSON.stringify(share);
    want.saidAt = this.#clock.now();
    const { saidAt } = want;
    const isStale = isWanted && saidAt - want.writtenAt >= RENEW_MS;
    if (words !== want.said || isStale)
      say(want, share).then((held) => {
        want.said = words;
        want.writtenAt = saidAt;
        want.heldByOthers = held;
      }, onError);
    if (!isWanted) return;
    want.wokenAt = want.saidAt;
    if (!want.isForeign) wake(want).catch(onError);
  }

  #describe({ held, refused, wantedAt }: Want): Omit<FrontShare, 'at'> {
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
