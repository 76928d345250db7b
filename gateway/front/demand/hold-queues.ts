/** Requests that wait for a replica: by deployment, oldest first, bounded, released only as slots allow (decision 0228). */
import type { GatewayConfig } from '../../../api/gateway-config.ts';
import type { DeploymentName } from '../../../api/names.ts';
import { type Clock, systemClock } from '../../../kit/clock.ts';
import { type Share, Shares } from '../../../kit/shares.ts';
import { findLongWait, findShutdown, type StandingConfig } from '../../http/unavailability.ts';
import {
  createQueue,
  type HeldRequest,
  type HoldEnd,
  type HoldLimits,
  type HoldQueue,
  type Turn,
  type Waiter,
} from './hold-queue.ts';
import type { ReplicaDemand } from './replica-demand.ts';

export interface Replicas {
  config: StandingConfig & Pick<GatewayConfig, 'concurrency'>;
  addresses: readonly string[];
}

export interface HoldQueuesOptions {
  limits: HoldLimits;
  /** The current publication; null: the deployment is gone. */
  find: (deployment: DeploymentName) => Promise<Replicas | null>;
  replicaDemand: Pick<ReplicaDemand, 'hold' | 'shareOf'>;
  clock?: Clock;
}

/** A request's place in its queue. */
export interface Hold {
  /** Waits for the next turn; called again if the last one failed. */
  wait(): Promise<Turn | HoldEnd>;
  /** Leaves the queue: the client disconnected, or the request no longer waits. May be called more than once. */
  end(): void;
}

const PAUSE_MS = 1_000;

/** There is nothing to wait for. */
const findObstruction = ({ config, addresses }: Replicas) =>
  addresses.length > 0 ? findShutdown(config) : findLongWait(config);

export class HoldQueues {
  readonly #options: HoldQueuesOptions;
  readonly #clock: Clock;
  readonly #queues = new Map<string, HoldQueue>();
  /** Places of all queues, shared between workspaces as memory is. */
  readonly #places: Shares;
  #last = 0;
  #isClosed = false;

  constructor(options: HoldQueuesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#places = new Shares({ total: options.limits.total, shareOfFree: 2 });
  }

  /** Whether requests of the deployment wait, so that others have to queue behind them. */
  hasWaiting({ namespace, name }: DeploymentName): boolean {
    return (this.#queues.get(`${namespace}/${name}`)?.waiting.size ?? 0) > 0;
  }

  /** A place that expires after `timeoutMs`; null if there is none. */
  enter(deployment: DeploymentName, request: HeldRequest): Hold | null {
    const queue = this.#find(deployment);
    const taken = this.#isClosed ? null : this.#take(queue, request);
    if (!taken) {
      this.#forget(queue);
      return null;
    }
    const order = ++this.#last;
    let ended: HoldEnd | null = null;
    let waiter: Waiter | null = null;
    let hasPlace = true;
    const finish = (reason: HoldEnd) => {
      ended ??= reason;
      waiter?.give(reason);
    };
    const cancelTimer = this.#clock.after(request.timeoutMs, () => finish('expired'));
    return {
      wait: async () => {
        if (ended) return ended;
        const result = await new Promise<Turn | HoldEnd>((resolve) => {
          waiter = this.#add(queue, order, resolve);
        });
        waiter = null;
        return result;
      },
      end: () => {
        if (!hasPlace) return;
        hasPlace = false;
        cancelTimer();
        finish('left');
        for (const share of taken) share.release();
        this.#forget(queue);
      },
    };
  }

  /** Its places in all queues and in its own; null if there is none, or its caller has its share. */
  #take(queue: HoldQueue, { caller, bytes }: HeldRequest): Share[] | null {
    const place = this.#places.open(queue.namespace);
    const [own, memory] = [queue.places.open(caller), queue.bytes.open(caller)];
    const taken = [place, own, memory];
    if (own.tryAdd(1) && memory.tryAdd(bytes) && place.tryAdd(1)) return taken;
    for (const share of taken) share.release();
    return null;
  }

  /** Something was published, or may have been: replicas may be ready, of one deployment or of all. */
  wake(deployment?: DeploymentName): void {
    if (deployment) {
      const queue = this.#queues.get(`${deployment.namespace}/${deployment.name}`);
      if (queue) void this.#serve(queue);
      return;
    }
    for (const queue of this.#queues.values()) void this.#serve(queue);
  }

  /** Ends all waits. */
  close(): void {
    this.#isClosed = true;
    for (const queue of this.#queues.values()) this.#endAll(queue, 'closing');
  }

  #find({ namespace, name }: DeploymentName): HoldQueue {
    const key = `${namespace}/${name}`;
    const known = this.#queues.get(key);
    if (known) return known;
    const queue = createQueue({ namespace, name }, this.#options.limits);
    this.#queues.set(key, queue);
    return queue;
  }

  #forget(queue: HoldQueue): void {
    if (queue.places.used + queue.running === 0) this.#queues.delete(`${queue.namespace}/${queue.name}`);
  }

  #add(queue: HoldQueue, order: number, resolve: (result: Turn | HoldEnd) => void): Waiter {
    const leave = this.#options.replicaDemand.hold(queue);
    const waiter: Waiter = {
      order,
      give: (result) => {
        if (!queue.waiting.delete(waiter)) return;
        leave();
        resolve(result);
      },
    };
    queue.waiting.add(waiter);
    if (this.#isClosed) waiter.give('closing');
    else void this.#serve(queue);
    return waiter;
  }

  /** Gives turns to the oldest, as far as there are slots. Not concurrent: calls meanwhile trigger another run. */
  async #serve(queue: HoldQueue): Promise<void> {
    if (queue.isServing) {
      queue.mustServeAgain = true;
      return;
    }
    queue.isServing = true;
    do {
      queue.mustServeAgain = false;
      if (queue.waiting.size === 0 || this.#clock.now() < queue.pausedUntil) continue;
      // While Redis is down and nothing is known, all keep waiting.
      const found = await this.#options.find(queue).catch(() => undefined);
      if (found !== undefined) this.#giveTurns(queue, found);
    } while (queue.mustServeAgain);
    queue.isServing = false;
  }

  #giveTurns(queue: HoldQueue, found: Replicas | null): void {
    if (!found || findObstruction(found)) {
      this.#endAll(queue, 'gone');
      return;
    }
    const { addresses, config } = found;
    const slots =
      config.concurrency === null ? Number.POSITIVE_INFINITY : addresses.length * config.concurrency;
    if (addresses.length === 0) return;
    // Other fronts hold requests for the same slots.
    const own = Math.max(1, Math.floor(slots * this.#options.replicaDemand.shareOf(queue)));
    const oldest = [...queue.waiting].sort((a, b) => a.order - b.order);
    for (const waiter of oldest.slice(0, Math.max(0, own - queue.running)))
      waiter.give(this.#begin(queue, addresses));
  }

  #begin(queue: HoldQueue, addresses: readonly string[]): Turn {
    queue.running++;
    let isOver = false;
    return {
      addresses,
      leave: ({ isRefused = false } = {}) => {
        if (isOver) return;
        isOver = true;
        queue.running--;
        this.#forget(queue);
        if (isRefused) this.#pause(queue);
        else void this.#serve(queue);
      },
    };
  }

  #pause(queue: HoldQueue): void {
    queue.pausedUntil = this.#clock.now() + PAUSE_MS;
    this.#clock.after(PAUSE_MS, () => void this.#serve(queue));
  }

  #endAll(queue: HoldQueue, reason: HoldEnd): void {
    for (const waiter of [...queue.waiting]) waiter.give(reason);
  }
}
