/** Spans in the JSON of OTLP (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). */
import type { Attributes, SpanKind } from './span.ts';

export interface SpanRecord {
  /** 32 hex digits, and 16 for spans. */
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  tracestate: string | undefined;
  name: string;
  kind: SpanKind;
  /** Unix milliseconds, with a fraction. */
  startedAt: number;
  /** 0 until it ends. */
  endedAt: number;
  attributes: Record<string, Attributes[string]>;
  events: { name: string; at: number }[];
  hasFailed: boolean;
}

const KINDS: Record<SpanKind, number> = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 };
const STATUS_ERROR = 2;

/** The body of a request to `/v1/traces`. */
export const encodeSpans = (spans: readonly SpanRecord[], resource: Attributes): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: encodeAttributes(resource) },
        scopeSpans: [{ scope: { name: 'berth' }, spans: spans.map(encodeSpan) }],
      },
    ],
  });

const encodeSpan = (span: SpanRecord) => ({
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId,
  traceState: span.tracestate,
  name: span.name,
  kind: KINDS[span.kind],
  startTimeUnixNano: toNanoseconds(span.startedAt),
  endTimeUnixNano: toNanoseconds(span.endedAt),
  attributes: encodeAttributes(span.attributes),
  events: span.events.map(({ name, at }) => ({ name, timeUnixNano: toNanoseconds(at) })),
  ...(span.hasFailed && { status: { code: STATUS_ERROR } }),
});

/** Its nanoseconds have 64 bits: the year 2255. */
const MAX_TIME_MS = 9_000_000_000_000;

/** More digits than a number can hold. */
const toNanoseconds = (ms: number): string =>
  `${Math.round(Math.max(0, Math.min(ms, MAX_TIME_MS)) * 1_000)}000`;

const encodeAttributes = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: encodeValue(value) }],
  );

/** A receiver refuses the whole batch for an integer of more than 64 bits, or half a character. */
function encodeValue(value: string | number | boolean) {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Number.isSafeInteger(value)) return { intValue: String(value) };
  return { doubleValue: Number.isFinite(value) ? value : String(value) };
}
