/** What a GPU shows of a model that hears, or speaks. */
import { readFileSync } from 'node:fs';
import { makeSamples, measureSound, wrapWAV } from '../../simulator/sounds.ts';
import {
  type Checks,
  judge,
  MAX_REASON,
  ms,
  type Outcome,
  post,
  postForm,
  requireOk,
  skipped,
} from './endpoint.ts';
import { checkLeaving, measureRates } from './rates.ts';

const { SOUND, VOICE } = process.env;
/** Tones that no model understands: they show that sound is heard, not how well. */
const makeTones = (seconds: number): Buffer =>
  wrapWAV(
    makeSamples(
      Array.from({ length: seconds * 2 }, (_, index) => 'tone'.repeat(1 + (index % 5))),
      0.5,
    ),
  );
const SECONDS = 10;
/** Engines read half a minute at a time. */
const LONG_SECONDS = 65;
/** A beginning that says WAV, and nothing behind it. */
const NO_SOUND = Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1');
const SPEAKERS = [1, 4, 16];
const LEAVING_CLIENTS = 4;
const SENTENCE = 'The ship came into the harbor at dawn. ';

interface Transcript {
  text: string;
  usage?: { seconds?: number };
}

const sendSound = (sound: Buffer, fields: Record<string, string> = {}): Promise<Response> =>
  postForm('/audio/transcriptions', { file: new File([new Uint8Array(sound)], 'sound.wav'), ...fields });

async function transcribe(sound: Buffer): Promise<Transcript> {
  const response = await requireOk(await sendSound(sound, { temperature: '0' }));
  return (await response.json()) as Transcript;
}

const readSound = (): Buffer => (SOUND ? readFileSync(SOUND) : makeTones(SECONDS));
const quoteText = (text: string): string => JSON.stringify(text.slice(0, MAX_REASON));

async function checkHearing(): Promise<Outcome> {
  const { text, usage } = await transcribe(readSound());
  const what = SOUND ? 'read it' : 'of tones: set SOUND to a file of speech';
  return judge(!SOUND || /\w/.test(text), `${usage?.seconds} s are ${quoteText(text)} (${what})`);
}

async function checkHearingStream(): Promise<Outcome> {
  const { text: whole } = await transcribe(readSound());
  const response = await requireOk(await sendSound(readSound(), { temperature: '0', stream: 'true' }));
  const events = [...(await response.text()).matchAll(/^data: (\{.*\})$/gm)].map(
    ([, data]) => JSON.parse(data!) as { type: string; delta?: string; text?: string },
  );
  const text = events.map(({ delta = '' }) => delta).join('');
  const done = events.find(({ type }) => type === 'transcript.text.done');
  const comparison = text.trim() === whole.trim() ? 'the same text' : 'another text';
  return judge(
    done?.text?.trim() === text.trim(),
    `${events.length} events, ${comparison} as in one piece, ${done ? 'whole' : 'no end'}`,
  );
}

async function checkLongSound(): Promise<Outcome> {
  const { usage } = await transcribe(makeTones(LONG_SECONDS));
  return judge((usage?.seconds ?? 0) >= LONG_SECONDS, `${usage?.seconds} s of ${LONG_SECONDS} s`);
}

async function checkNoSound(): Promise<Outcome> {
  const response = await sendSound(NO_SOUND);
  if (response.status === 429) await requireOk(response);
  const text = (await response.text()).slice(0, MAX_REASON);
  await transcribe(makeTones(1));
  return judge(response.status >= 400 && response.status < 500, `${response.status} ${text}`);
}

const sound = makeTones(SECONDS);

export const TRANSCRIPTION_CHECKS: Checks = {
  'sound becomes text': checkHearing,
  'text is streamed': checkHearingStream,
  'a sound of more than a minute is heard to its end': checkLongSound,
  'what is no sound is refused, and the engine serves on': checkNoSound,
  speed: () => measureRates('seconds of sound', () => transcribe(sound).then(() => SECONDS)),
};

const speak = (input: string, fields: object = {}, signal?: AbortSignal): Promise<Response> =>
  post(
    '/audio/speech',
    { input, response_format: 'wav', ...(VOICE && { voice: VOICE }), ...fields },
    { signal },
  );

/** Seconds; null: it is no sound. */
async function speakWhole(input: string): Promise<number | null> {
  return measureSound(Buffer.from(await (await requireOk(await speak(input))).arrayBuffer()));
}

async function checkSpeaking(): Promise<Outcome> {
  const [short, long] = [await speakWhole('Hello.'), await speakWhole(SENTENCE.repeat(3))];
  if (short === null || long === null) return judge(false, 'it is no WAV');
  return judge(long > short && short > 0, `${short.toFixed(1)} s of a word, ${long.toFixed(1)} s of a text`);
}

async function checkSpeakingStream(): Promise<Outcome> {
  const start = performance.now();
  const response = await speak(SENTENCE.repeat(6), { response_format: 'pcm', stream_format: 'audio' });
  if (response.status === 400) return skipped(`the engine has no streams: ${await response.text()}`);
  let first = 0;
  let bytes = 0;
  for await (const chunk of (await requireOk(response)).body!) {
    first ||= performance.now() - start;
    bytes += chunk.length;
  }
  return judge(
    bytes > 0,
    `${bytes} bytes, the first after ${ms(first)}, the last after ${ms(performance.now() - start)}`,
  );
}

const checkSpeakersLeaving = (): Promise<Outcome> =>
  checkLeaving({
    clients: LEAVING_CLIENTS,
    ask: () => speakWhole('Hello.'),
    open: (signal) => speak(SENTENCE.repeat(30), { response_format: 'pcm', stream_format: 'audio' }, signal),
  });

export const SPEECH_CHECKS: Checks = {
  'a longer text is a longer sound': checkSpeaking,
  'sound is streamed': checkSpeakingStream,
  'clients that leave free the engine': checkSpeakersLeaving,
  speed: () => measureRates('seconds of sound', async () => (await speakWhole(SENTENCE)) ?? 0, SPEAKERS),
};

export const transcribeTone = (): Promise<unknown> => transcribe(makeTones(1));
