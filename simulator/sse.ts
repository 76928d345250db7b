/** Server-sent events. */
import type { Call } from './call.ts';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

export const formatFrame = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

/** Sends one frame; the first takes the headers with it. */
export function sendFrame(call: Call, data: object): Promise<void> {
  if (!call.response.headersSent) call.response.writeHead(200, HEADERS);
  return call.write(formatFrame(data));
}

/** Ends the stream after a last piece. */
export function endFrames(call: Call, last: string): void {
  if (!call.response.headersSent) call.response.writeHead(200, HEADERS);
  call.response.end(last);
}
