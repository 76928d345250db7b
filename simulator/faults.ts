/** What each fault does to a call. */
import type { Call } from './call.ts';
import { EngineError } from './errors.ts';
import type { ErrorShape, Fault } from './settings.ts';
import { endFrames, formatFailure } from './sse.ts';

/** A fault that breaks the response after its start. */
export type BreakingFault = Extract<Fault, { afterFrames: number }>;

export const OUT_OF_MEMORY = new EngineError(
  500,
  'InternalServerError',
  'CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 512.00 MiB ' +
    'is free. Including non-PyTorch memory, this process has 23.18 GiB memory in use.',
);
export const BROKEN = new EngineError(500, 'InternalServerError', 'EngineCore encountered an issue.');

/** Responds with a fault that needs no response to break; returns the fault if it does. */
export function strike(call: Call, fault: Fault, exit: () => void): BreakingFault | null {
  switch (fault.kind) {
    case 'status':
      sendStatus(call, fault.status, fault.body);
      return null;
    case 'oom':
      call.sendRefusal(OUT_OF_MEMORY);
      return null;
    case 'exit':
      exit();
      call.cut();
      return null;
    default:
      return fault;
  }
}

function sendStatus(call: Call, status: number, body: unknown): void {
  if (body === undefined) {
    const { type, message } = BROKEN;
    call.sendRefusal(new EngineError(status, type, message));
  } else if (typeof body === 'string') call.sendText(status, body);
  else call.sendText(status, JSON.stringify(body), 'application/json');
}

/** Breaks a stream of which `afterFrames` frames have been sent. */
export async function breakStream(call: Call, fault: BreakingFault, isNamed: boolean): Promise<void> {
  switch (fault.kind) {
    case 'drop':
      // Node hands the last frame to the socket only after this turn of the event loop.
      await call.wait(0);
      return call.cut();
    case 'end':
    case 'abort':
      return endFrames(call, '');
    case 'error-frame':
      return endFrames(call, formatFailure(describeFailure(fault.shape), BROKEN, isNamed));
    case 'hang':
      return call.waitForClose();
  }
}

/** Breaks an answer that would have been this. */
export async function breakBody(
  call: Call,
  fault: BreakingFault,
  body: string | Buffer,
  type = 'application/json',
): Promise<void> {
  const bytes = Buffer.from(body);
  const half = bytes.subarray(0, bytes.length >> 1);
  switch (fault.kind) {
    case 'drop':
      call.response.writeHead(200, {
        'content-type': type,
        'content-length': bytes.length,
      });
      return call.cut(half);
    case 'end':
    case 'abort':
      return call.sendBytes(half, type);
    case 'error-frame':
      return call.sendJSON(500, describeFailure(fault.shape));
    case 'hang':
      return call.waitForClose();
  }
}

function describeFailure(shape: ErrorShape): object {
  const nested = BROKEN.toBody();
  if (shape === 'nested') return nested;
  return shape === 'flat' ? { object: 'error', ...nested.error } : { detail: nested.error.message };
}
