/** Keeps the spans of a trace in memory until its part in this process ends, and decides then whether they are exported (decision 0287). */
import { randomBytes } from 'node:crypto';
import type { TracingSettings } from '../../kit/tracing-settings.ts';
import { SpanExporter, type TracerOptions } from './exporter.ts';
import type { SpanRecord } from './otlp.ts';
import {
  type Attributes,
  isSampled,
  type Span,
  type SpanOptions,
  type TraceContext,
  type Tracer,
} from './span.ts';

export function createTracer(
  { endpoint, sampleRatio }: TracingSettings,
  options: TracerOptions,
  random: () => number = Math.random,
): Tracer {
  const exporter = new SpanExporter(endpoint, options);
  return {
    begin: (name, { parent, ...more }) => {
      // The caller has decided for the whole trace.
      const sampled = parent ? isSampled(parent) : random() < sampleRatio;
      const recording = new Recording(parent, sampled, (spans) => exporter.add(spans));
      return recording.begin(name, parent?.headers.traceparent.slice(36, 52), more);
    },
    close: () => exporter.close(),
  };
}

class Recording {
  readonly traceId: string;
  readonly isSampled: boolean;
  readonly tracestate: string | undefined;
  /** Unix milliseconds at which performance.now() was 0, by the current clock. */
  readonly #origin = Date.now() - performance.now();
  readonly #onEnd: (spans: readonly SpanRecord[]) => void;
  readonly #spans: SpanRecord[] = [];
  #hasFailed = false;
  #hasEnded = false;

  constructor(parent: TraceContext | null, sampled: boolean, onEnd: (spans: readonly SpanRecord[]) => void) {
    this.traceId = parent?.traceId ?? randomBytes(16).toString('hex');
    this.tracestate = parent?.headers.tracestate;
    this.isSampled = sampled;
    this.#onEnd = onEnd;
  }

  begin(
    name: string,
    parentSpanId: string | undefined,
    { kind = 'internal', attributes = {}, startedAt = this.toUnix() }: SpanOptions,
  ): RecordedSpan {
    const record: SpanRecord = {
      traceId: this.traceId,
      spanId: randomBytes(8).toString('hex'),
      parentSpanId,
      tracestate: this.tracestate,
      name,
      kind,
      startedAt,
      endedAt: 0,
      attributes: { ...attributes },
      events: [],
      hasFailed: false,
    };
    this.#spans.push(record);
    return new RecordedSpan(this, record);
  }

  toUnix(at = performance.now()): number {
    return this.#origin + at;
  }

  end(record: SpanRecord): void {
    this.#hasFailed ||= record.hasFailed;
    if (record !== this.#spans[0] || this.#hasEnded) return;
    this.#hasEnded = true;
    // Work that outlives the request has no end to wait for.
    for (const span of this.#spans) span.endedAt ||= record.endedAt;
    if (this.isSampled || this.#hasFailed) this.#onEnd(this.#spans);
  }
}

class RecordedSpan implements Span {
  readonly traceId: string;
  readonly headers: TraceContext['headers'];
  readonly #recording: Recording;
  readonly #record: SpanRecord;

  constructor(recording: Recording, record: SpanRecord) {
    this.#recording = recording;
    this.#record = record;
    this.traceId = recording.traceId;
    const { isSampled, tracestate } = recording;
    const traceparent = `00-${this.traceId}-${record.spanId}-${isSampled ? '01' : '00'}`;
    this.headers = tracestate === undefined ? { traceparent } : { traceparent, tracestate };
  }

  begin(name: string, options: SpanOptions = {}): Span {
    return this.#recording.begin(name, this.#record.spanId, options);
  }

  rename(name: string): void {
    this.#record.name = name;
  }

  set(attributes: Attributes): void {
    Object.assign(this.#record.attributes, attributes);
  }

  note(event: string, at?: number): void {
    this.#record.events.push({ name: event, at: this.#recording.toUnix(at) });
  }

  end(error?: unknown): void {
    if (error === undefined || error === null) this.#end();
    else if (isFault(error)) this.fail(findCode(error));
    else {
      this.set({ 'error.type': findCode(error) });
      this.#end();
    }
  }

  fail(code: string): void {
    this.set({ 'error.type': code });
    this.#record.hasFailed = true;
    this.#end();
  }

  #end(): void {
    if (this.#record.endedAt > 0) return;
    this.#record.endedAt = this.#recording.toUnix();
    this.#recording.end(this.#record);
  }
}

/** Only the code: engines' messages may repeat a prompt. */
function findCode(error: unknown): string {
  if (typeof error === 'string') return error;
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name ?? typeof error);
}

/** Not client errors or disconnects, nor the reason of an abort. */
function isFault(error: unknown): boolean {
  const { status } = error as { status?: unknown };
  return typeof error !== 'string' && !(typeof status === 'number' && status < 500);
}
