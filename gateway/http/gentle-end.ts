/** The end of an answer that closes its connection while its client is still sending. */
import type { IncomingMessage, ServerResponse } from 'node:http';

const LINGER_MS = 2_000;

/**
 * Closes the connection only after what the client is still sending was read: an earlier close would reset the
 * connection, and the client would see that in the place of the answer.
 */
export function endGently(req: IncomingMessage, res: ServerResponse): void {
  const finish = () => {
    clearTimeout(timer);
    res.end();
  };
  const timer = setTimeout(finish, LINGER_MS);
  req.once('end', finish);
  res.once('close', () => clearTimeout(timer));
  // It flows on, too, where a reader lets go of it only later.
  req.on('data', () => {});
  req.resume();
}
