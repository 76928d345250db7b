/** The text routes: from a JSON body to the engine's response, whole or streamed, with its usage settled. */

import { traitsOf } from '../../api/engine-traits.ts';
import type { Bill, Meter, Payer } from '../account/account.ts';
import type { Ledger } from '../account/ledger.ts';
import type { EgressAgent } from '../egress/agent.ts';
import { type Answer, estimateUsage } from '../engine/answer.ts';
import type { Reserve } from '../engine/answer-body.ts';
import { ContinuedFilter } from '../engine/continued-filter.ts';
import { StreamAnswer } from '../engine/stream-answer.ts';
import { isBytes } from '../engine/vectors.ts';
import { VectorsAnswer } from '../engine/vectors-answer.ts';
import { WholeAnswer } from '../engine/whole-answer.ts';
import { answerTurns, type JsonBody, ownerOf, parsingTurns } from '../http/body-parsing.ts';
import type { GatewayState } from '../http/exchange.ts';
import { openLease, readJsonBody } from '../http/json-body.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import { answerFromEngine, noticeEngine, reserveLazily } from '../run/engine-question.ts';
import { startRequestDeadline } from '../run/engine-run.ts';
import { readConversation } from '../traffic/conversation.ts';
import { askContinued, type ContinuationServices } from './continued-answer.ts';
import { isReportAwaited, listIgnored, refuseIgnored } from './ignored-parameters.ts';
import { INPUT_TOKENS } from './input-tokens-route.ts';
import { inlineMedia } from './media-inlining.ts';
import { COUNT_TOKENS, MESSAGES } from './messages-route.ts';
import { CHAT, COMPLETIONS, EMBEDDINGS } from './openai-routes.ts';
import { RESPONSES } from './responses-route.ts';
import { readTextRequest, type TextRequest } from './text-request.ts';
import type { TextRoute } from './text-route.ts';
import { DETOKENIZE, RERANK, RERANK_V2, SCORE, TOKENIZE } from './translated-routes.ts';

export interface TextServices extends ContinuationServices {
  egress: EgressAgent;
  ledger: Ledger;
  /** Whether the engine's chat template has tools; null until it responds. */
  takesTools: () => boolean | null;
  readPrefix?: ((parts: readonly unknown[]) => number | null | undefined) | undefined;
}

export const buildTextHandlers = (services: TextServices) => ({
  chat_completions: (state: GatewayState) => serveText(CHAT, services, state),
  completions: (state: GatewayState) => serveText(COMPLETIONS, services, state),
  responses: (state: GatewayState) => serveText(RESPONSES, services, state),
  input_tokens: (state: GatewayState) => serveText(INPUT_TOKENS, services, state),
  messages: (state: GatewayState) => serveText(MESSAGES, services, state),
  count_tokens: (state: GatewayState) => serveText(COUNT_TOKENS, services, state),
  embeddings: (state: GatewayState) => serveText(EMBEDDINGS, services, state),
  rerank: (state: GatewayState) => serveText(RERANK, services, state),
  rerank_v2: (state: GatewayState) => serveText(RERANK_V2, services, state),
  score: (state: GatewayState) => serveText(SCORE, services, state),
  tokenize: (state: GatewayState) => serveText(TOKENIZE, services, state),
  detokenize: (state: GatewayState) => serveText(DETOKENIZE, services, state),
});

async function serveText(route: TextRoute, services: TextServices, state: GatewayState): Promise<void> {
  const { exchange } = state;
  const config = services.config();
  const read = readJsonBody(state, {
    limits: config.limits,
    interpret: (body) => {
      const request = readTextRequest(body, route, config, state.priority);
      nameIgnored(body, { route, services, exchange });
      if (config.traffic) state.conversation = readConversation(body.value, state.keyHash) ?? undefined;
      if (route.readPrompt) state.prefix = services.readPrefix?.(route.readPrompt(body.value));
      return request;
    },
    isKept: true,
  });
  const request = read instanceof Promise ? await read : read;
  if (request.omittedTools.length > 0) exchange.nameOmittedTools(request.omittedTools);
  const deadline = startRequestDeadline(exchange, config.limits.requestTimeoutMs);
  const notices = request.isStream ? noticeEngine(exchange, config.limits) : null;
  try {
    // Before a slot on an engine is acquired, which would be idle meanwhile.
    if (request.media.length > 0) {
      const lease = openLease(state);
      request.payload = await inlineMedia(request, {
        agent: services.egress,
        exchange,
        maxBytes: config.limits.jsonBodyBytes,
        reserve: (bytes) => lease.tryAdd(bytes),
        inTurn: (work) => parsingTurns.take(ownerOf(state), work),
      });
    }
    await askForAnswer({ route, services, state, request });
  } finally {
    clearTimeout(deadline);
    notices?.stop();
    exchange.account.settle();
  }
}

