/** Limits large responses in memory, from their first row until they are sent (decision 0308). */
import { once } from 'node:events';
import type { Context } from 'koa';
import { ConcurrencyLimit } from '../../../kit/concurrency-limit.ts';
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

  /** Runs `make` when it is the workspace's turn. Throws rate_limit_exceeded, and what `make` throws. */
  async answer(
    ctx: Pick<Context, 'res' | 'body'>,
    namespace: string,
    make: () => Promise<unknown>,
  ): Promise<void> {
    this.#slots.takeFor(ctx.res, namespace);
    await new Promise<void>((resolve, reject) => {
      const run = async () => {
        if (ctx.res.closed) return;
        ctx.body = await make();
        resolve();
        await sent(ctx.res);
      };
      this.#limit.run(run, namespace).then(resolve, reject);
    });
  }
}

async function sent(res: Context['res']): Promise<void> {
  if (res.closed) return;
  const late = setTimeout(() => res.destroy(), SEND_MS);
  await once(res, 'close');
  clearTimeout(late);
}
