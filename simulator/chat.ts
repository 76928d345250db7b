/** What the model says to a conversation; each dialect writes it in its own format. */
import { makeAnswerId, type PlanContext, readUnixSeconds, sumUsage, type Usage } from './answer.ts';
import { refuse, refuseField } from './errors.ts';
import { type Fields, isObject, readBoolean, readChoice, readInteger, readObject } from './fields.ts';
import { generateValue } from './json-schema.ts';
import { readConversation, readSaid } from './messages.ts';
import { hashText, type Random } from './random.ts';
import {
  boundSampling,
  type Choice,
  continueProse,
  createChoiceRandom,
  fitContext,
  generateFixed,
  generateProse,
  readSampling,
  type Sampling,
} from './sampling.ts';
import { countTokens, generatePhrase, splitTokens } from './text.ts';
import { makeToolCalls, planTools, type ToolCall } from './tools.ts';

export interface ChatChoice {
  tokens: string[];
  toolCalls: ToolCall[];
  finish: 'stop' | 'length' | 'tool_calls';
  stop?: string;
}

export interface Chat {
  id: string;
  created: number;
  model: string;
  choices: ChatChoice[];
  /** Rivals to show with each token; null: no log probabilities. */
  topLogprobs: number | null;
  usage: Usage;
  /** With the answer. */
  conversation: string;
  withUsage: boolean;
  /** In every frame of a stream. */
  withContinuousUsage: boolean;
}

export function makeChat(body: Fields, context: PlanContext): Chat {
  const conversation = readConversation(body);
  const tools = planTools(body, conversation);
  const topLogprobs = readTopLogprobs(body);
  const requested = readSampling(body, 1);
  const promptTokens = conversation.promptTokens + countTokens(tools.promptText);
  const fitting = fitContext(promptTokens, requested, context);
  const sampling = boundSampling(fitting, requested.n, topLogprobs !== null);
  const writeContent = planContent(body, sampling, context.tokens);
  const promptHash = hashText(conversation.prompt);
  const continued = readContinued(body);

  const choices = Array.from({ length: sampling.n }, (_, index): ChatChoice => {
    const random = createChoiceRandom(promptHash, sampling.seed, index);
    if (tools.tools.length > 0) {
      const toolCalls = makeToolCalls(tools, { random, isLoose: context.looseTools });
      return { tokens: [], toolCalls, finish: 'tool_calls' };
    }
    const rest =
      continued &&
      continueProse(createChoiceRandom(continued.promptHash, sampling.seed, index), sampling, {
        said: continued.said,
        length: context.tokens,
      });
    return { ...(rest ?? writeContent(random)), toolCalls: [] };
  });

  // Tools stand before the messages in a prompt.
  const prompt = tools.promptText + conversation.prompt;
  return {
    id: makeAnswerId('chatcmpl'),
    created: readUnixSeconds(),
    model: context.model,
    choices,
    topLogprobs,
    usage: sumUsage(
      promptTokens,
      choices.reduce((sum, choice) => sum + countChoice(choice), 0),
      context.cache?.enter(prompt, promptTokens),
    ),
    conversation: `${prompt}assistant: ${choices[0]!.tokens.join('')}\n`,
    withUsage: sampling.withUsage,
    withContinuousUsage: sampling.withContinuousUsage,
  };
}

/** The continuation of the final message, as if the response had not been interrupted. */
function readContinued(body: Fields): { said: string; promptHash: number } | null {
  const said = readSaid(body);
  if (said === null) return null;
  const messages = (body.messages as unknown[]).slice(0, -1);
  return { said, promptHash: hashText(messages.length > 0 ? readConversation({ messages }).prompt : '') };
}

export const countChoice = ({ tokens, toolCalls }: ChatChoice): number =>
  tokens.length + toolCalls.reduce((sum, call) => sum + 1 + splitTokens(call.arguments).length, 0);

function readTopLogprobs(body: Fields): number | null {
  const top = readInteger(body, 'top_logprobs', { min: 0, max: 20 });
  if (readBoolean(body, 'logprobs')) return top ?? 0;
  if (top) throw refuse('when using `top_logprobs`, `logprobs` must be set to true.', 'top_logprobs');
  return null;
}

/** Words, or JSON where `response_format` asks for it. */
function planContent(body: Fields, sampling: Sampling, length: number | null): (random: Random) => Choice {
  const format = readObject(body, 'response_format');
  const type = format && readChoice(format, 'type', ['text', 'json_object', 'json_schema']);
  if (type === 'json_object')
    return (random) => generateFixed(JSON.stringify({ answer: generatePhrase(random, 8) }), sampling);
  if (type === 'json_schema') {
    const wrapper = format?.json_schema;
    if (!isObject(wrapper)) throw refuseField(['response_format', 'json_schema'], 'Field required');
    const schema = wrapper.schema ?? { type: 'object' };
    return (random) => generateFixed(JSON.stringify(generateValue(schema, random)), sampling);
  }
  return (random) => generateProse(random, sampling, length);
}
