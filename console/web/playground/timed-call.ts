/** Calls whose duration the page shows. */

export interface Timed<T> {
  answer: T;
  tookMs: number;
}

/** As the browser sees it: with the way through the console. */
export async function timeCall<T>(call: () => Promise<T>): Promise<Timed<T>> {
  const sentAt = performance.now();
  const answer = await call();
  return { answer, tookMs: performance.now() - sentAt };
}
