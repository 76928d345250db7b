/** Parses a form with audio to be transcribed (docs/api.md, "POST /v1/audio/transcriptions"). */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { buildForm, type EngineForm } from '../engine/form.ts';
import type { GatewayState } from '../http/exchange.ts';
import { refuseParameter, requireParameter } from '../http/parameter-error.ts';
import { FieldReader } from '../media/field-reader.ts';
import type { FormFields } from '../media/form-fields.ts';
import { type Form, removeFiles } from '../media/form-parts.ts';
import { readForm } from '../media/multipart.ts';
import type { Spool } from '../storage/spool.ts';
import { checkOptionalModel } from '../text/text-request.ts';
import { measureSound } from './audio-length.ts';
import { TRANSCRIPT_FORMATS, type TranscriptFormat } from './transcript.ts';

export interface TranscriptionRequest {
  form: EngineForm;
  format: TranscriptFormat;
  isStream: boolean;
  /** Estimated, for engines that do not report it. */
  seconds: number;
  /** Frees the disk. */
  remove(): Promise<void>;
}

const GRANULARITIES = 'timestamp_granularities[]';
const MAX_GRANULARITIES_LENGTH = 100;
/** Forwarded unchanged if present. */
const PASSED_ON = [
  'language',
  'to_language',
  'prompt',
  'hotwords',
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'max_completion_tokens',
] as const;

export const TRANSCRIPTION_FORM: FormFields = {
  texts: new Set([
    'model',
    'response_format',
    'stream',
    'timestamp_granularities',
    GRANULARITIES,
    ...PASSED_ON,
  ]),
  lists: new Set(['timestamp_granularities', GRANULARITIES]),
  files: new Map([['file', 1]]),
};

const ALLOWED_FILE = 'a FLAC, MP3, MP4, M4A, OGG, WAV or WebM file';

/** The request holds a file. Throws ApiError; ClientDisconnectedError when the client leaves before the end; no file is left then. */
export async function readTranscription(
  state: GatewayState,
  config: GatewayConfig,
  spool: Spool,
): Promise<TranscriptionRequest> {
  const form = await readForm(state, TRANSCRIPTION_FORM, { limits: config.limits, spool });
  try {
    return await interpret(form, config);
  } catch (error) {
    await removeFiles(form);
    throw error;
  }
}

async function interpret(form: Form, config: GatewayConfig): Promise<TranscriptionRequest> {
  const fields = FieldReader.ofForm(form.texts);
  checkOptionalModel(fields.text('model'), config);
  const format = fields.choice('response_format', TRANSCRIPT_FORMATS) ?? 'json';
  fields.number('temperature');
  const granularities = readGranularities(form.texts);
  const isStream = fields.isTrue('stream');
  if (isStream && format !== 'json' && format !== 'text')
    throw refuseParameter(
      'unsupported_value',
      'response_format',
      `\`response_format\` must be "json" or "text" with \`stream\`, not "${format}".`,
    );
  const [upload] = form.files;
  if (!upload) throw requireParameter('file', ALLOWED_FILE);
  const sound = await measureSound(upload.file.path, upload.file.bytes);
  if (!sound)
    throw refuseParameter('invalid_value', 'file', `\`file\` is not audio: it must be ${ALLOWED_FILE}.`);
  const { contentType, seconds } = sound;
  const file = { ...upload.file, contentType };
  const fileName = `audio.${contentType.split('/')[1]}`;
  return {
    form: buildForm(
      listFields(form.texts, format, { granularities, isStream, model: config.servedModelName }),
      [{ name: 'file', fileName, file }],
    ),
    format,
    isStream,
    seconds,
    remove: () => removeFiles(form),
  };
}

/** The text may be as long as a prompt, so its length is checked before it is parsed. */
function readGranularities(texts: Form['texts']): Set<string> {
  const given = texts.get(GRANULARITIES) ?? texts.get('timestamp_granularities') ?? '';
  const items =
    given.length > MAX_GRANULARITIES_LENGTH ? null : given.split(',').filter((each) => each !== '');
  if (items?.every((each) => each === 'word' || each === 'segment')) return new Set(items);
  throw refuseParameter('invalid_value', GRANULARITIES, `\`${GRANULARITIES}\` must be "word" or "segment".`);
}

/** Text formats are built from the engine's JSON, which also reports the duration. */
function listFields(
  texts: Form['texts'],
  format: TranscriptFormat,
  { granularities, isStream, model }: { granularities: Set<string>; isStream: boolean; model: string },
): [string, string][] {
  return [
    ['model', model],
    ['response_format', format === 'json' || format === 'text' ? 'json' : 'verbose_json'],
    ...(isStream ? [['stream', 'true'] as [string, string]] : []),
    ...[...granularities].map((each): [string, string] => [GRANULARITIES, each]),
    ...PASSED_ON.flatMap((name): [string, string][] => {
      const text = texts.get(name) ?? '';
      return text === '' ? [] : [[name, text]];
    }),
  ];
}
