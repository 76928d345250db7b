/** The SDK's HTTP handler, with a limit on responses, which it would read in full whatever their length. */
import { addAbortSignal, type Readable, Transform } from 'node:stream';
import { NodeHttpHandler } from '@smithy/node-http-handler';

/** More than any response that is asked for. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** From its headers to its end. */
const TIMEOUT_MS = 10_000;

type Handle = NodeHttpHandler['handle'];

export class BoundedHandler extends NodeHttpHandler {
  override async handle(...[request, options]: Parameters<Handle>): ReturnType<Handle> {
    const answer = await super.handle(request, options);
    const { response } = answer;
    if (response.body) response.body = bound(response.body as Readable);
    return answer;
  }
}

function bound(body: Readable): Readable {
  let left = MAX_ANSWER_BYTES;
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      left -= chunk.length;
      if (left < 0) callback(new Error('the answer is too long'));
      else callback(null, chunk);
    },
  });
  bounded.once('close', () => body.destroy());
  body.once('error', (error) => bounded.destroy(error));
  return addAbortSignal(AbortSignal.timeout(TIMEOUT_MS), body.pipe(bounded));
}
