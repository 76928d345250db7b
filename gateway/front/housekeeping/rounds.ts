/** Visits all workspaces periodically in short turns: one that fails or is slow does not delay the others. */
import { PeriodicTask } from '../../../kit/periodic-task.ts';

export interface RoundsOptions {
  list: () => Promise<readonly string[]>;
  /** One bounded step; true = there is more to do at once. */
  visit: (namespace: string) => Promise<boolean>;
  /** `namespace` is null if the list could not be read. */
  onError: (error: unknown, namespace: string | null) => void;
  /** From the end of a round to the start of the next one. */
  intervalMs: number;
}

const MAX_CONCURRENT_VISITS = 16;
/** Per workspace and round, so that a round ends and new workspaces are found. */
const MAX_STEPS_PER_ROUND = 50;

export class Rounds {
  readonly #options: RoundsOptions;
  readonly #task: PeriodicTask;
  #isClosed = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#task = new PeriodicTask({
      run: () => this.#run(),
      intervalMs: options.intervalMs,
      onError: (error) => options.onError(error, null),
    });
    this.#task.start();
  }

  /** Resolves when the steps in progress have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#task.stop();
  }

  async #run(): Promise<void> {
    const namespaces = await this.#options.list();
    // A workspace with more to do goes to the end of the queue.
    const turns = namespaces.map((namespace) => ({ namespace, left: MAX_STEPS_PER_ROUND }));
    await Promise.all(Array.from({ length: MAX_CONCURRENT_VISITS }, () => this.#visitAll(turns)));
  }

  async #visitAll(turns: { namespace: string; left: number }[]): Promise<void> {
    const { visit, onError } = this.#options;
    for (let turn = turns.shift(); turn && !this.#isClosed; turn = turns.shift()) {
      const { namespace, left } = turn;
      const hasMore = await visit(namespace).catch((error) => {
        onError(error, namespace);
        return false;
      });
      if (hasMore && left > 1) turns.push({ namespace, left: left - 1 });
    }
  }
}
