/** How engines abort calls in flight, at SIGTERM in any of the ways that occur. */
import { type Answer, type Frame, sumUsage } from './answer.ts';
import type { Call } from './call.ts';
import type { Engine } from './engine.ts';
import { EngineError } from './errors.ts';
import { type Fields, isObject } from './fields.ts';
import { endFrames, formatEvent, formatFailure, formatFrame, LAST_FRAME } from './sse.ts';

const WAYS = ['finish', 'silence', 'error'] as const;
const ABORTED = new EngineError(
  500,
  'InternalServerError',
  'The request was aborted: the engine shuts down.',
);

/** Ends a stream before the frame `next`; each call in the next of the ways. */
export async function abortStream(engine: Engine, call: Call, { next, answer }: Interruption): Promise<void> {
  if (engine.isHanging) return call.waitForClose();
  const isNamed = answer.isNamed ?? false;
  switch (WAYS[engine.countAborted() % WAYS.length]!) {
    case 'finish':
      return endAborted(call, { next, answer });
    case 'error':
      return endFrames(call, formatFailure(ABORTED.toBody(), ABORTED, isNamed));
    case 'silence':
      return call.waitForClose();
  }
}

interface Interruption {
  /** The frame that would have been next. */
  next: Frame;
  answer: Answer;
}

/** Ends a stream in its dialect, as an end that says that it is none. */
export function endAborted(call: Call, { next, answer }: Interruption): void {
  const text = answer.isNamed
    ? endEvents(answer.buildBody() as Fields, next.data as Fields)
        .map(formatEvent)
        .join('')
    : [markAborted(next.data), ...listUsage(next, answer)].map(formatFrame).join('') + LAST_FRAME;
  endFrames(call, text);
}

/** The frame of the usage of one choice so far, where the stream would have ended with such a frame. */
function listUsage({ step, data }: Frame, { frames, usage }: Answer): object[] {
  const last = [...frames!()].at(-1)!.data;
  if (hasChoices(last) || !hasChoices(data)) return [];
  const tokens = beginsChoice(data) ? 0 : step + 1;
  const cached = usage.prompt_tokens_details?.cached_tokens;
  return [{ ...last, usage: sumUsage(usage.prompt_tokens, tokens, cached) }];
}

const readChoices = (data: object): unknown[] => (data as { choices?: unknown[] }).choices ?? [];
const hasChoices = (data: object): boolean => readChoices(data).length > 0;
const beginsChoice = (data: object): boolean =>
  readChoices(data).some((choice) => isObject(choice) && isObject(choice.delta) && 'role' in choice.delta);

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
