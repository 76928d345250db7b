/** Tracing as seen by the request path: a span, or null if tracing is off. */
import type { TraceContext } from './trace-context.ts';

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
