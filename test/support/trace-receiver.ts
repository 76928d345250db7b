/** A receiver of traces by OTLP over HTTP, like a collector. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pollUntil } from './poll.ts';

export interface ReceivedSpan {
  name: string;
  traceId: string;
  spanId: string;
  /** '' of a root. */
  parentSpanId: string;
  /** SPAN_KIND_INTERNAL is 1, then server, client, producer, consumer. */
  kind: number;
  /** Unix milliseconds. */
  start: number;
  end: number;
  attributes: Record<string, unknown>;
  events: string[];
  isError: boolean;
  /** Attributes of the program. */
  resource: Record<string, unknown>;
}

export interface TraceReceiver {
  endpoint: string;
  spans: ReceivedSpan[];
  /** All received bodies. */
  bodies: string[];
  /** Status of its responses. */
  status: number;
  answer: string;
  /** The spans of a trace, once these are among them. */
  untilComplete(isTrace: (span: ReceivedSpan) => boolean, names: readonly string[]): Promise<ReceivedSpan[]>;
  stop(): void;
}

export async function startTraceReceiver(): Promise<TraceReceiver> {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (receiver.status === 200) {
      receiver.bodies.push(body);
      receiver.spans.push(...readSpans(body));
    }
    response.writeHead(receiver.status, { 'content-type': 'application/json' }).end(receiver.answer);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: TraceReceiver = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    bodies: [],
    status: 200,
    answer: '{}',
    untilComplete: async (isTrace, names) => {
      const list = () => receiver.spans.filter(isTrace);
      const isComplete = () => {
        const found = list().map(({ name }) => name);
        return names.every((name) => found.includes(name));
      };
      await pollUntil(isComplete, 'all spans', 20_000).catch((error) => {
        throw new Error(`${error.message}: ${list().map(({ name }) => name)}`);
      });
      return list();
    },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return receiver;
}

type Attribute = { key: string; value: Record<string, unknown> };

const readAttributes = (list: Attribute[]): Record<string, unknown> =>
  Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]]));
const toMs = (nanoseconds: string): number => Number(nanoseconds) / 1e6;

function readSpans(body: string): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body);
  // biome-ignore lint/suspicious/noExplicitAny: as it came
  return resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    // biome-ignore lint/suspicious/noExplicitAny: as it came
    scopeSpans.flatMap(({ spans }: any) =>
      // biome-ignore lint/suspicious/noExplicitAny: as it came
      spans.map((span: any) => ({
        ...span,
        parentSpanId: span.parentSpanId ?? '',
        start: toMs(span.startTimeUnixNano),
        end: toMs(span.endTimeUnixNano),
        attributes: readAttributes(span.attributes),
        events: span.events.map(({ name }: { name: string }) => name),
        isError: span.status?.code === 2,
        resource: readAttributes(resource.attributes),
      })),
    ),
  );
}
