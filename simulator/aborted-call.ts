/** How engines abort calls in flight at SIGTERM: any of the ways that occur. */
import type { Answer } from './answer.ts';
import type { Call } from './call.ts';
import type { Engine } from './engine.ts';
import { EngineError } from './errors.ts';
import type { Fields } from './fields.ts';
import { endFrames, formatEvent, formatFailure, formatFrame, LAST_FRAME } from './sse.ts';

const WAYS = ['finish', 'silence', 'error'] as const;
const ABORTED = new EngineError(
  500,
  'InternalServerError',
  'The request was aborted: the engine shuts down.',
);

/** Ends a stream before the frame `next`; each call in the next of the ways. */
export async function abortStream(
  engine: Engine,
  call: Call,
  { next, answer }: { next: object; answer: Answer },
): Promise<void> {
  if (engine.isHanging) return call.waitForClose();
  const isNamed = answer.isNamed ?? false;
  switch (WAYS[engine.countAborted() % WAYS.length]!) {
    case 'finish':
      if (!isNamed) return endFrames(call, formatFrame(markAborted(next)) + LAST_FRAME);
      return endFrames(
        call,
        endEvents(answer.buildBody() as Fields, next as Fields)
          .map(formatEvent)
          .join(''),
      );
    case 'error':
      return endFrames(call, formatFailure(ABORTED.toBody(), ABORTED, isNamed));
    case 'silence':
      return call.waitForClose();
  }
}

/** A response, or a frame of one, that ends with what was generated so far. */
export function markAborted(body: object): object {
  const { choices, object, type, stop_reason, ...rest } = body as Fields;
  if (type === 'message') return { type, ...rest };
  if (object === 'response') return { ...body, status: 'cancelled' };
  if (!Array.isArray(choices)) return body;
  return { ...body, choices: choices.map((choice) => ({ ...choice, finish_reason: 'abort' })) };
}

/** The last events of an event-based response. */
const endEvents = (body: Fields, next: Fields): Fields[] =>
  body.object === 'response'
    ? [{ type: 'response.completed', sequence_number: next.sequence_number, response: markAborted(body) }]
    : [
        { type: 'message_delta', delta: { stop_reason: null }, usage: { output_tokens: 0 } },
        { type: 'message_stop' },
      ];
