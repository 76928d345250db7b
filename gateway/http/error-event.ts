/** The last event of a broken stream (docs/api.md, "Streaming"), in the format of its route. */
import type { IncomingMessage } from 'node:http';
import { type ApiError, buildAnthropicError, buildEnvelope, readErrorDialect } from './error-response.ts';
import { readRoutePath } from './request-path.ts';

const RESPONSES_PATH = '/v1/responses';

export interface BrokenStream {
  req: Pick<IncomingMessage, 'url' | 'headers'>;
  requestId: string;
  /** Events sent so far, if known. */
  events?: number | undefined;
}

export function formatErrorEvent(error: ApiError, { req, requestId, events }: BrokenStream): string {
  if (readErrorDialect(req) === 'anthropic')
    return formatNamed('error', buildAnthropicError(error, requestId));
  const envelope = buildEnvelope(error);
  if (!readRoutePath(req.url).startsWith(RESPONSES_PATH)) return `data: ${JSON.stringify(envelope)}\n\n`;
  const { code, message, param } = envelope.error;
  // Flat as in OpenAI's API, and with the envelope, which makes its SDKs throw.
  const event = { type: 'error', sequence_number: events, code, message, param, ...envelope };
  return formatNamed('error', event);
}

const formatNamed = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
