/** POST /v1/audio/transcriptions and /v1/audio/translations: as many words as the audio is long, the same for the same bytes. */
import { type Frame, makeAnswerId, readUnixSeconds, sumUsage } from './answer.ts';
import { refuse, refuseField } from './errors.ts';
import { listFiles } from './exchange.ts';
import { type Fields, readBoolean, readChoice, readNumber } from './fields.ts';
import { createRandom, hashText } from './random.ts';
import { measureSound } from './sounds.ts';
import { generateTokens } from './text.ts';
import type { Planner } from './text-route.ts';

const TOKENS_PER_SECOND = 3;
const TOKENS_PER_SEGMENT = 12;
const MAX_SECONDS = 24 * 3600;
const MIN_SECONDS = 0.1;

interface Segment {
  id: number;
  start: number;
  end: number;
  text: string;
}

export const planTranscription =
  (task: 'transcribe' | 'translate'): Planner =>
  (fields, { model }, exchange) => {
    const [file] = listFiles(exchange, 'file');
    if (!file) throw refuseField(['file'], 'Field required');
    const seconds = measureSound(file.bytes);
    if (seconds === null) throw refuse('Invalid or unsupported audio file.', 'file');
    if (seconds < MIN_SECONDS || seconds > MAX_SECONDS)
      throw refuse(`The audio must have from ${MIN_SECONDS} to ${MAX_SECONDS} seconds.`, 'file');
    const given = parseForm(fields);
    const format = readChoice(given, 'response_format', ['json', 'text', 'verbose_json']) ?? 'json';
    readNumber(given, 'temperature', { min: 0, max: 2 });
    const isStreamed = readBoolean(given, 'stream');
    if (isStreamed && format === 'verbose_json')
      throw refuse("verbose_json format doesn't support streaming case", 'response_format');
    const random = createRandom(hashText(file.bytes.toString('latin1', 0, 4096), hashText(task)));
    const tokens = generateTokens(random, Math.max(1, Math.round(seconds * TOKENS_PER_SECOND)));
    const text = tokens.join('');
    const usage = { type: 'duration', seconds: Math.ceil(seconds) };
    return {
      steps: tokens.length,
      usage: sumUsage(0, tokens.length),
      buildBody: () =>
        format === 'verbose_json'
          ? describeVerbose(tokens, seconds, typeof given.language === 'string' ? given.language : 'en')
          : { text, ...(task === 'transcribe' && { usage }) },
      frames: isStreamed ? () => stream(tokens, task, model) : null,
    };
  };

/** Flags and numbers of a form are texts. */
function parseForm(fields: Fields): Fields {
  const { stream: flag, temperature, ...rest } = fields;
  return {
    ...rest,
    stream: flag === undefined ? undefined : /^(true|1)$/i.test(String(flag)),
    temperature: temperature === undefined || temperature === '' ? undefined : Number(temperature),
  };
}

/** As vLLM: the duration is a text. */
function describeVerbose(tokens: readonly string[], seconds: number, language: string): object {
  const segments: Segment[] = [];
  for (let start = 0; start < tokens.length; start += TOKENS_PER_SEGMENT) {
    const end = Math.min(start + TOKENS_PER_SEGMENT, tokens.length);
    segments.push({
      id: segments.length,
      start: (start / tokens.length) * seconds,
      end: (end / tokens.length) * seconds,
      text: tokens.slice(start, end).join(''),
    });
  }
  return {
    duration: String(seconds),
    language,
    text: tokens.join(''),
    segments: segments.map((segment) => ({
      ...segment,
      seek: 0,
      avg_logprob: -0.2,
      compression_ratio: 1.5,
      no_speech_prob: null,
      temperature: 0,
      tokens: [],
    })),
    words: null,
  };
}

function* stream(tokens: readonly string[], task: string, model: string): Generator<Frame> {
  const id = makeAnswerId(task === 'translate' ? 'trsl' : 'trsc');
  const object = task === 'translate' ? 'translation.chunk' : 'transcription.chunk';
  const created = readUnixSeconds();
  for (const [step, content] of tokens.entries())
    yield {
      step,
      data: {
        id,
        object,
        created,
        model,
        choices: [{ delta: { content }, finish_reason: step === tokens.length - 1 ? 'stop' : null }],
      },
    };
}
