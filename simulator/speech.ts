/** POST /v1/audio/speech: a tone for each word of the text, at once or as it is made. */
import type { Call } from './call.ts';
import { refuse, refuseField } from './errors.ts';
import { checkBody, type Exchange } from './exchange.ts';
import { type BreakingFault, breakBody, breakStream, strike } from './faults.ts';
import { type Fields, readBoolean, readChoice, readNumber } from './fields.ts';
import { countSeconds, makeSamples, makeSilentMP3, wrapWAV } from './sounds.ts';
import { formatFrame, sendFrame } from './sse.ts';

const MAX_CHARACTERS = 4096;
const SECONDS_PER_WORD = 0.3;
const FORMATS = ['wav', 'mp3', 'pcm'] as const;
const TYPES = { wav: 'audio/wav', mp3: 'audio/mpeg', pcm: 'audio/pcm' } as const;
/** A fifth of a second of a streamed answer. */
const PIECE_BYTES = 9_600;

interface Speech {
  type: string;
  bytes: Buffer;
  stream: 'audio' | 'sse' | null;
}

export async function serveSpeech(exchange: Exchange): Promise<void> {
  const { engine, call } = exchange;
  const fault = engine.settings.takeFault();
  const breaking = fault && strike(call, fault, engine.options.exit);
  if (fault && !breaking) return;

  const speech = makeSpeech(checkBody(exchange));
  await call.waitForSlot(engine.slots);
  try {
    await call.wait(performance.now() + engine.settings.current.ttftMs);
    if (speech.stream) await streamSpeech(exchange, speech, breaking);
    else if (breaking) await breakBody(call, breaking, speech.bytes, speech.type);
    else call.sendBytes(speech.bytes, speech.type);
    engine.activity.totals.answered++;
  } finally {
    engine.slots.leave();
  }
}

function makeSpeech(fields: Fields): Speech {
  const { input, voice } = fields;
  if (typeof input !== 'string') throw refuseField(['input'], 'Field required');
  if (input.trim() === '') throw refuse('Input text cannot be empty', 'input');
  if (input.length > MAX_CHARACTERS)
    throw refuse(`input must have at most ${MAX_CHARACTERS} characters, got ${input.length}.`, 'input');
  if ((voice ?? '') !== '' && typeof voice !== 'string' && typeof (voice as Fields).id !== 'string')
    throw refuseField(['voice'], 'Input should be a valid string');
  const format = readChoice(fields, 'response_format', FORMATS) ?? 'wav';
  const speed = readNumber(fields, 'speed', { min: 0.25, max: 4 }) ?? 1;
  const asked = readChoice(fields, 'stream_format', ['audio', 'sse']);
  const stream = asked ?? (readBoolean(fields, 'stream') ? 'sse' : null);
  if (stream && format === 'mp3')
    throw refuse("Streaming requires response_format='pcm' or 'wav'.", 'response_format');
  const samples = makeSamples(input.trim().split(/\s+/), SECONDS_PER_WORD / speed);
  const make = {
    wav: () => wrapWAV(samples),
    mp3: () => makeSilentMP3(countSeconds(samples)),
    pcm: () => samples,
  };
  return { type: TYPES[format], bytes: make[format](), stream };
}

function breakPieces(call: Call, fault: BreakingFault, stream: Speech['stream']): void | Promise<void> {
  if (stream === 'sse' || fault.kind === 'hang') return breakStream(call, fault, false);
  // Bytes have no words for an error.
  if (fault.kind !== 'end') return breakStream(call, { ...fault, kind: 'drop' }, false);
  call.response.end();
}

async function streamSpeech(
  { engine, call }: Exchange,
  speech: Speech,
  fault: BreakingFault | null,
): Promise<void> {
  const { itlMs } = engine.settings.current;
  const { bytes, type, stream } = speech;
  let sent = 0;
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (sent === fault?.afterFrames) return breakPieces(call, fault, stream);
    if (sent > 0) await call.wait(performance.now() + itlMs);
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    if (stream === 'sse')
      await sendFrame(call, { type: 'speech.audio.delta', audio: piece.toString('base64') });
    else {
      if (!call.response.headersSent) call.response.writeHead(200, { 'content-type': type });
      await call.write(piece);
    }
    sent++;
  }
  if (stream === 'sse') await call.write(formatFrame({ type: 'speech.audio.done', usage: null }));
  call.response.end();
}
