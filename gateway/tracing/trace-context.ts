/** The caller's place in a distributed trace (W3C Trace Context): logged, and passed on to engines. */
import type { IncomingHttpHeaders } from 'node:http';

export interface TraceContext {
  /** 32 hex digits. */
  traceId: string;
  /** As sent to engines. */
  headers: { traceparent: string; tracestate?: string };
}

/** For versions after 00 only the beginning is defined. */
const TRACEPARENT =
  /^(?!ff)(?<version>[0-9a-f]{2})-(?<traceId>(?!0{32})[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?<rest>-[\w-]{0,64})?$/;
/** The specification's own limit is 512. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** null if the caller sent none, or an invalid one. */
export function readTraceContext({ traceparent, tracestate }: IncomingHttpHeaders): TraceContext | null {
  if (typeof traceparent !== 'string') return null;
  const { version, traceId, rest } = TRACEPARENT.exec(traceparent)?.groups ?? {};
  if (!traceId || (version === '00' && rest !== undefined)) return null;
  const hasState = typeof tracestate === 'string' && TRACESTATE.test(tracestate);
  return { traceId, headers: { traceparent, ...(hasState && { tracestate }) } };
}

/** Whether the sender records its trace: the lowest bit of the flags. */
export const isSampled = ({ headers: { traceparent } }: TraceContext): boolean =>
  (Number.parseInt(traceparent.slice(53, 55), 16) & 1) === 1;
