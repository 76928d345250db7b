/** One inference call from its body to its answer: recorded, checked, planned, queued, delivered. */
import type { Planner } from './answer.ts';
import { type Call, ClientGone } from './call.ts';
import { planChat } from './chat.ts';
import { planCompletion } from './completions.ts';
import { deliver } from './delivery.ts';
import { planEmbedding } from './embeddings.ts';
import type { Engine, Kind } from './engine.ts';
import { EngineError, refuse, refuseField, refuseLoading, refuseModel } from './errors.ts';
import { strike } from './faults.ts';
import { type Fields, isObject } from './fields.ts';
import { peekConversation } from './messages.ts';
import { type ParsedBody, parseJSON, readBody } from './request-body.ts';
import { peekInput } from './text-input.ts';

export interface InferenceRoute {
  kind: Kind;
  /** As an engine's message calls it. */
  name: string;
  plan: Planner;
  /** The prompt, as the control port shows it. */
  peek: (body: Fields) => string | undefined;
}

export const INFERENCE_ROUTES: ReadonlyMap<string, InferenceRoute> = new Map([
  [
    '/v1/chat/completions',
    {
      kind: 'LLM',
      name: 'Chat Completions',
      plan: planChat,
      peek: (body) => peekConversation(body.messages),
    },
  ],
  [
    '/v1/completions',
    { kind: 'LLM', name: 'Completions', plan: planCompletion, peek: (body) => peekInput(body.prompt) },
  ],
  [
    '/v1/embeddings',
    { kind: 'Embedding', name: 'Embeddings', plan: planEmbedding, peek: (body) => peekInput(body.input) },
  ],
]);

/** Answers the call, whatever happens; the path is one of the table's. */
export async function serveInference(engine: Engine, call: Call, path: string): Promise<void> {
  const route = INFERENCE_ROUTES.get(path)!;
  const body = parseJSON(await readBody(call.request));
  record(engine, call, { path, route, body });
  if (!engine.isLoaded) throw refuseLoading();
  const fault = engine.settings.takeFault();
  const breaking = fault && strike(call, fault, engine.options.exit);
  if (fault && !breaking) return;

  const fields = checkBody(engine, route, body);
  const { ttftMs, itlMs, tokens } = engine.settings.current;
  const answer = route.plan(fields, { model: engine.options.model, tokens });
  await call.waitForSlot(engine.slots);
  try {
    await deliver(call, answer, { ttftMs, itlMs }, breaking);
    const { totals } = engine.activity;
    totals.answered++;
    totals.promptTokens += answer.usage.prompt_tokens;
    totals.completionTokens += answer.usage.completion_tokens;
  } finally {
    engine.slots.leave();
  }
}

function record(
  engine: Engine,
  call: Call,
  { path, route, body }: { path: string; route: InferenceRoute; body: ParsedBody },
): void {
  const { method, headers } = call.request;
  const prompt = body.ok && isObject(body.value) ? route.peek(body.value) : undefined;
  engine.activity.record({ method: method!, path, headers, body: body.ok ? body.value : body.text }, prompt);
}

function checkBody(engine: Engine, route: InferenceRoute, body: ParsedBody): Fields {
  const { kind, model } = engine.options;
  if (!body.ok) throw refuseField([], `JSON decode error: ${body.problem}`);
  if (!isObject(body.value)) throw refuseField([], 'Input should be a valid dictionary');
  if (route.kind !== kind) throw refuse(`The model does not support ${route.name} API`);
  const wanted = body.value.model ?? model;
  if (typeof wanted !== 'string') throw refuseField(['model'], 'Input should be a valid string');
  if (wanted !== model) throw refuseModel(wanted);
  return body.value;
}

/** Turns what a call threw into its answer. */
export function answerFailure(call: Call, error: unknown): void {
  if (error instanceof ClientGone || call.response.headersSent || call.response.destroyed) {
    if (!call.response.writableEnded) call.response.destroy();
    return;
  }
  const refusal =
    error instanceof EngineError ? error : new EngineError(500, 'InternalServerError', String(error));
  if (refusal.status === 413) call.response.setHeader('connection', 'close');
  call.sendJSON(refusal.status, refusal.toBody());
}
