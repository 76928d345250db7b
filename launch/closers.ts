/** Closes what was added, in reverse order, even if some fail. */
export class Closers {
  readonly #all: (() => unknown)[] = [];
  #isClosing = false;

  /** After closing, additions are closed at once and throw, so that nothing more is started. */
  add(close: () => unknown): void {
    if (!this.#isClosing) {
      this.#all.push(close);
      return;
    }
    void run(close);
    throw new Error('stopped during start-up');
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const close of this.#all.splice(0).reverse()) await run(close);
  }
}

async function run(close: () => unknown): Promise<void> {
  try {
    await close();
  } catch (error) {
    console.error('a part did not stop cleanly:', error);
  }
}
