/** Tracing as seen by the request path: a span, or null if tracing is off. */
import type { IncomingHttpHeaders } from 'node:http';

/** The caller's place in a distributed trace (W3C Trace Context): logged, and passed on to engines. */
export interface TraceContext {
  /** 32 hex digits. */
  traceId: string;
  /** As sent to engines. */
  headers: { traceparent: string; tracestate?: string };
}

/** Without content: no prompts, no output, no engine messages. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';

export interface SpanOptions {
  /** `internal` if absent. */
  kind?: SpanKind;
  attributes?: Attributes;
  /** Unix milliseconds; now if absent. */
  startedAt?: number;
}

/** A step of a request. Its headers make it the parent of the next call. */
export interface Span extends TraceContext {
  begin(name: string, options?: SpanOptions): Span;
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** An event; `at`: by performance.now(), now if absent. */
  note(event: string, at?: number): void;
  /** Call once; the first span of a process ends its part of the trace. With the error that ended the step, if any. */
  end(error?: unknown): void;
  /** Ends it as an internal failure, by its code. */
  fail(code: string): void;
}

export interface RootOptions extends SpanOptions {
  /** The parent, possibly in another process. */
  parent: TraceContext | null;
}

export interface Tracer {
  /** The first span of this process in a trace: when it ends, all are exported if the trace is sampled or one has failed. */
  begin(name: string, options: RootOptions): Span;
  /** Exports the rest, within a short time limit. */
  close(): Promise<void>;
}

/** Runs the work within its own span; without tracing it runs directly, without an extra promise. */
export const inSpan = <T>(
  parent: Span | null | undefined,
  name: string,
  work: (span: Span | null) => T,
  options?: SpanOptions,
): T | Promise<Awaited<T>> => (parent ? workInSpan(parent.begin(name, options), work) : work(null));

async function workInSpan<T>(span: Span, work: (span: Span) => T): Promise<Awaited<T>> {
  try {
    const result = await work(span);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
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
