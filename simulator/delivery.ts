/** Sends a response at the configured speed, or breaks it. */
import { abortStream, endAborted, markAborted } from './aborted-call.ts';
import type { Answer, Frame } from './answer.ts';
import type { Call } from './call.ts';
import type { Engine } from './engine.ts';
import type { Exchange } from './exchange.ts';
import { type BreakingFault, breakBody, breakStream } from './faults.ts';
import { mergeFrames } from './frame-merging.ts';
import { endFrames, LAST_FRAME, sendFrame } from './sse.ts';

export interface Delivery {
  answer: Answer;
  /** Milliseconds to the first token, and between tokens. */
  ttftMs: number;
  itlMs: number;
  fault: BreakingFault | null;
}

/** Throws ClientDisconnectedError if the client disconnects early. */
export async function deliver({ engine, call }: Exchange, delivery: Delivery): Promise<void> {
  const { answer, ttftMs, itlMs, fault } = delivery;
  if (answer.frames) {
    const { answers, tokensPerFrame } = engine.personality;
    const frames = mergeFrames(answer.frames(), tokensPerFrame);
    return streamAnswer(engine, call, answers?.dressFrames(frames) ?? frames, delivery);
  }
  const { signal } = engine.stopping;
  const duration = ttftMs + itlMs * Math.max(answer.steps - 1, 0);
  if (duration > 0) await call.wait(performance.now() + duration, signal);
  if (engine.isHanging) return call.waitForClose();
  if (answer.bytes) return sendBytes(engine, call, { bytes: answer.bytes, fault });
  const built = answer.buildBody();
  const body = engine.personality.answers?.dressBody(built) ?? built;
  const isAborted = signal.aborted || fault?.kind === 'abort';
  const text = JSON.stringify(isAborted ? markAborted(body) : body);
  engine.activity.outputAt = performance.now();
  if (fault && !isAborted) return breakBody(call, fault, text);
  call.sendText(200, text, 'application/json');
}

async function sendBytes(
  engine: Engine,
  call: Call,
  {
    bytes: { content, headers },
    fault,
  }: { bytes: NonNullable<Answer['bytes']>; fault: BreakingFault | null },
): Promise<void> {
  engine.activity.outputAt = performance.now();
  for (const [name, value] of Object.entries(headers)) call.response.setHeader(name, value);
  if (fault) return breakBody(call, fault, content, BYTES_TYPE);
  call.sendBytes(content, BYTES_TYPE);
}

const BYTES_TYPE = 'application/octet-stream';

async function streamAnswer(
  engine: Engine,
  call: Call,
  frames: Iterable<Frame>,
  { answer, ttftMs, itlMs, fault }: Delivery,
): Promise<void> {
  const { signal } = engine.stopping;
  const isNamed = answer.isNamed ?? false;
  // Times are relative to the start, so that late timers do not accumulate.
  const start = performance.now() + ttftMs;
  let sent = 0;
  for (const next of frames) {
    if (sent === fault?.afterFrames)
      return fault.kind === 'abort' ? endAborted(call, { next, answer }) : breakStream(call, fault, isNamed);
    const due = start + next.step * itlMs;
    // Frames that are due together still go out one by one, as an engine sends them.
    if (sent > 0 || due > performance.now()) await call.wait(due, signal);
    if (signal.aborted) return abortStream(engine, call, { next, answer });
    await sendFrame(call, next.data, isNamed);
    engine.activity.outputAt = performance.now();
    sent++;
  }
  if (fault && fault.kind !== 'abort') return breakStream(call, fault, isNamed);
  endFrames(call, isNamed ? '' : LAST_FRAME);
}
