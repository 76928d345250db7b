/** What vLLM 0.32 refuses on its routes other than chat and completions. */
import type { PlanContext } from './answer.ts';
import { EngineError } from './errors.ts';
import type { Fields } from './fields.ts';
import { countTokens } from './text.ts';
import { readInputs } from './text-input.ts';
import { isGiven, listOf, readTypes, refuse, refuseInput } from './vllm-fields.ts';
import { boundLength, checkSampling, checkStops, refuseLength } from './vllm-requests.ts';

const EMPTY = 'Cannot apply chat template to an empty conversation. Provide at least one message.';

function require(body: Fields, name: string): void {
  if (!isGiven(body[name])) throw refuseInput('missing', [name], 'Field required', body);
}

export function readResponse(given: Fields, context: PlanContext): Fields {
  require(given, 'input');
  const body = readTypes(given);
  const { input, tools, tool_choice: choice, previous_response_id: previous } = body;
  if (body.background === true && body.store === false)
    throw refuse('background can only be used when `store` is true', 'background');
  if (typeof previous === 'string')
    throw new EngineError(
      404,
      'invalid_request_error',
      `Response with id '${previous}' not found.`,
      'response_id',
    );
  if (choice === 'required' && !isGiven(tools))
    throw refuse("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice');
  if (Array.isArray(input) && input.length === 0) throw refuse(EMPTY);
  boundLength(body, 'max_output_tokens', context);
  checkSampling(body);
  return body;
}

export function readMessage(given: Fields, context: PlanContext): Fields {
  require(given, 'messages');
  require(given, 'max_tokens');
  const body = readTypes(given);
  checkStops(body.stop_sequences, 'stop_sequences', []);
  if (body.max_tokens === 0)
    throw refuseInput('value_error', ['max_tokens'], 'Value error, max_tokens must be positive', 0, [
      `'ctx': {'error': ValueError('max_tokens must be positive')}`,
    ]);
  if (listOf(body.messages).length === 0) throw refuse(EMPTY);
  boundLength({ max_completion_tokens: body.max_tokens }, 'max_completion_tokens', context);
  checkSampling(body);
  return body;
}

export function readCount(body: Fields): Fields {
  require(body, 'messages');
  return body;
}

/** Throws for an input that is empty or does not fit: it is cut only if the request says so. */
export function readEmbedding(given: Fields, { contextTokens }: PlanContext): Fields {
  if (isGiven(given.messages)) return given;
  require(given, 'input');
  const { input, truncate_prompt_tokens: cut } = given;
  if (Array.isArray(input) && input.length === 0) throw refuse('You must pass at least one prompt');
  const inputs = readInputs(given, 'input');
  if (inputs.some(({ tokens }) => tokens === 0)) throw refuse('The decoder prompt cannot be empty');
  const longest = Math.max(...inputs.map(({ tokens }) => tokens));
  if (longest > contextTokens && !isGiven(cut)) throw refuseLength(longest, contextTokens);
  return given;
}

export function readRerank(body: Fields, { contextTokens }: PlanContext): Fields {
  require(body, 'query');
  require(body, 'documents');
  const { query, documents, top_n: top } = body;
  if (typeof top === 'number' && top < 0)
    throw refuseInput('greater_than_equal', ['top_n'], 'Input should be greater than or equal to 0', top, [
      `'ctx': {'ge': 0}`,
    ]);
  checkPairs(documents);
  for (const document of listOf(documents)) {
    const tokens = countTokens(`${query}${document}`);
    if (tokens > contextTokens) throw refuseLength(tokens, contextTokens);
  }
  return body;
}

export function readScore(body: Fields): Fields {
  checkPairs(body.text_2 ?? body.documents);
  return body;
}

function checkPairs(texts: unknown): void {
  if (Array.isArray(texts) && texts.length === 0)
    throw refuse('At least one text_pair element must be given');
}

export function readTokenize(body: Fields): Fields {
  if (typeof body.prompt === 'string' || isGiven(body.messages)) return body;
  throw isGiven(body.prompt)
    ? refuseInput('string_type', ['prompt'], 'Input should be a valid string', body.prompt)
    : refuseInput('missing', ['prompt'], 'Field required', body);
}

export function readDetokenize(body: Fields): Fields {
  require(body, 'tokens');
  for (const [index, token] of listOf(body.tokens).entries()) {
    const path = ['tokens', index];
    if (typeof token !== 'number')
      throw refuseInput(
        'int_parsing',
        path,
        'Input should be a valid integer, unable to parse string as an integer',
        token,
      );
    if (token < 0)
      throw refuseInput('greater_than_equal', path, 'Input should be greater than or equal to 0', token, [
        `'ctx': {'ge': 0}`,
      ]);
  }
  return body;
}
