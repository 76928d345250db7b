/** Streams of a session: they end with it, with the permission, and with the client. */
import { ConsoleError } from '../http/error.ts';
import { endWith } from '../http/stream-end.ts';
import type { ApiContext } from './request-guards.ts';
import type { Sessions } from './sessions.ts';

/**
 * A signal that aborts at once when the session or the client is gone, and soon after
 * `isStillAllowed` is no longer true. Throws client_left if the client has already disconnected.
 */
export function endWithSession(
  ctx: Pick<ApiContext, 'res' | 'state'>,
  sessions: Pick<Sessions, 'isOpen' | 'onEnd'>,
  isStillAllowed: () => Promise<boolean>,
): AbortSignal {
  const session = ctx.state.session!;
  const mayGoOn = async () => (await sessions.isOpen(session)) && (await isStillAllowed());
  const isCut = endWith(ctx.res, mayGoOn);
  if (isCut.aborted) throw new ConsoleError('client_left', 'The client disconnected.');
  const hasEnded = new AbortController();
  ctx.res.once(
    'close',
    sessions.onEnd(session, () => hasEnded.abort()),
  );
  return AbortSignal.any([isCut, hasEnded.signal]);
}
