/** Documents the text routes; the fields are those that `routes/fields.ts` checks. */
import {
  CHAT_FIELDS,
  COMPLETION_FIELDS,
  EMBEDDING_FIELDS,
  type Fields,
  type JsonSchema,
} from '../text/fields.ts';
import { type Answer, BODY_ERRORS, type Facts, jsonBody, type Operation } from './operation.ts';

const TEXT_ERRORS = [
  ...BODY_ERRORS,
  'invalid_json',
  'model_mismatch',
  'rate_limit_exceeded',
  'insufficient_quota',
  'replica_saturated',
  'no_pod_available',
  ['invalid_request_error', 422],
  ['request_timeout', 504],
] as const;

const LIMIT_HEADERS = {
  'x-ratelimit-remaining': {
    description: 'Requests that the key has left in this minute; absent while limits are suspended.',
    schema: { type: 'integer' },
  },
  'x-ratelimit-reset': {
    description: 'When the tighter limit of the key resets, in Unix seconds.',
    schema: { type: 'integer' },
  },
} as const;

const answer = (more: Pick<Answer, 'schema' | 'canStream'>): Record<number, Answer> => ({
  200: { description: 'What the engine answers, in OpenAI’s schema.', headers: LIMIT_HEADERS, ...more },
});

function textBody(fields: Fields, { modelId }: Facts) {
  const required = Object.keys(fields).filter((name) => fields[name]!.isRequired);
  const properties = Object.entries(fields).map(([name, { schema }]): [string, JsonSchema] => [name, schema]);
  return jsonBody(
    { ...Object.fromEntries(properties), ...(modelId !== undefined && { model: { const: modelId } }) },
    required,
  );
}

const PASSED_ON = 'Fields that are not listed go to the engine as they are.';
const STREAMED = `${PASSED_ON} With \`stream: true\` the answer is a stream of server-sent events; a failure in the middle of it is a last \`data:\` event with the error envelope.`;

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
  embeddings: (facts: Facts): Operation => ({
    summary: 'Embed texts',
    description: PASSED_ON,
    body: textBody(EMBEDDING_FIELDS, facts),
    answers: answer({ schema: 'EmbeddingList' }),
    errors: TEXT_ERRORS,
  }),
};
