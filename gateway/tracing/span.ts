/** What the request path knows of traces: a span, or null where nothing is traced. */
import type { TraceContext } from './trace-context.ts';

/** Of no content: no prompts, no answers, no words of engines. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';

export interface SpanOptions {
  /** `internal` if absent. */
  kind?: SpanKind;
  attributes?: Attributes;
  /** Unix milliseconds; now if absent. */
  startedAt?: number;
}

/** A step of a request. Its headers name it as the parent of what is asked next. */
export interface Span extends TraceContext {
  begin(name: string, options?: SpanOptions): Span;
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** An event; `at`: by performance.now(), now if absent. */
  note(event: string, at?: number): void;
  /** Once; the first of a process ends its part of the trace. With the error that ended the step, if there was one. */
  end(error?: unknown): void;
  /** Ends it as a failure of ours, by its code. */
  fail(code: string): void;
}

/** Does the work within a span of its own, or where nothing is traced as it is, without a promise of its own. */
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
