/** Server-sent events. */
import type { Call } from './call.ts';
import type { EngineError } from './errors.ts';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

export const formatFrame = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

/** An event that is named by its type. */
export const formatEvent = (data: { type?: string }): string => `event: ${data.type}\n${formatFrame(data)}`;

/** The end of a stream that failed: engines end even this with [DONE], where their dialect has it. */
export const formatFailure = (body: object, { type, message }: EngineError, isNamed: boolean): string =>
  isNamed
    ? formatEvent({ type: 'error', error: { type, message } } as object)
    : `${formatFrame(body)}${LAST_FRAME}`;

export const LAST_FRAME = 'data: [DONE]\n\n';

/** Sends one frame; the first takes the headers with it. */
export function sendFrame(call: Call, data: object, isNamed = false): Promise<void> {
  if (!call.response.headersSent) call.response.writeHead(200, HEADERS);
  return call.write(isNamed ? formatEvent(data) : formatFrame(data));
}

/** Ends the stream after a last piece. */
export function endFrames(call: Call, last: string): void {
  if (!call.response.headersSent) call.response.writeHead(200, HEADERS);
  call.response.end(last);
}
