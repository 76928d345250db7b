/** Documents the text routes; the fields are those that `gateway/text/fields.ts` validates. */
import {
  CHAT_FIELDS,
  COMPLETION_FIELDS,
  COUNT_FIELDS,
  EMBEDDING_FIELDS,
  type Fields,
  INPUT_FIELDS,
  type JsonSchema,
  MESSAGES_FIELDS,
  RESPONSES_FIELDS,
} from '../text/fields.ts';
import { RERANK_FIELDS, SCORE_FIELDS } from '../text/rerank.ts';
import { DETOKENIZE_FIELDS, TOKENIZE_FIELDS } from '../text/tokens.ts';
import {
  BODY_ERRORS,
  type Facts,
  jsonBody,
  type Operation,
  type OperationAnswer,
  UNPROCESSABLE_ERRORS,
} from './operation.ts';

export const TEXT_ERRORS = [
  ...BODY_ERRORS,
  'invalid_json',
  'model_mismatch',
  'rate_limit_exceeded',
  'insufficient_quota',
  'replica_saturated',
  'no_pod_available',
  ...UNPROCESSABLE_ERRORS,
  ['request_timeout', 504],
] as const;

export const LIMIT_HEADERS = {
  'x-ratelimit-remaining': {
    description: 'Requests left for the key in this minute; absent while limits are suspended.',
    schema: { type: 'integer' },
  },
  'x-ratelimit-reset': {
    description: 'When the tighter limit of the key resets, in Unix seconds.',
    schema: { type: 'integer' },
  },
} as const;

const answer = (
  more: Pick<OperationAnswer, 'schema' | 'canStream'>,
  description = 'The engine’s response, in OpenAI’s schema.',
): Record<number, OperationAnswer> => ({ 200: { description, headers: LIMIT_HEADERS, ...more } });

export function textBody(fields: Fields, { modelId }: Facts) {
  const required = Object.keys(fields).filter((name) => fields[name]!.isRequired);
  const properties = Object.entries(fields).map(([name, { schema }]): [string, JsonSchema] => [name, schema]);
  return jsonBody(
    { ...Object.fromEntries(properties), ...(modelId !== undefined && { model: { const: modelId } }) },
    required,
  );
}

const PASSED_ON = 'Fields that are not listed are passed to the engine unchanged.';
const STREAMED = `${PASSED_ON} With \`stream: true\` the response is a stream of server-sent events; if it fails midway, it ends with a \`data:\` event with the error envelope.`;

const STREAMED_EVENTS = `${PASSED_ON} With \`stream: true\` the response is a stream of named server-sent events; if it fails midway, it ends with an \`error\` event.`;

const IN_ANTHROPICS = 'The engine’s response, in Anthropic’s schema.';

export const TEXT_OPERATIONS = {
  chat_completions: (facts: Facts): Operation => ({
    summary: 'Complete a chat',
    description: STREAMED,
    body: textBody(CHAT_FIELDS, facts),
    answers: answer({ schema: 'ChatCompletion', canStream: true }),
    errors: TEXT_ERRORS,
  }),
  completions: (facts: Facts): Operation => ({
    summary: 'Complete a text',
    description: STREAMED,
    body: textBody(COMPLETION_FIELDS, facts),
    answers: answer({ schema: 'Completion', canStream: true }),
    errors: TEXT_ERRORS,
  }),
  responses: (facts: Facts): Operation => ({
    summary: 'Create a response',
    description: `${STREAMED_EVENTS} Nothing is stored: \`store: true\` has no effect; \`background\`, \`previous_response_id\`, \`conversation\`, \`prompt\` and items of type \`item_reference\` are rejected. Tools that run on the server are left out.`,
    body: textBody(RESPONSES_FIELDS, facts),
    answers: answer({ schema: 'Response', canStream: true }),
    errors: TEXT_ERRORS,
  }),
  input_tokens: (facts: Facts): Operation => ({
    summary: 'Count the input tokens of a response',
    description: `${PASSED_ON} Counts against RPM only.`,
    body: textBody(INPUT_FIELDS, facts),
    answers: answer({ schema: 'InputTokens' }, 'In OpenAI’s schema.'),
    errors: TEXT_ERRORS,
  }),
  messages: (facts: Facts): Operation => ({
    summary: 'Create a message',
    description: `${STREAMED_EVENTS} The key may also be sent as \`x-api-key\`.`,
    body: textBody(MESSAGES_FIELDS, facts),
    answers: answer({ schema: 'Message', canStream: true }, IN_ANTHROPICS),
    errors: TEXT_ERRORS,
    dialect: 'anthropic',
  }),
  count_tokens: (facts: Facts): Operation => ({
    summary: 'Count the tokens of a message',
    description: PASSED_ON,
    body: textBody(COUNT_FIELDS, facts),
    answers: answer({ schema: 'TokenCount' }, IN_ANTHROPICS),
    errors: TEXT_ERRORS,
    dialect: 'anthropic',
  }),
  embeddings: (facts: Facts): Operation => ({
    summary: 'Embed texts',
    description: `Either \`input\` or, with vLLM, \`messages\`. ${PASSED_ON}`,
    body: textBody(EMBEDDING_FIELDS, facts),
    answers: answer({ schema: 'EmbeddingList' }),
    errors: TEXT_ERRORS,
  }),
  rerank: (facts: Facts): Operation => ({
    summary: 'Rank texts by relevance to a query',
    description: PASSED_ON,
    body: textBody(RERANK_FIELDS, facts),
    answers: answer({ schema: 'RerankList' }, 'In Jina’s schema.'),
    errors: TEXT_ERRORS,
  }),
  rerank_v2: (facts: Facts): Operation => ({
    summary: 'Rank texts by relevance to a query, in Cohere’s API',
    description: PASSED_ON,
    body: textBody(RERANK_FIELDS, facts),
    answers: answer({ schema: 'RerankListV2' }, 'In the schema of Cohere’s API, version 2.'),
    errors: TEXT_ERRORS,
    dialect: 'cohere',
  }),
  score: (facts: Facts): Operation => ({
    summary: 'Score the similarity of texts',
    description: PASSED_ON,
    body: textBody(SCORE_FIELDS, facts),
    answers: answer({ schema: 'ScoreList' }, 'In vLLM’s schema.'),
    errors: TEXT_ERRORS,
  }),
  tokenize: (facts: Facts): Operation => ({
    summary: 'Split a text into tokens',
    description: 'Either `prompt` or, if the engine supports it, `messages`. Counts against RPM only.',
    body: textBody(TOKENIZE_FIELDS, facts),
    answers: answer({ schema: 'TokenList' }, 'In vLLM’s schema.'),
    errors: TEXT_ERRORS,
  }),
  detokenize: (facts: Facts): Operation => ({
    summary: 'Join tokens into text',
    description: 'Counts against RPM only.',
    body: textBody(DETOKENIZE_FIELDS, facts),
    answers: answer({ schema: 'DetokenizedText' }, 'In vLLM’s schema.'),
    errors: TEXT_ERRORS,
  }),
  tokenizer_info: (): Operation => ({
    summary: 'Read the settings of the tokenizer',
    description: 'Of engines that serve it. Counts against RPM only.',
    answers: answer({ schema: 'TokenizerInfo' }, 'As the engine describes it.'),
    errors: ['no_pod_available', 'not_found', 'rate_limit_exceeded'],
  }),
};
