/** What is to be closed at the end, the last first, whatever becomes of the others. */
export class Closers {
  readonly #all: (() => unknown)[] = [];
  #isClosing = false;

  /** What comes after the end is closed at once; throws then, so that nothing more is started. */
  add(close: () => unknown): void {
    if (!this.#isClosing) {
      this.#all.push(close);
      return;
    }
    void run(close);
    throw new Error('it was stopped while it started');
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
    console.error('a part was not stopped well:', error);
  }
}
