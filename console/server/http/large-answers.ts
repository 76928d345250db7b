/** Limits large responses in memory, from their first row until they are sent (decision 0308). */
import { once } from 'node:events';
import type { Context } from 'koa';
import { ConcurrencyLimit } from '../../../kit/concurrency-limit.ts';
import { ConsoleError } from './error.ts';
import { StreamSlots } from './stream-slots.ts';

/** Limit per workspace, to leave room for others. */
const AT_ONCE = { all: 8, each: 2 };
/** Waiting included; further ones are refused. */
const MAX_OPEN = { all: 256, each: 32 };
/** Slower clients are disconnected, to free their slot. */
const SEND_MS = 30_000;

export class LargeAnswers {
  readonly #slots = new StreamSlots(MAX_OPEN);
  readonly #limit = new ConcurrencyLimit(AT_ONCE.all, { perOwner: AT_ONCE.each });

  /** What `make` returns when it is the workspace's turn. Throws rate_limit_exceeded, and what `make` throws. */
  answer<T>(res: Context['res'], namespace: string, make: () => Promise<T>): Promise<T> {
    this.#slots.takeFor(res, namespace);
    return new Promise((resolve, reject) => {
      const run = async () => {
        if (res.closed) throw new ConsoleError('client_left', 'The client disconnected.');
        resolve(await make());
        await sent(res);
      };
      this.#limit.run(run, namespace).catch(reject);
    });
  }
}

async function sent(res: Context['res']): Promise<void> {
  if (res.closed) return;
  const late = setTimeout(() => res.destroy(), SEND_MS);
  await once(res, 'close');
  clearTimeout(late);
}
