/** vLLM 0.32's habits with text, as test/engines/recordings/vllm.json has them. */
import type { Chat } from './chat.ts';
import { EngineError } from './errors.ts';
import { type Fields, isObject } from './fields.ts';
import type { ParsedForm } from './form-body.ts';
import type { ParsedBody } from './request-body.ts';
import type { AnswerHabits, TextHabits } from './text-habits.ts';
import { dressBody, dressFrames } from './vllm-answers.ts';
import {
  readCount,
  readDetokenize,
  readEmbedding,
  readMessage,
  readRerank,
  readResponse,
  readScore,
  readTokenize,
} from './vllm-dialects.ts';
import { refuseInput } from './vllm-fields.ts';
import { readChat, readCompletion, refuseLength } from './vllm-requests.ts';

const READERS: Record<string, TextHabits['read']> = {
  '/v1/chat/completions': (_, body, context) => readChat(body, context),
  '/v1/completions': (_, body, context) => readCompletion(body, context),
  '/v1/responses': (_, body, context) => readResponse(body, context),
  '/v1/messages': (_, body, context) => readMessage(body, context),
  '/v1/messages/count_tokens': (_, body) => readCount(body),
  '/v1/embeddings': (_, body, context) => readEmbedding(body, context),
  '/v1/rerank': (_, body, context) => readRerank(body, context),
  '/v1/score': (_, body) => readScore(body),
  '/tokenize': (_, body) => readTokenize(body),
  '/detokenize': (_, body) => readDetokenize(body),
};

/** What cannot be read, before the route sees it. */
function checkContent(contentType: string | undefined, body: ParsedBody | ParsedForm): void {
  if (!contentType?.startsWith('application/json'))
    throw new EngineError(
      400,
      'Bad Request',
      "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed",
    );
  if (!body.ok) {
    if (body.text === '') throw refuseInput('missing', [], 'Field required', null);
    const end = Buffer.byteLength(body.text);
    throw refuseInput('json_invalid', [end], 'JSON decode error', {}, [
      `'ctx': {'error': 'Expecting value'}`,
    ]);
  }
  if (!isObject(body.value))
    throw refuseInput(
      'model_attributes_type',
      [],
      'Input should be a valid dictionary or object to extract fields from',
      body.value,
    );
}

/** Anthropic's envelope, but not for what its validation library refuses; routes that there are not in that of its framework. */
function describeError(error: EngineError, path: string): object {
  const { status, type, message } = error;
  if (type === 'Not Found' || type === 'Method Not Allowed') return { detail: message };
  return path.startsWith('/v1/messages') && !(status === 400 && type === 'Bad Request')
    ? { type: 'error', error: { type, message } }
    : error.toBody();
}

/** A named tool ends a chat like a text. Calls come with an empty text. */
function finishChat({ tool_choice: choice, stream }: Fields, chat: Chat): Chat {
  if (chat.choices.every(({ toolCalls }) => toolCalls.length === 0)) return chat;
  const choices = chat.choices.map((each) => ({
    ...each,
    ...(isObject(choice) && { finish: 'stop' as const }),
    ...(stream !== true && choice !== 'auto' && { tokens: [''] }),
  }));
  return { ...chat, choices };
}

export const VLLM_TEXT: TextHabits = {
  checkContent,
  describeError,
  read: (path, body, context) => READERS[path]?.(path, body, context) ?? body,
  refuseLength,
  finishChat,
};

export const VLLM_ANSWERS: AnswerHabits = { dressBody: (body) => dressBody(body as Fields), dressFrames };
