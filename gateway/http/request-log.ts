/** One line for each request in the log (docs/troubleshoot.md, "Find a request in the log"): no keys, no prompts, nothing else of its content (decision 0289). */
import type { Exchange, GatewayState } from './exchange.ts';

/** Enough to find the key by its `sha256sum`. */
const HASH_DIGITS = 12;
const MICROS = 1_000_000;

// A type rather than an interface, so that it is assignable to a plain record.
export type RequestLine = {
  request_id: string;
  trace_id: string | undefined;
  method: string | undefined;
  route: string;
  status: number;
  /** Code of the error that was answered. */
  error: string | undefined;
  /** Present if true. */
  client_disconnected: true | undefined;
  duration_ms: number;
  /** Before an engine took it; absent below a millisecond. */
  wait_ms: number | undefined;
  /** Set for streams. */
  time_to_first_token_ms: number | undefined;
  /** Name of the APIKey. */
  api_key: string | undefined;
  /** First digits of its SHA-256. */
  api_key_hash: string | undefined;
  /** Address of the replica whose engine responded, if not the one that logs. */
  peer: string | undefined;
  /** The deployment that answered, if several versions share the traffic. */
  version: string | undefined;
  /** Types of tools that only a server could run, which the engine was not sent. */
  omitted_tools: string | undefined;
  /** Parameters that the engine ignores. */
  ignored_parameters: string | undefined;
  input_tokens: number | undefined;
  cached_input_tokens: number | undefined;
  output_tokens: number | undefined;
  /** In the currency of prices. */
  cost: number | undefined;
};

/** Unknown fields are undefined, which a line omits. */
export function describeRequestLine(
  { exchange, keyHash, keyName }: Pick<GatewayState, 'exchange' | 'keyHash' | 'keyName'>,
  { route, status, durationMs }: { route: string; status: number; durationMs: number },
): RequestLine {
  const { bill } = exchange.account;
  return {
    request_id: exchange.requestId,
    trace_id: exchange.trace?.traceId,
    method: exchange.req.method,
    route,
    status,
    error: exchange.errorCode ?? undefined,
    client_disconnected: exchange.hasClientLeft || undefined,
    duration_ms: Math.round(durationMs),
    wait_ms: Math.round(exchange.waitedMs) || undefined,
    time_to_first_token_ms: readFirstTokenMs(exchange),
    api_key: keyName || undefined,
    api_key_hash: keyHash?.slice(0, HASH_DIGITS),
    peer: exchange.peer ?? undefined,
    version: exchange.version ?? undefined,
    omitted_tools: exchange.omittedTools ?? undefined,
    ignored_parameters: exchange.ignoredParameters ?? undefined,
    input_tokens: bill?.usage?.inputTokens,
    cached_input_tokens: bill?.usage?.cachedInputTokens,
    output_tokens: bill?.usage?.outputTokens,
    cost: bill ? bill.micros / MICROS : undefined,
  };
}

const readFirstTokenMs = ({ stream, firstByteAt, startedAt }: Exchange): number | undefined =>
  stream && firstByteAt > 0 ? Math.round(firstByteAt - startedAt) : undefined;
