/** The inference routes, and what each call of theirs goes through: received, recorded, served. */
import { describeAnthropicError, planCount, planMessage } from './anthropic.ts';
import { type Call, ClientDisconnectedError } from './call.ts';
import { planChat } from './chat-completions.ts';
import { planCompletion } from './completions.ts';
import { planEmbedding } from './embeddings.ts';
import type { Engine } from './engine.ts';
import { EngineError, refuseLoading } from './errors.ts';
import type { Exchange, InferenceRoute } from './exchange.ts';
import { isObject } from './fields.ts';
import { isForm, readForm } from './form-body.ts';
import { serveEdit, serveGeneration } from './images.ts';
import { peekConversation } from './messages.ts';
import { parseJSON, readBody } from './request-body.ts';
import { planRank, planRerank, planScore } from './rerank.ts';
import { peekInputItems, planResponse } from './responses.ts';
import { requireAwake } from './sleep.ts';
import { serveSpeech } from './speech.ts';
import { describeErrorOfTEI } from './tei.ts';
import { peekInput } from './text-input.ts';
import { serveText } from './text-route.ts';
import { planDecode, planDetokenize, planTokenize } from './tokenizer.ts';
import { planTranscription } from './transcriptions.ts';
import { serveSubmission } from './videos.ts';

const TOKENIZED = ['LLM', 'Embedding', 'Rerank'] as const;

export const INFERENCE_ROUTES: ReadonlyMap<string, InferenceRoute> = new Map<string, InferenceRoute>([
  [
    '/v1/chat/completions',
    {
      kinds: ['LLM'],
      name: 'Chat Completions',
      peek: (body) => peekConversation(body.messages),
      serve: serveText(planChat),
    },
  ],
  [
    '/v1/completions',
    {
      kinds: ['LLM'],
      name: 'Completions',
      peek: (body) => peekInput(body.prompt),
      serve: serveText(planCompletion),
    },
  ],
  [
    '/v1/responses',
    {
      kinds: ['LLM'],
      name: 'Responses',
      peek: (body) => peekConversation(peekInputItems(body.input)),
      serve: serveText(planResponse),
    },
  ],
  [
    '/v1/messages',
    {
      kinds: ['LLM'],
      name: 'Messages',
      peek: (body) => peekConversation(body.messages),
      describeError: describeAnthropicError,
      serve: serveText(planMessage),
    },
  ],
  [
    '/v1/messages/count_tokens',
    {
      kinds: ['LLM'],
      name: 'Messages',
      peek: (body) => peekConversation(body.messages),
      describeError: describeAnthropicError,
      serve: serveText(planCount),
    },
  ],
  [
    '/v1/embeddings',
    {
      kinds: ['Embedding'],
      name: 'Embeddings',
      peek: (body) => peekInput(body.input) ?? peekConversation(body.messages),
      serve: serveText(planEmbedding),
    },
  ],
  [
    '/v1/rerank',
    {
      kinds: ['Rerank'],
      name: 'Rerank',
      peek: (body) => peekInput(body.query),
      serve: serveText(planRerank),
    },
  ],
  [
    '/rerank',
    {
      kinds: ['Rerank'],
      name: 'Rerank',
      peek: (body) => peekInput(body.query),
      describeError: describeErrorOfTEI,
      serve: serveText(planRank),
    },
  ],
  [
    '/v1/score',
    {
      kinds: ['Rerank'],
      name: 'Score',
      peek: (body) => peekInput(body.text_1 ?? body.queries),
      serve: serveText(planScore),
    },
  ],
  [
    '/tokenize',
    {
      kinds: TOKENIZED,
      name: 'Tokenize',
      peek: (body) => peekInput(body.prompt ?? body.inputs) ?? peekConversation(body.messages),
      serve: serveText(planTokenize),
    },
  ],
  [
    '/detokenize',
    {
      kinds: TOKENIZED,
      name: 'Detokenize',
      peek: (body) => peekInput(body.tokens),
      serve: serveText(planDetokenize),
    },
  ],
  [
    '/decode',
    {
      kinds: TOKENIZED,
      name: 'Decode',
      peek: (body) => peekInput(body.ids),
      describeError: describeErrorOfTEI,
      serve: serveText(planDecode),
    },
  ],
  [
    '/v1/audio/transcriptions',
    {
      kinds: ['Transcription'],
      name: 'Transcriptions',
      takesForms: true,
      peek: (body) => peekInput(body.prompt),
      serve: serveText(planTranscription('transcribe')),
    },
  ],
  [
    '/v1/audio/translations',
    {
      kinds: ['Transcription'],
      name: 'Translations',
      takesForms: true,
      peek: (body) => peekInput(body.prompt),
      serve: serveText(planTranscription('translate')),
    },
  ],
  [
    '/v1/audio/speech',
    {
      kinds: ['Speech'],
      name: 'Speech',
      peek: (body) => peekInput(body.input),
      serve: serveSpeech,
    },
  ],
  [
    '/v1/images/generations',
    {
      kinds: ['Image'],
      name: 'Image Generation',
      peek: (body) => peekInput(body.prompt),
      serve: serveGeneration,
    },
  ],
  [
    '/v1/images/edits',
    {
      kinds: ['Image'],
      name: 'Image Edit',
      takesForms: true,
      peek: (body) => peekInput(body.prompt),
      serve: serveEdit,
    },
  ],
  [
    '/v1/videos',
    {
      kinds: ['Video'],
      name: 'Videos',
      takesForms: true,
      peek: (body) => peekInput(body.prompt),
      serve: serveSubmission,
    },
  ],
]);

export interface Arrival {
  engine: Engine;
  call: Call;
  /** One of the table's. */
  path: string;
  release: () => void;
}

/** Responds to the call in every case. */
export async function serveInference({ engine, call, path, release }: Arrival): Promise<void> {
  const route = INFERENCE_ROUTES.get(path)!;
  const { request } = call;
  const body =
    route.takesForms && isForm(request) ? await readForm(request) : parseJSON(await readBody(request));
  const exchange = { engine, call, route, body, release };
  record(exchange, path);
  if (!engine.isLoaded) throw refuseLoading();
  await requireAwake(engine, call);
  await route.serve(exchange);
}

function record({ engine, call, route, body }: Exchange, path: string): void {
  const { method, headers } = call.request;
  const prompt = body.ok && isObject(body.value) ? route.peek(body.value) : undefined;
  engine.activity.record({ method: method!, path, headers, body: showBody(body) }, prompt);
}

function showBody(body: Exchange['body']): unknown {
  if (!body.ok) return body.text;
  return 'shown' in body ? body.shown : body.value;
}

/** Converts a call's error to its response. */
export function answerFailure(call: Call, error: unknown): void {
  if (error instanceof ClientDisconnectedError || call.response.headersSent || call.response.destroyed) {
    if (!call.response.writableEnded) call.response.destroy();
    return;
  }
  const refusal =
    error instanceof EngineError ? error : new EngineError(500, 'InternalServerError', String(error));
  if (refusal.status === 413) call.response.setHeader('connection', 'close');
  call.sendRefusal(refusal);
}
