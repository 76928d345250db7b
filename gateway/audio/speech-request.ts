/** Parses speech requests (docs/api.md, "POST /v1/audio/speech"). */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { isObject, type JSONObject } from '../../kit/json.ts';
import type { JsonBody } from '../http/body-parsing.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { checkFields, type Fields } from '../text/fields.ts';
import { setMembersInBytes } from '../text/request-body.ts';
import { checkOptionalModel } from '../text/text-request.ts';

export const SPEECH_TYPES = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
} as const;
type SpeechFormat = keyof typeof SPEECH_TYPES;

export interface SpeechRequest {
  payload: Buffer;
  contentType: string;
  /** Whether the client waits for events, with the audio in them. */
  isEventStream: boolean;
  /** Characters that the model reads, which are charged. */
  characters: number;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const text = { allowed: 'a string', isValid: isText, schema: { type: 'string' } };
const oneOf = (values: readonly string[]) => ({
  allowed: values.map((value) => `"${value}"`).join(' or '),
  isValid: (value: unknown) => isText(value) && values.includes(value),
  schema: { enum: values },
});
const MIN_SPEED = 0.25;
const MAX_SPEED = 4;

export const SPEECH_FIELDS: Fields = {
  input: {
    isRequired: true,
    allowed: 'a string that is not empty',
    isValid: (value) => isText(value) && value.trim() !== '',
    schema: { type: 'string', minLength: 1, pattern: '\\S' },
  },
  model: text,
  voice: {
    allowed: 'a string, or an object with an `id`',
    isValid: (value) => isText(value) || (isObject(value) && isText(value.id)),
    schema: {
      anyOf: [
        { type: 'string' },
        { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      ],
    },
  },
  instructions: text,
  response_format: oneOf(Object.keys(SPEECH_TYPES)),
  speed: {
    allowed: `a number from ${MIN_SPEED} to ${MAX_SPEED}`,
    isValid: (value) => typeof value === 'number' && value >= MIN_SPEED && value <= MAX_SPEED,
    schema: { type: 'number', minimum: MIN_SPEED, maximum: MAX_SPEED },
  },
  stream_format: oneOf(['audio', 'sse']),
  stream: {
    allowed: 'true or false',
    isValid: (value) => typeof value === 'boolean',
    schema: { type: 'boolean' },
  },
};

/** Throws ApiError. */
export function readSpeech(body: JsonBody, config: GatewayConfig): SpeechRequest {
  const { value } = body;
  checkFields(value, SPEECH_FIELDS);
  checkOptionalModel(value.model, config);
  checkReferences(value);
  const characters = countAllCharacters(value, config.limits.promptCharacters);
  const isEventStream = value.stream_format === 'sse' || (value.stream === true && !value.stream_format);
  const format = (value.response_format ?? (isStreamed(value) ? 'wav' : 'mp3')) as SpeechFormat;
  const changes = new Map([
    ['model', JSON.stringify(config.servedModelName)],
    ['response_format', JSON.stringify(format)],
    // A client's own would let it jump the queue.
    ...(value.priority === undefined ? [] : [['priority', '0'] as const]),
    ...(isText(value.voice) || !value.voice
      ? []
      : [['voice', JSON.stringify((value.voice as { id: string }).id)] as const]),
  ]);
  return {
    payload: setMembersInBytes(body, changes),
    contentType: SPEECH_TYPES[format],
    isEventStream,
    characters,
  };
}

/** Formats that engines stream; others are sent only when complete. */
const isStreamed = ({ stream, stream_format: format }: JSONObject): boolean =>
  stream === true || (format !== undefined && format !== null);

/** All text that the model reads, whether spoken or not. Throws ApiError. */
function countAllCharacters(value: JSONObject, most: number): number {
  const texts = [
    ['input', value.input],
    ['instructions', value.instructions],
    // Transcripts of voices to be cloned.
    ['ref_text', value.ref_text],
    ['references', [value.references].flat().map((each) => isObject(each) && each.text)],
  ] as const;
  let sum = 0;
  for (const [name, text] of texts) {
    const characters = listTexts(text).reduce((all, each) => all + countCharacters(each), 0);
    if (characters > most)
      throw refuseParameter(
        'string_above_max_length',
        name,
        `\`${name}\` has ${characters} characters, which exceeds the limit of ${most}.`,
      );
    sum += characters;
  }
  return sum;
}

/** By code points. */
function countCharacters(input: string): number {
  let count = 0;
  for (const _ of input) count++;
  return count;
}

const REFERENCES = ['ref_audio', 'ref_audio_2', 'references'];

/** A voice to be cloned must be inline: an engine that fetched it could reach the cluster's whole network. */
function checkReferences(value: JSONObject): void {
  for (const name of REFERENCES)
    for (const each of listTexts(value[name]))
      if (/^\s*[a-z][a-z\d+.-]*:/i.test(each) && !/^\s*data:/i.test(each))
        throw refuseParameter(
          'invalid_value',
          name,
          `\`${name}\` must be a data: URL, such as "data:audio/wav;base64,…": audio is not fetched.`,
        );
}

/** Including members of nested objects, one level down. */
const listTexts = (value: unknown): string[] =>
  [value]
    .flat()
    .flatMap((each) => (isObject(each) ? Object.values(each) : [each]))
    .filter(isText);
