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

/** More digits than a number can hold. */
const toNanoseconds = (ms: number): string => `${Math.round(ms * 1_000)}000`;

const encodeAttributes = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: encodeValue(value) }],
  );

function encodeValue(value: string | number | boolean) {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
