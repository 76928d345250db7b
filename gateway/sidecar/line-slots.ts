/** Which slots of this replica run lines of batches: those that nothing else needs. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { RedisClient } from '../../redis/client.ts';
import { BatchWorker } from '../batches/batch-worker.ts';
import type { LineRunner } from '../batches/line-runner.ts';
import type { EngineSleep } from '../capacity/engine-sleep.ts';
import type { Replica } from '../capacity/replica.ts';
import type { Slots } from '../capacity/replica-capacity.ts';
import type { LocalEngine } from '../health/local-engine.ts';
import type { StorageServices } from '../jobs/services.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Drain } from './drain.ts';

export interface LineSlotsOptions {
  config: () => GatewayConfig;
  redis: RedisClient;
  storage: StorageServices;
  log: Logger;
  slots: Slots;
  engine: Pick<LocalEngine, 'isReady'> & { sleep: Pick<EngineSleep, 'isAwake'> };
  replica: Pick<Replica, 'line' | 'countInEngine'>;
  drain: Pick<Drain, 'isDraining'>;
  runner: LineRunner;
  self: { pod: string };
}

export function startLines(options: LineSlotsOptions): BatchWorker {
  const { config, redis, storage, log, slots, engine, replica, drain, runner, self } = options;
  const pace = new LinePace(() => replica.countInEngine());
  const worker = new BatchWorker({
    ...{ redis, storage, log, runner },
    namespace: () => config().namespace,
    deployment: () => config().name,
    engine: {
      isOpen: () => {
        const { paused, deleting } = config();
        return engine.isReady() && engine.sleep.isAwake && !paused && !deleting && replica.line.size === 0;
      },
      isLeaving: () => drain.isDraining || config().cordoned.includes(self.pod),
      lend: (revoke) => {
        const release = slots.lend(pace.most, revoke);
        return release && pace.count(release);
      },
    },
  });
  slots.onFree(() => worker.fill());
  worker.wake();
  return worker;
}

const LEAST = 1;
const MOST = 64;
/** Engines that do not report what waits in them get no more. */
const MOST_UNKNOWN = 4;
const INITIAL = 4;

/**
 * How many requests an engine without a limit of its own may have for lines to be added: more with each line that ends while
 * nothing waits in the engine, half as many as soon as something does.
 */
export class LinePace {
  readonly #countWaiting: () => number | null;
  #most = INITIAL;
  #halvedAt = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;

  constructor(countWaiting: () => number | null, now: () => number = () => performance.now()) {
    this.#countWaiting = countWaiting;
    this.#now = now;
  }

  get most(): number {
    const waiting = this.#countWaiting();
    if (waiting === null) return Math.min(this.#most, MOST_UNKNOWN);
    if (waiting > 0 && this.#now() - this.#halvedAt > SETTLING_MS) {
      this.#halvedAt = this.#now();
      this.#most = Math.max(LEAST, Math.floor(this.#most / 2));
    }
    return waiting > 0 ? 0 : this.#most;
  }

  /** A line begins, and ends with its slot's release. */
  count(release: () => void): () => void {
    return () => {
      release();
      if (this.#countWaiting() === 0) this.#most = Math.min(MOST, this.#most + 1);
    };
  }
}

/** Reports of the engine lag behind. */
const SETTLING_MS = 5_000;
