/** Tests that mostly wait, each with parts of its own, go on at the same time: together they take as long as the longest. */

/** Called behind all other `before` hooks; answers what is used in place of `it`. */
export function runSideBySide(): (title: string, run: () => Promise<void>) => void {
  const starts = new Map<string, () => Promise<void>>();
  const running = new Map<string, Promise<void>>();
  before(() => {
    for (const [title, start] of starts) {
      const ended = start();
      // Its own test reports it.
      ended.catch(() => {});
      running.set(title, ended);
    }
  });
  return (title, run) => {
    starts.set(title, run);
    it(title, () => running.get(title));
  };
}
