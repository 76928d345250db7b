/** Documents the audio routes. */
import { SPEECH_FIELDS, SPEECH_TYPES } from '../audio/speech-request.ts';
import { TRANSCRIPT_FORMATS } from '../audio/transcript.ts';
import type { JsonSchema } from '../text/fields.ts';
import type { Body, Facts, Operation, OperationAnswer } from './operation.ts';
import { LIMIT_HEADERS, TEXT_ERRORS, textBody } from './text-operations.ts';

const transcriptionBody = ({ modelId }: Facts): Body => ({
  type: 'multipart/form-data',
  required: ['file'],
  properties: {
    file: { type: 'string', format: 'binary' },
    model: modelId === undefined ? { type: 'string' } : { const: modelId },
    response_format: { enum: TRANSCRIPT_FORMATS, default: 'json' },
    stream: { type: 'boolean', description: 'Responds with events; only with `json` and `text`.' },
    language: { type: 'string' },
    prompt: { type: 'string' },
    temperature: { type: 'number' },
  } satisfies Record<string, JsonSchema>,
  files: { file: 'audio/*, video/mp4, video/webm' },
});

const TRANSCRIPT: Record<number, OperationAnswer> = {
  200: {
    description: 'The transcript, in OpenAI’s schema.',
    schema: 'Transcript',
    types: ['text/plain', 'application/x-subrip', 'text/vtt'],
    canStream: true,
    headers: LIMIT_HEADERS,
  },
};

export const AUDIO_OPERATIONS = {
  transcriptions: (facts: Facts): Operation => ({
    summary: 'Transcribe audio',
    description: 'Other OpenAI fields are passed on to engines that support them.',
    body: transcriptionBody(facts),
    answers: TRANSCRIPT,
    errors: TEXT_ERRORS,
  }),
  translations: (facts: Facts): Operation => ({
    summary: 'Translate audio to English',
    body: transcriptionBody(facts),
    answers: TRANSCRIPT,
    errors: TEXT_ERRORS,
  }),
  speech: (facts: Facts): Operation => ({
    summary: 'Synthesize speech',
    description:
      'Fields that are not listed are passed to the engine unchanged. With `stream_format: sse` the response is a stream of events that carry the audio.',
    body: textBody(SPEECH_FIELDS, facts),
    answers: {
      200: {
        description: 'The audio, as it is generated.',
        types: [...new Set(Object.values(SPEECH_TYPES)), 'application/octet-stream'],
        canStream: true,
        headers: LIMIT_HEADERS,
      },
    },
    errors: TEXT_ERRORS,
  }),
};
