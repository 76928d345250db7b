/** Visits all workspaces periodically in short turns: one that fails or is slow does not delay the others. */

export interface RoundsOptions {
  list: () => Promise<readonly string[]>;
  /** One bounded step; true = there is more to do at once. */
  visit: (namespace: string) => Promise<boolean>;
  /** `namespace` is null if the list could not be read. */
  onError: (error: unknown, namespace: string | null) => void;
  /** Between the starts of two rounds. */
  intervalMs: number;
}

const MAX_CONCURRENT_VISITS = 16;
/** Per workspace and round, so that a round ends and new workspaces are found. */
const MAX_STEPS_PER_ROUND = 50;

export class Rounds {
  readonly #options: RoundsOptions;
  readonly #timer: NodeJS.Timeout;
  #round: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#begin(), options.intervalMs);
    this.#timer.unref();
    this.#begin();
  }

  /** Resolves when the steps in progress have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#round;
  }

  #begin(): void {
    this.#round ??= this.#run().finally(() => {
      this.#round = null;
    });
  }

  async #run(): Promise<void> {
    const { list, onError } = this.#options;
    try {
      // A workspace with more to do goes to the end of the queue.
      const turns = (await list()).map((namespace) => ({ namespace, left: MAX_STEPS_PER_ROUND }));
      await Promise.all(Array.from({ length: MAX_CONCURRENT_VISITS }, () => this.#visitAll(turns)));
    } catch (error) {
      onError(error, null);
    }
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
