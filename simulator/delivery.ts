/** Sends an answer at the speed that the settings ask for, or breaks it. */
import type { Answer, Frame } from './answer.ts';
import type { Call } from './call.ts';
import { type BreakingFault, breakBody, breakStream } from './faults.ts';
import { endFrames, sendFrame } from './sse.ts';

export interface Pace {
  ttftMs: number;
  itlMs: number;
}

/** Throws ClientGone when the client leaves before the end. */
export async function deliver(
  call: Call,
  answer: Answer,
  pace: Pace,
  fault: BreakingFault | null,
): Promise<void> {
  if (answer.frames) return streamAnswer(call, answer.frames(), pace, fault);
  const duration = pace.ttftMs + pace.itlMs * Math.max(answer.steps - 1, 0);
  if (duration > 0) await call.wait(performance.now() + duration);
  const text = JSON.stringify(answer.buildBody());
  if (fault) return breakBody(call, fault, text);
  call.sendText(200, text, 'application/json');
}

async function streamAnswer(
  call: Call,
  frames: Iterable<Frame>,
  pace: Pace,
  fault: BreakingFault | null,
): Promise<void> {
  // Moments are reckoned from the start, so that late timers do not add up.
  const start = performance.now() + pace.ttftMs;
  let sent = 0;
  for (const { step, data } of frames) {
    if (sent === fault?.afterFrames) return breakStream(call, fault);
    const due = start + step * pace.itlMs;
    // Frames that are due together still go out one by one, as an engine sends them.
    if (sent > 0 || due > performance.now()) await call.wait(due);
    await sendFrame(call, data);
    sent++;
  }
  if (fault) return breakStream(call, fault);
  endFrames(call, 'data: [DONE]\n\n');
}
