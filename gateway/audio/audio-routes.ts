/** The audio routes: transcription, translation and speech. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { BytesAnswer } from '../engine/bytes-answer.ts';
import { EventAnswer } from '../engine/event-answer.ts';
import { WholeAnswer } from '../engine/whole-answer.ts';
import { answerTurns } from '../http/body-parsing.ts';
import type { GatewayState } from '../http/exchange.ts';
import { readJsonBody } from '../http/json-body.ts';
import type { Spool } from '../storage/spool.ts';
import {
  answerFromEngine,
  type EngineQuestion,
  noticeEngine,
  reserveLazily,
  startRequestDeadline,
} from '../text/engine-question.ts';
import type { TextServices } from '../text/text-routes.ts';
import { readSpeech } from './speech-request.ts';
import { readTranscript, writeTranscript } from './transcript.ts';
import { convertTranscript } from './transcript-events.ts';
import { readTranscription } from './transcription-request.ts';

export interface AudioServices extends TextServices {
  /** For uploads. */
  spool: Spool;
}

export const buildAudioHandlers = (services: AudioServices) => ({
  transcriptions: (state: GatewayState) => transcribe('/v1/audio/transcriptions', services, state),
  translations: (state: GatewayState) => transcribe('/v1/audio/translations', services, state),
  speech: (state: GatewayState) => speak(services, state),
});

const SECONDS_PER_MINUTE = 60;
const MILLION = 1_000_000;

async function transcribe(path: string, services: AudioServices, state: GatewayState): Promise<void> {
  const { exchange } = state;
  const config = services.config();
  const request = await readTranscription(state, config, services.spool);
  try {
    let seconds: number | null = null;
    const answer = request.isStream
      ? new EventAnswer(exchange, convertTranscript(request.seconds))
      : new WholeAnswer(exchange, {
          read: (said) => {
            const transcript = readTranscript(said);
            seconds = transcript ? (transcript.seconds ?? request.seconds) : null;
            return transcript?.answer ?? null;
          },
          complete: (whole) => addUsage(whole, Math.ceil(seconds ?? 0)),
          // Charged by duration.
          readUsage: () => null,
          write: (whole) => writeTranscript(whole, request.format),
          reserve: reserveLazily(state),
          turns: answerTurns(state),
        });
    exchange.settle = () => {
      if (answer instanceof EventAnswer && answer.events > 0) seconds = request.seconds;
      if (seconds !== null && !exchange.bill) settleAudio(services, state, seconds);
    };
    const { form, isStream } = request;
    await runAtEngine(services, state, {
      path,
      headers: [
        ...Object.entries(form.headers).flat(),
        'accept',
        isStream ? 'text/event-stream' : 'application/json',
      ],
      body: form.body,
      answer,
      isStream,
    }).finally(exchange.settle);
  } finally {
    await request.remove();
  }
}

/** vLLM has none in translations, nor if it reports words. */
function addUsage(answer: Record<string, unknown>, seconds: number): boolean {
  answer.usage ??= { type: 'duration', seconds };
  return true;
}

async function speak(services: AudioServices, state: GatewayState): Promise<void> {
  const { exchange } = state;
  const { limits } = services.config();
  const request = await readJsonBody(state, {
    limits,
    interpret: (body) => readSpeech(body, services.config()),
    isKept: true,
  });
  const answer = request.isEventStream
    ? new EventAnswer(exchange, SPEECH_EVENTS)
    : new BytesAnswer(exchange, { types: /^audio\/[\w.+-]+\s*(;|$)/, fallbackType: request.contentType });
  exchange.settle = () => {
    const isHeard = answer instanceof EventAnswer ? answer.events > 0 : answer.bytes > 0;
    if (isHeard && !exchange.bill) settleSpeech(services, state, request.characters);
  };
  const { payload, isEventStream } = request;
  await runAtEngine(services, state, {
    path: '/v1/audio/speech',
    headers: ['content-type', 'application/json', 'accept', isEventStream ? 'text/event-stream' : '*/*'],
    body: payload,
    answer,
    isStream: isEventStream,
  }).finally(exchange.settle);
}

/** As sent by the engine. */
const SPEECH_EVENTS = {
  convert: (event: object) => [event],
  isLast: ({ type }: { type?: unknown }) => type === 'speech.audio.done',
  finish: () => [],
};

/** Uploads have their own deadline: the engine's starts after it. */
async function runAtEngine(
  services: AudioServices,
  state: GatewayState,
  question: EngineQuestion,
): Promise<void> {
  const { exchange } = state;
  const { limits } = services.config();
  const deadline = startRequestDeadline(exchange, limits.requestTimeoutMs, Math.floor(exchange.elapsed()));
  const notices = question.isStream ? noticeEngine(exchange, limits) : null;
  await answerFromEngine(services, state, question).finally(() => {
    clearTimeout(deadline);
    notices?.stop();
  });
}

function settleAudio(services: AudioServices, state: GatewayState, seconds: number): void {
  services.metrics.audioSeconds.inc(seconds);
  services.usage.add('audioMilliseconds', Math.round(seconds * 1000));
  settle(services, state, ({ perAudioMinute }) => ((perAudioMinute ?? 0) * seconds) / SECONDS_PER_MINUTE);
}

function settleSpeech(services: AudioServices, state: GatewayState, characters: number): void {
  services.metrics.speechCharacters.inc(characters);
  services.usage.add('characters', characters);
  settle(services, state, ({ perMillionCharacters }) => ((perMillionCharacters ?? 0) * characters) / MILLION);
}

function settle(
  { config, settlements }: AudioServices,
  { exchange, keyHash: sha256 }: GatewayState,
  findPrice: (pricing: GatewayConfig['pricing']) => number,
): void {
  const { namespace, pricing } = config();
  const micros = settlements.charge({ namespace, sha256, tokens: 0, price: findPrice(pricing) });
  exchange.bill = { usage: null, micros };
}
