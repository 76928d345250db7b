/** Answers as llama.cpp's server (build 11669) writes them: without fields that are null, with times of its work. */
import type { Frame } from './answer.ts';
import type { EngineError } from './errors.ts';
import { type Fields, isObject } from './fields.ts';
import type { AnswerHabits } from './text-habits.ts';

const FINGERPRINT = { system_fingerprint: 'b11669-simulator' };
const TIMINGS = {
  timings: {
    cache_n: 0,
    prompt_n: 1,
    prompt_ms: 1,
    prompt_per_token_ms: 1,
    prompt_per_second: 1000,
    predicted_n: 1,
    predicted_ms: 1,
    predicted_per_token_ms: 1,
    predicted_per_second: 1000,
  },
};

function dressBody(body: Fields): Fields {
  switch (body.object ?? body.type) {
    case 'chat.completion':
    case 'text_completion':
      return { ...dressChoices(body), usage: dressUsage(body.usage), ...TIMINGS };
    case 'message':
      return { ...body, usage: dropWritten(body.usage) };
    default:
      return Array.isArray(body.results) ? dressRanking(body) : body;
  }
}

const dressChoices = (body: Fields): Fields => ({
  ...body,
  choices: (body.choices as Fields[]).map(dressChoice),
  ...FINGERPRINT,
});

function dressChoice({ stop_reason: _, logprobs, ...choice }: Fields): Fields {
  if ('text' in choice) return { ...choice, logprobs };
  const { message, delta } = choice;
  return {
    ...choice,
    ...(isObject(message) && { message: dropRefusal(message) }),
    ...(isObject(delta) && 'role' in delta && { delta: { ...delta, content: null } }),
    ...(logprobs !== null && logprobs !== undefined && { logprobs }),
  };
}

const dropRefusal = ({ refusal: _, ...message }: Fields): Fields => message;

const dressUsage = (usage: unknown): Fields => ({
  prompt_tokens_details: { cached_tokens: 0 },
  ...(usage as Fields),
});

const dropWritten = (usage: unknown): Fields => {
  const { cache_creation_input_tokens: _, ...rest } = usage as Fields;
  return rest;
};

const dressRanking = ({ id: _, results, ...body }: Fields): Fields => ({
  ...body,
  object: 'list',
  results: (results as Fields[]).map(({ index, relevance_score }) => ({ index, relevance_score })),
});

function* dressFrames(frames: Iterable<Frame>): Generator<Frame> {
  let held: Frame | null = null;
  for (const { step, data } of frames) {
    if ((data as Fields).type === 'ping') continue;
    if (held) yield held;
    held = { step, data: dressFrame(data as Fields) };
  }
  if (!held) return;
  yield 'choices' in held.data ? { ...held, data: { ...held.data, ...TIMINGS } } : held;
}

function dressFrame(frame: Fields): Fields {
  if (frame.type === 'message_start') {
    const message = frame.message as Fields;
    return { ...frame, message: { ...message, usage: dropWritten(message.usage) } };
  }
  if (!Array.isArray(frame.choices)) return frame;
  const { usage, ...rest } = dressChoices(frame);
  // It reports usage once, in a frame without choices.
  return frame.choices.length === 0 ? { ...rest, usage: dressUsage(usage) } : rest;
}

export function describeLlamaError({ status, message, type }: EngineError): object {
  if (type === 'Not Found')
    return { error: { code: status, message: 'File Not Found', type: 'not_found_error' } };
  return { error: { code: status, message, type: status === 400 ? 'invalid_request_error' : type } };
}

export const LLAMA_CPP_ANSWERS: AnswerHabits = {
  dressBody: (body) => dressBody(body as Fields),
  dressFrames,
};
