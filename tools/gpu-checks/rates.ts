/** For the record: how fast an endpoint is with one and with many clients, and whether those that left still cost it something. */
import { setTimeout as sleep } from 'node:timers/promises';
import { failed, findReason, judge, ms, type Outcome, passed, requireOk, timeOf } from './endpoint.ts';

const LEAVE_TIMEOUT_MS = 10_000;
/** Until the engine was notified. */
const ABORT_DELAY_MS = 1_000;

/** All requests are answered; `ask` resolves with how much its answer is worth, in `unit`. */
export async function measureRates(
  unit: string,
  ask: () => Promise<number>,
  clientCounts = [1, 16, 64],
): Promise<Outcome> {
  const rates: string[] = [];
  for (const clients of clientCounts) {
    const start = performance.now();
    const answers = await Promise.allSettled(Array.from({ length: clients }, ask));
    const seconds = (performance.now() - start) / 1_000;
    const good = answers.filter((answer) => answer.status === 'fulfilled');
    const worth = good.reduce((sum, { value }) => sum + value, 0);
    rates.push(`${clients} clients: ${Math.round(worth / seconds)} ${unit}/s, ${good.length} whole`);
    const reason = findReason(answers);
    if (reason) return failed([...rates, reason].join('; '));
  }
  return passed(rates.join('; '));
}

export interface Leaving {
  clients: number;
  /** A short request, answered to its end. */
  ask: () => Promise<unknown>;
  /** A long one, of which the client reads the beginning. */
  open: (signal: AbortSignal) => Promise<Response>;
}

/** The endpoint's own answers after clients left are as fast as before: the engine does not continue abandoned work. */
export async function checkLeaving({ clients, ask, open }: Leaving): Promise<Outcome> {
  const quiet = await timeOf(ask);
  const leaving = Array.from({ length: clients }, async () => {
    const client = new AbortController();
    const response = await open(client.signal);
    await (await requireOk(response)).body?.getReader().read();
    client.abort();
  });
  const refusal = findReason(await Promise.allSettled(leaving));
  if (refusal) return failed(`a client could not leave, since it was refused: ${refusal}`);
  await sleep(ABORT_DELAY_MS);
  const after = await timeOf(ask);
  return judge(
    after < 2 * quiet + 100 && after < LEAVE_TIMEOUT_MS,
    `${ms(quiet)} before, ${ms(after)} after`,
  );
}
