/**
 * Senders of tiny pieces take turns: what one sends at once takes milliseconds, and in each turn of the event loop only one of them goes
 * on, so all others are served in between.
 */

/** An honest sender has fewer in one turn of the event loop. */
export const MAX_PIECES_PER_TURN = 1_024;

const waiting: (() => void)[] = [];

/** Calls `proceed` in a later turn of the event loop, after those that wait already. */
export function awaitPieceTurn(proceed: () => void): void {
  waiting.push(proceed);
  if (waiting.length === 1) setImmediate(takeTurn);
}

function takeTurn(): void {
  const proceed = waiting.shift()!;
  if (waiting.length > 0) setImmediate(takeTurn);
  proceed();
}
