/** What becomes of calls in flight when an engine gets SIGTERM and does not let them end: any of the ways that occur. */
import type { Call } from './call.ts';
import type { Engine } from './engine.ts';
import { EngineError } from './errors.ts';
import { endFrames, formatFailure, formatFrame, LAST_FRAME } from './sse.ts';

const WAYS = ['finish', 'silence', 'error'] as const;
const ABORTED = new EngineError(
  500,
  'InternalServerError',
  'The request was aborted: the engine shuts down.',
);

/** Ends a stream of which `next` would have been the next frame; each call in the way that follows the last one's. */
export async function abortStream(
  engine: Engine,
  call: Call,
  { next, isNamed }: { next: object; isNamed: boolean },
): Promise<void> {
  switch (WAYS[engine.countAbortion() % WAYS.length]!) {
    case 'finish':
      // Named events have no word for it.
      if (!isNamed) return endFrames(call, formatFrame(markAborted(next)) + LAST_FRAME);
      return endFrames(call, formatFailure({}, ABORTED, isNamed));
    case 'error':
      return endFrames(call, formatFailure(ABORTED.toBody(), ABORTED, isNamed));
    case 'silence':
      return call.waitForClose();
  }
}

/** An answer, or a frame of one, that ends with what was said so far. */
export function markAborted(body: object): object {
  const { choices } = body as { choices?: object[] };
  if (!choices) return body;
  return { ...body, choices: choices.map((choice) => ({ ...choice, finish_reason: 'abort' })) };
}
