/** Answers as vLLM 0.32 writes them: the simulator's own, with the fields that it adds and without those that it leaves out. */
import { type Frame, makeAnswerId, readUnixSeconds } from './answer.ts';
import { type Fields, isObject } from './fields.ts';
import { dressItem, dressResponse, NO_TRANSFER } from './vllm-responses.ts';

const FINGERPRINT = { system_fingerprint: 'vllm-0.32.0-simulator' };
const NO_PROMPT = { prompt_token_ids: null, prompt_text: null };

export function dressBody(body: Fields): Fields {
  switch (body.object ?? body.type) {
    case 'chat.completion':
      return { ...dressChoices(body, dressMessage), prompt_logprobs: null, ...NO_PROMPT };
    case 'text_completion':
      return dressChoices(body, (choice) => ({ ...choice, prompt_logprobs: null, prompt_token_ids: null }));
    case 'response':
      return dressResponse(body);
    case 'message':
      return dropStop(body);
    case 'list':
      return 'usage' in body
        ? dressVectors(body)
        : { ...body, data: (body.data as Fields[]).map(dressModel) };
    default:
      if (Array.isArray(body.results))
        return { ...body, results: (body.results as Fields[]).map(dressRanked) };
      return 'input_tokens' in body
        ? { ...body, context_management: { original_input_tokens: body.input_tokens } }
        : body;
  }
}

/** Its log probabilities do not tell of a refusal. */
function dressLogprobs(logprobs: unknown): unknown {
  if (!isObject(logprobs)) return logprobs;
  const { refusal: _, ...rest } = logprobs;
  return rest;
}

function dressChoices(body: Fields, dress: (choice: Fields) => Fields): Fields {
  const choices = (body.choices as Fields[]).map((choice) => ({
    ...dress(choice),
    stop_reason: choice.stop_reason ?? null,
    token_ids: null,
    routed_experts: null,
  }));
  const usage = {
    ...(body.usage as Fields),
    prompt_tokens_details: {
      ...detailsOf(body.usage as Fields, body.object === 'chat.completion' ? 0 : null),
      multimodal_tokens: null,
    },
    completion_tokens_details: null,
  };
  return { ...body, choices, usage, service_tier: null, ...FINGERPRINT, ...NO_TRANSFER, metrics: null };
}

/** `created`: tokens that the prompt added to the cache. */
const detailsOf = ({ prompt_tokens_details: details }: Fields, created?: number | null): Fields => ({
  cached_tokens: isObject(details) ? details.cached_tokens : 0,
  ...(created !== undefined && { created_cache_tokens: created }),
});

const dressMessage = (choice: Fields): Fields => ({
  ...choice,
  logprobs: dressLogprobs(choice.logprobs),
  message: {
    content: null,
    ...(choice.message as Fields),
    annotations: null,
    audio: null,
    function_call: null,
    reasoning: null,
  },
});

/** The last text of an answer that is cut has the finish reason; other ends have a frame of their own. The last frame has a fingerprint. */
export function* dressFrames(frames: Iterable<Frame>): Generator<Frame> {
  let held: Frame | null = null;
  let usage: Fields = {};
  for (const { step, data: plain } of frames) {
    const data = plain as Fields;
    if (data.type === 'ping') continue;
    if (data.type === 'message_start') usage = (data.message as Fields).usage as Fields;
    if (data.type === 'message_delta') data.usage = { ...usage, ...(data.usage as Fields) };
    const joined: Fields | null = held && joinFinish(held.data as Fields, data);
    if (held && !joined) yield dressFrame(held);
    held = { step, data: joined ?? data };
  }
  if (!held) return;
  const last = dressFrame(held);
  yield 'choices' in last.data ? { ...last, data: { ...last.data, ...FINGERPRINT } } : last;
}

function joinFinish(before: Fields, { choices: after, usage }: Fields): Fields | null {
  const [one, next] = [onlyOf(before.choices), onlyOf(after)];
  if (!one || !next || one.index !== next.index || next.finish_reason !== 'length') return null;
  const isText = isObject(one.delta) ? 'content' in one.delta && !('role' in one.delta) : one.text !== '';
  const isEmpty = isObject(next.delta) ? Object.keys(next.delta).length === 0 : next.text === '';
  if (!isText || !isEmpty) return null;
  return {
    ...before,
    ...(usage !== undefined && { usage }),
    choices: [{ ...one, finish_reason: next.finish_reason }],
  };
}

