/** Samples deployments' demand every two seconds, and receives wake-ups: for the scaler, while it leads. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { channels } from '../../api/redis-keys.ts';
import type { Clock } from '../../kit/clock.ts';
import { PeriodicTask } from '../../kit/periodic-task.ts';
import type { Log } from '../../kube/log.ts';
import { isRedisAway, type RedisConnection } from '../../redis/client.ts';
import { MAX_KEYS, readDemand } from '../../redis/demand/demand.ts';
import { type Subscription, subscribe } from '../../redis/subscription.ts';
import type { ParsedStore } from '../framework/parsed-store.ts';
import type { ScalingHistory } from './history.ts';
import { SamplingSchedule } from './sampling-schedule.ts';
import type { Scaler } from './scaler.ts';

const INTERVAL_MS = 2_000;
const CONCURRENT_CALLS = 16;

export interface DemandSamplerOptions {
  scaler: Pick<
    Scaler,
    'begin' | 'countReplicas' | 'decide' | 'wake' | 'stop' | 'isScaled' | 'list' | 'sortByWait'
  >;
  history: Pick<ScalingHistory, 'observe' | 'flush'>;
  models: Pick<ParsedStore<ModelDeployment>, 'namespaces' | 'keys'>;
  connection: RedisConnection;
  log: Log;
  /** Unix milliseconds. */
  now: () => number;
  clock?: Clock;
  read?: typeof readDemand;
  intervalMs?: number | undefined;
}

export class DemandSampler {
  readonly #options: DemandSamplerOptions;
  readonly #schedule = new SamplingSchedule();
  #subscription: Subscription | undefined;
  readonly #task: PeriodicTask;
  #isStopped = false;
  #isAway = false;

  constructor(options: DemandSamplerOptions) {
    this.#options = options;
    const { intervalMs = INTERVAL_MS, clock, log } = options;
    const onError = (error: Error) => log.error({ err: error }, 'sampling the demand failed');
    this.#task = new PeriodicTask({ run: () => this.sample(), intervalMs, onError, clock });
  }

  start(): void {
    const { scaler, connection } = this.#options;
    this.#subscription = subscribe(connection, [channels.wake], {
      onMessage: (key) => {
        this.#schedule.wake(key);
        scaler.wake(key);
      },
      // Redis still holds what was published meanwhile.
      onResume: () => this.#schedule.wakeAll(),
    });
    this.#task.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#options.scaler.stop();
    await this.#subscription?.close();
    await this.#task.stop();
  }

  /** One sample of all deployments that are due. */
  async sample(): Promise<void> {
    const { scaler, connection, now, log } = this.#options;
    // Without samples nothing is decided or changed.
    if (connection.state === 'away') return;
    const scaled = this.#listScaled();
    scaler.begin(scaled);
    const due = scaler.sortByWait(this.#schedule.listDue(scaled, now()));
    const calls = Array.from({ length: Math.ceil(due.length / MAX_KEYS) }, (_, index) =>
      due.slice(index * MAX_KEYS, (index + 1) * MAX_KEYS),
    );
    for (let start = 0; start < calls.length; start += CONCURRENT_CALLS)
      await Promise.all(calls.slice(start, start + CONCURRENT_CALLS).map((keys) => this.#scale(keys)));
    await this.#remember();
    if (this.#isAway && connection.state === 'up') log.info({}, 'demand is read again');
    this.#isAway = false;
  }

  /** For people: a failed write does not prevent scaling. */
  async #remember(): Promise<void> {
    const { scaler, history, log } = this.#options;
    history.observe(scaler.list());
    await history.flush().catch((error: Error) => {
      if (!isRedisAway(error)) log.warn({ err: error }, 'could not write the history of scaling');
    });
  }

  #listScaled(): Set<string> {
    const { models, scaler } = this.#options;
    const keys = [...models.namespaces()].flatMap((namespace) => [...models.keys(namespace)]);
    return new Set(keys.filter((key) => scaler.isScaled(key)));
  }

  async #scale(keys: readonly string[]): Promise<void> {
    const { scaler, connection, read = readDemand, now, log } = this.#options;
    const askedAt = now();
    try {
      const samples = await read(connection.redis, keys, (key) => scaler.countReplicas(key));
      for (const [key, sample] of samples)
        if (scaler.decide(key, sample, askedAt) === 'asleep') this.#schedule.sleep(key, now());
        else this.#schedule.wake(key);
    } catch (error) {
      if (this.#isStopped) return;
      const { message: reason } = error as Error;
      if (!isRedisAway(error)) log.warn({ reason }, 'could not read the demand for deployments');
      else if (!this.#isAway) log.warn({ reason }, 'demand cannot be read: nothing is scaled');
      this.#isAway ||= isRedisAway(error);
    }
  }
}
