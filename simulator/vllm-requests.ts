/** What vLLM 0.32 refuses before it generates, in its words, and what it changes in a request. */
import type { PlanContext } from './answer.ts';
import { EngineError } from './errors.ts';
import { type Fields, isObject } from './fields.ts';
import { isGiven, listOf, readTypes, refuse, refuseInput, refuseInputs, toText } from './vllm-fields.ts';
import { checkSchema, hasUnknownType } from './vllm-schemas.ts';

const MAX_STOPS = 4;
const MAX_RIVALS = 20;
const LAST_TOKEN = 1_000_000;

/** `types`: what else it could have been, each with a line of its own. */
export function checkStops(stop: unknown, name: string, types: readonly string[] = ['string_type']): void {
  if (typeof stop === 'number')
    throw refuseInputs(name, stop, [
      ...types.map(toText),
      { type: 'list_type', message: 'Input should be a valid list' },
    ]);
  const stops = listOf(stop);
  if (stops.length > MAX_STOPS)
    throw refuseInputs(name, stop, [
      ...types.map(toText),
      {
        type: 'too_long',
        message: `List should have at most ${MAX_STOPS} items after validation, not ${stops.length}`,
        more: `, 'ctx': {'field_type': 'List', 'max_length': ${MAX_STOPS}, 'actual_length': ${stops.length}}`,
      },
    ]);
  if (stops.includes('')) throw refuse('stop cannot contain an empty string.');
}

/** In the order in which it checks them. */
export function checkSampling(body: Fields): void {
  const read = (name: string): number | undefined =>
    isGiven(body[name]) ? (body[name] as number) : undefined;
  const within = (name: string, least: number, most: number) => {
    const value = read(name);
    if (value !== undefined && (value < least || value > most))
      throw refuse(`${name} must be in [${least}, ${most}], got ${value}.`);
  };
  const n = read('n') ?? 1;
  if (n < 1) throw refuse(`n must be at least 1, got ${n}.`);
  within('presence_penalty', -2, 2);
  within('frequency_penalty', -2, 2);
  const repetition = read('repetition_penalty');
  if (repetition !== undefined && repetition <= 0)
    throw refuse(`repetition_penalty must be greater than zero, got ${repetition}.`);
  const temperature = read('temperature');
  if (temperature !== undefined && temperature < 0)
    throw refuse(`temperature must be non-negative, got ${temperature}.`, 'temperature', temperature);
  if (temperature !== undefined && temperature > 2)
    throw refuse(`temperature must be in [0, 2], got ${temperature}.`, 'temperature', temperature);
  const topP = read('top_p');
  if (topP !== undefined && (topP <= 0 || topP > 1))
    throw refuse(`top_p must be in (0, 1], got ${topP}.`, 'top_p', topP);
  const topK = read('top_k');
  if (topK !== undefined && topK < -1) throw refuse(`top_k must be 0 (disable), or at least 1, got ${topK}.`);
  if (n > 1 && temperature === 0) throw refuse(`n must be 1 when using greedy sampling, got ${n}.`);
  checkBias(body.logit_bias);
}

function checkBias(bias: unknown): void {
  if (!isObject(bias)) return;
  const ids = Object.keys(bias);
  const words = ids.filter((id) => !/^\d+$/.test(id)).map((id) => `'${id}'`);
  if (words.length > 0)
    throw refuse(
      `logit_bias contains key(s) that cannot be converted to integer token IDs: [${words}]`,
      'logit_bias',
      `[${words}]`,
    );
  const unknown = ids.filter((id) => Number(id) > LAST_TOKEN);
  if (unknown.length > 0)
    throw refuse(
      `token_id(s) [${unknown}] in logit_bias contain out-of-vocab token ids. Vocabulary size: ${LAST_TOKEN}`,
      'logit_bias',
      `[${unknown}]`,
    );
}

/** The response takes what the prompt leaves of the context; only a maximum above the whole context is refused. */
export function boundLength(body: Fields, name: string, { contextTokens }: PlanContext): void {
  const most = body[name];
  if (typeof most !== 'number') return;
  if (most > contextTokens)
    throw refuse(
      `${name}=${most} cannot be greater than max_model_len=${contextTokens}. Please request fewer output tokens.`,
      name,
      most,
    );
  const isEcho = body.echo === true && most === 0;
  if (most < 1 && !isEcho) throw refuse(`max_tokens must be at least 1, got ${most}.`, 'max_tokens', most);
  const least = body.min_tokens;
  if (typeof least === 'number' && least > most)
    throw refuse(`min_tokens must be less than or equal to max_tokens=${most}, got ${least}.`);
}

/** It stops counting a prompt that is too long. */
export const refuseLength = (promptTokens: number, contextTokens: number): EngineError =>
  refuse(
    `This model's maximum context length is ${contextTokens} tokens. However, your prompt contains at least ${promptTokens} input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.`,
    'input_tokens',
    promptTokens,
  );

