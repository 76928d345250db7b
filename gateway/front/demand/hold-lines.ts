/** Requests that wait for a replica: by deployment, oldest first, bounded, let go only as many at a time as there are slots. */
import type { GatewayConfig } from '../../../api/gateway-config.ts';
import { type Clock, systemClock } from '../../../kit/clock.ts';
import type { DeploymentName } from '../../../redis/publication/publication.ts';
import { BodyMemory } from '../../http/body-memory.ts';
import {
  addLoad,
  createLine,
  type HeldRequest,
  type HoldEnd,
  type HoldLimits,
  isFull,
  type Line,
  type Turn,
  type Waiter,
} from './hold-line.ts';
import type { Wants } from './wants.ts';

export interface Replicas {
  config: Pick<GatewayConfig, 'concurrency' | 'paused' | 'deleting'>;
  addresses: readonly string[];
}

export interface HoldLinesOptions {
  limits: HoldLimits;
  /** What is published now; null: the deployment is gone. */
  find: (deployment: DeploymentName) => Promise<Replicas | null>;
  wants: Pick<Wants, 'hold' | 'shareOf'>;
  clock?: Clock;
}

/** A request's place in its line. */
export interface Hold {
  /** Waits for the next turn: again, where the last one led to nothing. */
  wait(): Promise<Turn | HoldEnd>;
  /** Gives the place back: the client has left, or the request will not wait any more. May be called more than once. */
  end(): void;
}

const PAUSE_MS = 1_000;
export class HoldLines {
  readonly #options: HoldLinesOptions;
  readonly #clock: Clock;
  readonly #lines = new Map<string, Line>();
  /** Places of all lines, shared between workspaces as memory is. */
  readonly #places: BodyMemory;
  #last = 0;
  #isClosed = false;

  constructor(options: HoldLinesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#places = new BodyMemory({ totalBytes: options.limits.total, waitMs: 0 });
  }

  /** Whether requests of the deployment wait, so that others have to come after them. */
  hasWaiting({ namespace, name }: DeploymentName): boolean {
    return (this.#lines.get(`${namespace}/${name}`)?.waiting.size ?? 0) > 0;
  }

  /** A place that ends by itself after `timeoutMs`; null where there is none. */
  enter(deployment: DeploymentName, request: HeldRequest): Hold | null {
    const line = this.#find(deployment);
    const place = this.#places.open(deployment.namespace);
    if (this.#isClosed || isFull(line, request, this.#options.limits) || !place.tryAdd(1)) {
      this.#forget(line);
      return null;
    }
    addLoad(line, request, 1);
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
          waiter = this.#add(line, order, resolve);
        });
        waiter = null;
        return result;
      },
      end: () => {
        if (!hasPlace) return;
        hasPlace = false;
        cancelTimer();
        finish('left');
        place.release();
        addLoad(line, request, -1);
        this.#forget(line);
      },
    };
  }

  /** Something was published, or may have been: replicas may be ready, of one deployment or of all. */
  wake(deployment?: DeploymentName): void {
    if (deployment) {
      const line = this.#lines.get(`${deployment.namespace}/${deployment.name}`);
      if (line) void this.#serve(line);
      return;
    }
    for (const line of this.#lines.values()) void this.#serve(line);
  }

  /** Ends all waits; nobody has to wait any more. */
  close(): void {
    this.#isClosed = true;
    for (const line of this.#lines.values()) this.#endAll(line, 'closing');
  }

  #find({ namespace, name }: DeploymentName): Line {
    const key = `${namespace}/${name}`;
    const known = this.#lines.get(key);
    if (known) return known;
    const line = createLine({ namespace, name });
    this.#lines.set(key, line);
    return line;
  }

  #forget(line: Line): void {
    if (line.holds + line.running === 0) this.#lines.delete(`${line.namespace}/${line.name}`);
  }

  #add(line: Line, order: number, resolve: (result: Turn | HoldEnd) => void): Waiter {
    const leave = this.#options.wants.hold(line);
    const waiter: Waiter = {
      order,
      give: (result) => {
        if (!line.waiting.delete(waiter)) return;
        leave();
        resolve(result);
      },
    };
    line.waiting.add(waiter);
    if (this.#isClosed) waiter.give('closing');
    else void this.#serve(line);
    return waiter;
  }

  /** Gives turns to the oldest, as far as there are slots. One at a time, and again if asked meanwhile. */
  async #serve(line: Line): Promise<void> {
    if (line.isServing) {
      line.mustServeAgain = true;
      return;
    }
    line.isServing = true;
    do {
      line.mustServeAgain = false;
      if (line.waiting.size === 0 || this.#clock.now() < line.pausedUntil) continue;
      // While Redis is away and nothing is known, all wait on.
      const found = await this.#options.find(line).catch(() => undefined);
      if (found !== undefined) this.#giveTurns(line, found);
    } while (line.mustServeAgain);
    line.isServing = false;
  }

  #giveTurns(line: Line, found: Replicas | null): void {
    if (!found || found.config.paused || found.config.deleting) {
      this.#endAll(line, 'gone');
      return;
    }
    const { addresses, config } = found;
    const slots =
      config.concurrency === null ? Number.POSITIVE_INFINITY : addresses.length * config.concurrency;
    if (addresses.length === 0) return;
    // Other fronts hold requests for the same slots.
    const own = Math.max(1, Math.floor(slots * this.#options.wants.shareOf(line)));
    const oldest = [...line.waiting].sort((a, b) => a.order - b.order);
    for (const waiter of oldest.slice(0, Math.max(0, own - line.running)))
      waiter.give(this.#begin(line, addresses));
  }

  #begin(line: Line, addresses: readonly string[]): Turn {
    line.running++;
    let isOver = false;
    return {
      addresses,
      leave: ({ isRefused = false } = {}) => {
        if (isOver) return;
        isOver = true;
        line.running--;
        this.#forget(line);
        if (isRefused) this.#pause(line);
        else void this.#serve(line);
      },
    };
  }

  #pause(line: Line): void {
    line.pausedUntil = this.#clock.now() + PAUSE_MS;
    this.#clock.after(PAUSE_MS, () => void this.#serve(line));
  }

  #endAll(line: Line, reason: HoldEnd): void {
    for (const waiter of [...line.waiting]) waiter.give(reason);
  }
}