/** Throws ApiError if the deployment rejects what its engine ignores, or may ignore. */
function nameIgnored(
  body: JsonBody,
  { route, services, exchange }: Pick<TextCall, 'route' | 'services'> & Pick<GatewayState, 'exchange'>,
): void {
  const { enginePreset: preset, unsupported } = services.config();
  if (!traitsOf(preset).ignoresParameters) return;
  const engine = { preset, takesTools: services.takesTools };
  const names = listIgnored(body, route.path, engine);
  if (unsupported !== 'Reject') {
    if (names.length > 0) exchange.nameIgnored(names);
  } else if (names.length > 0) throw refuseIgnored(names, preset);
  else if (isReportAwaited(body.value, route.path, engine))
    throw refuseAsUnavailable('engineReport', 'The engine has not reported yet whether it has tools.');
}

interface TextCall {
  route: TextRoute;
  services: TextServices;
  state: GatewayState;
  request: TextRequest;
}

function askForAnswer(call: TextCall): Promise<void> {
  const { services, state, request } = call;
  const { path, payload: body, isStream, continuable } = request;
  const { modelId, enginePreset } = services.config();
  const reserve = reserveLazily(state);
  const headers = describePayload(request, enginePreset);
  if (continuable) {
    const isUsageContinuous = traitsOf(enginePreset).reportsUsageContinuously;
    const filter = new ContinuedFilter({ ...request, ...continuable, modelId, isUsageContinuous, reserve });
    const answer = new StreamAnswer(state.exchange, filter);
    state.exchange.account.meter = new TextMeter(answer, call);
    const question = { path, headers, body, answer, isStream, filter, continuable, reserve };
    return askContinued(services, state, question);
  }
  const answer = openAnswer(call, modelId, reserve);
  state.exchange.account.meter = new TextMeter(answer, call);
  return answerFromEngine(services, state, { path, headers, body, answer, isStream });
}

const JSON_BODY = ['content-type', 'application/json', 'accept'];
const FOR_STREAM: readonly string[] = [...JSON_BODY, 'text/event-stream'];
const FOR_BYTES: readonly string[] = [...JSON_BODY, '*/*'];
const FOR_JSON: readonly string[] = [...JSON_BODY, 'application/json'];

function describePayload({ isStream, vectors, priority }: TextRequest, preset: string): readonly string[] {
  const headers = isStream ? FOR_STREAM : isBytes(vectors?.encoding) ? FOR_BYTES : FOR_JSON;
  const name = priority === 0 ? null : traitsOf(preset).priorityHeader;
  return name === null ? headers : [...headers, name, String(priority)];
}

function openAnswer({ route, state, request }: TextCall, modelId: string, reserve: Reserve): Answer {
  const { exchange } = state;
  if (request.isStream) return new StreamAnswer(exchange, route.stream!.watch(modelId, request));
  const { vectors } = request;
  if (vectors && isBytes(vectors.encoding))
    return new VectorsAnswer(exchange, { modelId, request: vectors, reserve });
  return new WholeAnswer(exchange, {
    read: request.read,
    complete: (whole) => route.complete(whole, modelId, request),
    readUsage: route.readUsage,
    estimateOutput: route.estimateOutput,
    reserve,
    turns: answerTurns(state),
  });
}

/** Meters the usage that the engine reported, else an estimate by what was sent. */
class TextMeter implements Meter {
  readonly #answer: Answer;
  readonly #ledger: Ledger;
  readonly #payer: Payer;
  readonly #promptBytes: number;

  constructor(answer: Answer, { services, state, request }: TextCall) {
    this.#answer = answer;
    this.#ledger = services.ledger;
    const { keyHash, budgets } = state;
    this.#payer = { keyHash, budgets };
    this.#promptBytes = request.promptBytes;
  }

  charge(): Bill | null {
    const { usage, estimatedTokens } = this.#answer;
    if (usage) return this.#ledger.chargeTokens(this.#payer, usage);
    if (estimatedTokens === null) return null;
    return this.#ledger.chargeTokens(this.#payer, estimateUsage(this.#promptBytes, estimatedTokens));
  }
}
