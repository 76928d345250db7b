/** Shows the current step and the number of remaining ones on standard error. */

export interface Progress {
  /** Announces the next step. */
  step(what: string): void;
  done(what: string): void;
}

export function startProgress(total: number): Progress {
  const start = performance.now();
  let current = 0;
  return {
    step: (what) => console.error(`[${++current}/${total}] ${what}`),
    done: (what) => console.error(`${what} (${Math.round((performance.now() - start) / 1000)} s)`),
  };
}