const onlyOf = (choices: unknown): Fields | undefined =>
  Array.isArray(choices) && choices.length === 1 ? (choices[0] as Fields) : undefined;

function dressFrame({ step, data }: Frame): Frame {
  const fields = data as Fields;
  if (fields.object === 'chat.completion.chunk') return { step, data: dressChunk(fields) };
  if (fields.object === 'text_completion') return { step, data: dressText(fields) };
  return { step, data: dressEvent(fields) };
}

function dressChunk(chunk: Fields): Fields {
  const [choice] = chunk.choices as Fields[];
  if (!choice) return { ...chunk, usage: dressUsage(chunk, 0) };
  const usage = chunk.usage !== undefined && {
    usage: { ...withoutDetails(chunk.usage as Fields), completion_tokens_details: null },
  };
  if ('role' in (choice.delta as Fields)) return { ...chunk, ...usage, ...NO_PROMPT };
  return {
    ...chunk,
    ...usage,
    choices: [
      {
        ...choice,
        delta: dressDelta(choice.delta as Fields),
        logprobs: dressLogprobs(choice.logprobs),
        ...(choice.finish_reason !== null && { stop_reason: choice.stop_reason ?? null }),
        token_ids: null,
      },
    ],
  };
}

const withoutDetails = ({ prompt_tokens_details: _, ...usage }: Fields): Fields => usage;

const dressUsage = ({ usage }: Fields, created?: number): Fields => ({
  ...(usage as Fields),
  prompt_tokens_details: detailsOf(usage as Fields, created),
});

function dressDelta(delta: Fields): Fields {
  if (!Array.isArray(delta.tool_calls)) return delta;
  const calls = (delta.tool_calls as Fields[]).map((call) => {
    const { name, arguments: text } = call.function as Fields;
    return { ...call, function: name === undefined ? { arguments: text } : { name } };
  });
  return { ...delta, content: null, tool_calls: calls };
}

function dressText(frame: Fields): Fields {
  const [choice] = frame.choices as Fields[];
  if (!choice) return { ...frame, usage: dressUsage(frame) };
  return { ...frame, choices: [{ ...choice, stop_reason: null, prompt_token_ids: null, token_ids: null }] };
}

function dressEvent(event: Fields): Fields {
  if (isObject(event.response)) {
    const response = dressResponse(event.response);
    // A response that was cut is told as completed.
    const type = event.type === 'response.incomplete' ? 'response.completed' : event.type;
    return { ...event, type, response };
  }
  if (isObject(event.item)) return { ...event, item: dressItem(event.item) };
  if (event.type === 'response.content_part.done')
    return { ...event, part: { ...(event.part as Fields), logprobs: null } };
  if (event.type === 'message_start') {
    const message = event.message as Fields;
    const { input_tokens } = message.usage as Fields;
    return { ...event, message: { ...message, usage: { input_tokens, output_tokens: 0 } } };
  }
  return event;
}

/** It names no stop sequence where none ended the message. */
const dropStop = ({ stop_sequence: stop, ...message }: Fields): Fields => ({
  ...message,
  ...(stop !== null && { stop_sequence: stop }),
});

const dressRanked = (result: Fields): Fields => ({
  ...result,
  document: { ...(result.document as Fields), multi_modal: null },
});

const NO_DETAILS = { prompt_tokens_details: null, completion_tokens_details: null };

function dressVectors(body: Fields): Fields {
  const isEmbedding = (body.data as Fields[])[0]?.object === 'embedding';
  return {
    ...(isEmbedding && { id: makeAnswerId('embd'), created: readUnixSeconds() }),
    ...body,
    usage: { ...(body.usage as Fields), completion_tokens: 0, ...NO_DETAILS },
  };
}

const dressModel = (entry: Fields): Fields =>
  entry.object === 'model'
    ? {
        ...entry,
        owned_by: 'vllm',
        permission: [
          {
            id: `modelperm-${String(entry.id)}`,
            object: 'model_permission',
            created: entry.created,
            allow_create_engine: false,
            allow_sampling: true,
            allow_logprobs: true,
            allow_search_indices: false,
            allow_view: true,
            allow_fine_tuning: false,
            organization: '*',
            group: null,
            is_blocking: false,
          },
        ],
      }
    : entry;