function checkTools({ tools, tool_choice: choice }: Fields): void {
  if (!isGiven(tools)) {
    if (isGiven(choice) && choice !== 'none')
      throw refuse('When using `tool_choice`, `tools` must be set.', 'tool_choice');
    return;
  }
  if (listOf(tools).length === 0)
    throw refuse(
      '`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.',
      'tools',
    );
  for (const [index, tool] of listOf(tools).entries()) {
    const { type, function: definition } = isObject(tool) ? tool : {};
    if (isGiven(type) && type !== 'function')
      throw refuseInput('literal_error', ['tools', index, 'type'], "Input should be 'function'", type, [
        `'ctx': {'expected': "'function'"}`,
      ]);
    if (!isObject(definition) || typeof definition.name !== 'string')
      throw refuseInput('missing', ['tools', index, 'function', 'name'], 'Field required', definition);
    // Schemas of tools hold with `--tool-strict-level=parameter`, so that they have to be grammars.
    if (choice !== 'none' && hasUnknownType(definition.parameters))
      throw refuse("Invalid grammar specification: 'triggers'");
  }
  if (typeof choice === 'string' && !['none', 'auto', 'required'].includes(choice))
    throw refuse(
      `Invalid value for \`tool_choice\`: ${choice}! Only named tools, "none", "auto" or "required" are supported.`,
      'tool_choice',
    );
  if (isObject(choice) && !listOf(tools).some((tool) => nameOf(tool) === nameOf(choice)))
    throw refuse(
      'The tool specified in `tool_choice` does not match any of the specified `tools`',
      'tool_choice',
    );
}

const nameOf = (tool: unknown): unknown =>
  isObject(tool) && isObject(tool.function) ? tool.function.name : undefined;

function checkLogprobs({ logprobs, top_logprobs: top, prompt_logprobs: prompt, stream }: Fields): void {
  if (isGiven(prompt) && stream === true)
    throw refuse('`prompt_logprobs` are not available when `stream=True`.', 'prompt_logprobs');
  if (typeof top !== 'number') return;
  if (top < 0 && top !== -1)
    throw refuse('`top_logprobs` must be a positive value or -1.', 'top_logprobs', top);
  if (logprobs !== true)
    throw refuse('when using `top_logprobs`, `logprobs` must be set to true.', 'top_logprobs');
  checkRivals(top);
}

function checkRivals(count: unknown): void {
  if (typeof count === 'number' && (count > MAX_RIVALS || count < 0))
    throw refuse(
      `Requested sample logprobs of ${count}, which is greater than max allowed: ${MAX_RIVALS}`,
      'logprobs',
      count,
    );
}

function checkFormat(format: unknown): void {
  if (!isObject(format) || format.type === 'text' || format.type === 'json_object') return;
  if (format.type !== 'json_schema')
    throw refuseInput(
      'literal_error',
      ['response_format', 'type'],
      "Input should be 'text', 'json_object' or 'json_schema'",
      format.type,
    );
  if (!isObject(format.json_schema))
    throw refuse(
      "When response_format type is 'json_schema', the 'json_schema' field must be provided.",
      'response_format',
    );
  if (typeof format.json_schema.name !== 'string')
    throw refuseInput(
      'missing',
      ['response_format', 'json_schema', 'name'],
      'Field required',
      format.json_schema,
    );
  checkSchema(format.json_schema.schema);
}

/** The request as the simulator serves it; throws an EngineError for one that vLLM refuses. */
export function readChat(given: Fields, context: PlanContext): Fields {
  if (!isGiven(given.messages)) throw refuseInput('missing', ['messages'], 'Field required', given);
  const body = readTypes(given);
  checkStops(body.stop, 'stop', ['string_type']);
  if (isGiven(body.stream_options) && body.stream !== true)
    throw refuse('Stream options can only be defined when `stream=True`.', 'stream_options');
  checkLogprobs(body);
  checkTools(body);
  if (body.continue_final_message === true && body.add_generation_prompt !== false)
    throw refuse(
      'continue_final_message and add_generation_prompt are not compatible. Use continue_final_message when you want the model to continue the final message, and add_generation_prompt when you want to add a header that will prompt it to start a new assistant message instead.',
    );
  if (listOf(body.messages).length === 0)
    throw refuse('Cannot apply chat template to an empty conversation. Provide at least one message.');
  checkFormat(body.response_format);
  boundLength(body, isGiven(body.max_completion_tokens) ? 'max_completion_tokens' : 'max_tokens', context);
  checkSampling(body);
  const { tools, tool_choice: choice, ...rest } = body;
  return { ...rest, ...(isGiven(tools) && { tools, tool_choice: choice ?? 'auto' }) };
}

export function readCompletion(given: Fields, context: PlanContext): Fields {
  const body = readTypes(given);
  const { prompt } = body;
  checkStops(body.stop, 'stop', ['string_type']);
  if (isGiven(body.suffix))
    throw new EngineError(
      400,
      'BadRequestError',
      'suffix is only supported for models with FIM completion rendering',
      'suffix',
    );
  if (!isGiven(prompt) || prompt === '')
    throw refuse('Either prompt or prompt_embeds must be provided and non-empty.', 'prompt');
  if (Array.isArray(prompt) && prompt.length === 0) throw refuse('You must pass at least one prompt');
  for (const id of listOf(prompt).flat())
    if (typeof id === 'number' && id > LAST_TOKEN) throw refuse(`Token id ${id} is out of vocabulary`);
  checkFormat(body.response_format);
  boundLength(body, 'max_tokens', context);
  checkRivals(body.logprobs);
  checkSampling(body);
  // It counts one token that it has to make.
  return body.echo === true && body.max_tokens === 0 ? { ...body, max_tokens: 1 } : body;
}
