/** The audio routes: transcription, translation and speech. */
import { BytesAnswer } from '../engine/bytes-answer.ts';
import { EventAnswer } from '../engine/event-answer.ts';
import { WholeAnswer } from '../engine/whole-answer.ts';
import { answerTurns } from '../http/body-parsing.ts';
import type { GatewayState } from '../http/exchange.ts';
import { readJsonBody } from '../http/json-body.ts';
import {
  answerFromEngine,
  type EngineQuestion,
  noticeEngine,
  reserveLazily,
} from '../run/engine-question.ts';
import { startRequestDeadline } from '../run/engine-run.ts';
import type { Spool } from '../storage/spool.ts';
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
    exchange.account.meter = {
      charge: () => {
        if (answer instanceof EventAnswer && answer.events > 0) seconds = request.seconds;
        return seconds === null ? null : services.ledger.chargeAudio(state, seconds);
      },
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
    }).finally(() => exchange.account.settle());
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
  exchange.account.meter = {
    charge: () => {
      const isHeard = answer instanceof EventAnswer ? answer.events > 0 : answer.bytes > 0;
      return isHeard ? services.ledger.chargeSpeech(state, request.characters) : null;
    },
  };
  const { payload, isEventStream } = request;
  await runAtEngine(services, state, {
    path: '/v1/audio/speech',
    headers: ['content-type', 'application/json', 'accept', isEventStream ? 'text/event-stream' : '*/*'],
    body: payload,
    answer,
    isStream: isEventStream,
  }).finally(() => exchange.account.settle());
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
