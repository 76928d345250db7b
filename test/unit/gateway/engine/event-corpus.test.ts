import { expect } from 'chai';
import { openMessagesDialect, RESPONSES_DIALECT } from '../../../../gateway/engine/event-dialects.ts';
import { EventFilter } from '../../../../gateway/engine/event-filter.ts';
import { SseFilter } from '../../../../gateway/engine/sse-filter.ts';
import type { StreamWatch } from '../../../../gateway/engine/stream-answer.ts';
import { isObject } from '../../../../kit/json.ts';
import { parseStream } from '../../../support/parsed-events.ts';

const MODEL = 'org/möwe';
const DONE = '[DONE]';
const USAGE = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };

type Payload = Record<string, unknown>;
interface Dialect {
  /** As vLLM, SGLang and llama.cpp send them. */
  events: readonly Payload[];
  isNamed: boolean;
  open(): StreamWatch;
}

const openChunks = () => new SseFilter({ modelId: MODEL, isUsageWanted: true });
const unchanged = { isThorough: false, complete: () => false };
const chunk = (object: string, choice: Payload | null, more: Payload = {}): Payload => ({
  id: 'x-1',
  object,
  created: 1,
  model: MODEL,
  choices: choice ? [{ index: 0, logprobs: null, finish_reason: null, ...choice }] : [],
  ...more,
});
const chat = chunk.bind(null, 'chat.completion.chunk');
const text = chunk.bind(null, 'text_completion');
const response = { id: 'resp_1', object: 'response', model: MODEL, output: [] };

const DIALECTS: Record<string, Dialect> = {
  chat: {
    events: [
      chat({ delta: { role: 'assistant', content: '' } }),
      chat({ delta: { reasoning_content: 'Größe: 日本 🚢\n\ndata: 1' } }),
      chat({ delta: { content: 'event: x\r\n"usage" "error": [DONE]' } }, { usage: null }),
      chat({ delta: { tool_calls: [{ index: 0, function: { arguments: '{"a":"\\"}' } }] } }),
      chat({ delta: {}, finish_reason: 'stop' }, { usage: USAGE }),
      chat(null, { usage: USAGE }),
    ],
    isNamed: false,
    open: openChunks,
  },
  completions: {
    events: [
      text({ text: 'ä' }),
      text({ text: '\u2028', finish_reason: 'length' }),
      text(null, { usage: USAGE }),
    ],
    isNamed: false,
    open: openChunks,
  },
  responses: {
    events: [
      { type: 'response.created', sequence_number: 0, response: { ...response, usage: null } },
      { type: 'response.output_text.delta', sequence_number: 1, delta: 'Größe\n\n' },
      { type: 'response.function_call_arguments.delta', sequence_number: 2, delta: '{"a":' },
      {
        type: 'response.completed',
        sequence_number: 3,
        response: { ...response, usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 } },
      },
    ],
    isNamed: true,
    open: () => new EventFilter(RESPONSES_DIALECT, unchanged),
  },
  messages: {
    events: [
      {
        type: 'message_start',
        message: { id: 'm', model: MODEL, usage: { input_tokens: 9, output_tokens: 0 } },
      },
      { type: 'ping' },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Größe: 日本 🚢' } },
      { type: 'message_delta', delta: {}, usage: { output_tokens: 2 } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ],
    isNamed: true,
    open: () => new EventFilter(openMessagesDialect(), unchanged),
  },
};

/** Numbers from 0 to 1, the same in each run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Lines that some engine or proxy puts around those of an event. */
const NOISE = ['id: 7', 'id', 'retry: 3000', ': ping', ':', 'foo: bar', ': größe', 'data'];
const ENDS = { LF: ['\n'], CR: ['\r'], 'CR LF': ['\r\n'], 'all line ends': ['\n', '\r', '\r\n'] };

/** The lines of a stream; with a seed, with noise, and with events over several lines, in other orders, or without a name. */
function writeLines({ events, isNamed }: Dialect, seed: number): string[] {
  const random = createRandom(seed);
  const isNoisy = seed > 0;
  const happens = (share: number) => isNoisy && random() < share;
  const lines: string[] = [];
  const makeNoise = () => {
    if (!happens(0.4)) return;
    const line = NOISE[Math.floor(random() * NOISE.length)]!;
    // A line of data alone is an event; within another, it would be a part of it.
    lines.push(line, ...(line === 'data' || happens(0.5) ? [''] : []));
  };
  for (const payload of events) {
    makeNoise();
    if (lines.at(-1) !== '' && lines.at(-1)?.startsWith('data')) lines.push('');
    const body = (happens(0.3) ? JSON.stringify(payload, null, 1) : JSON.stringify(payload)).split('\n');
    const data = body.map((line) => `data:${happens(0.3) ? '' : ' '}${line}`);
    const name = isNamed !== happens(0.2) ? [`event: ${payload.type ?? 'message'}`] : [];
    lines.push(...(happens(0.3) ? [...data, ...name] : [...name, ...data]));
    if (happens(0.3)) lines.push('id: 8', ': within');
    lines.push('');
    if (happens(0.2)) lines.push('');
  }
  if (!isNamed) lines.push(`data: ${DONE}`, '');
  return lines;
}

interface Event {
  event: string | undefined;
  data: string;
}

/** What a client should get, by the independent parser; names of other dialects come from the type. */
function readExpected(stream: string, { isNamed }: Dialect): { events: Event[]; comments: string[] } {
  const { events, comments } = parseStream(stream);
  const expected = events.flatMap(({ data }): Event[] => {
    if (data === DONE) return [{ event: undefined, data }];
    const payload = data === '' ? null : JSON.parse(data);
    return isObject(payload)
      ? [{ event: isNamed ? String(payload.type) : undefined, data: JSON.stringify(payload) }]
      : [];
  });
  return { events: expected, comments };
}

function readPassed(stream: string): { events: Event[]; comments: string[] } {
  const { events, comments } = parseStream(stream);
  for (const { id } of events) expect(id).to.equal(undefined);
  const compact = (data: string) => (data === DONE ? data : JSON.stringify(JSON.parse(data)));
  return { events: events.map(({ event, data }) => ({ event, data: compact(data) })), comments };
}

function filter(dialect: Dialect, pieces: readonly Buffer[]): string {
  const watch = dialect.open();
  let output = '';
  for (const piece of pieces) output += watch.push(piece) ?? '';
  output += watch.end() ?? '';
  expect([watch.failure, watch.isDone]).to.deep.equal([null, true]);
  return Buffer.from(output, 'latin1').toString();
}

/** The first difference alone. */
function expectSame(passed: readonly unknown[], expected: readonly unknown[], where: string): void {
  const [got, wanted] = [passed, expected].map((list) => list.map((each) => JSON.stringify(each)));
  const at = wanted!.findIndex((each, index) => each !== got![index]);
  if (at >= 0) expect(got![at]?.slice(0, 300), `${where}, ${at}`).to.equal(wanted![at]!.slice(0, 300));
  expect(passed.length, where).to.equal(expected.length);
}

const SEEDS = 25;

describe('event streams of engines, as an independent parser reads them before and after the filter', () => {
  for (const [name, dialect] of Object.entries(DIALECTS))
    for (const [what, ends] of Object.entries(ENDS)) {
      const open = (seed: number) => {
        const random = createRandom(seed + 1);
        const endOf = () => ends[Math.floor(random() * ends.length)]!;
        const lines = writeLines(dialect, seed);
        // A line end of CR before an empty line of LF would be one.
        let last = '';
        const stream = lines.map((line) => {
          let end = endOf();
          if (line === '' && last === '\r' && end === '\n') end = '\r';
          last = end;
          return line + end;
        });
        const marked = seed % 5 === 4 ? ['\ufeff', ...stream] : stream;
        const bytes = Buffer.from(marked.join(''));
        return { bytes, expected: readExpected(new TextDecoder().decode(bytes), dialect) };
      };
      const check = (pieces: Buffer[], expected: ReturnType<typeof readExpected>, where: string) => {
        const passed = readPassed(filter(dialect, pieces));
        expectSame(passed.events, expected.events, where);
        expectSame(passed.comments, expected.comments, where);
      };

      it(`${name} with ${what}, byte by byte and as a whole`, () => {
        for (let seed = 0; seed < SEEDS; seed++) {
          const { bytes, expected } = open(seed);
          check(
            Array.from(bytes, (byte) => Buffer.from([byte])),
            expected,
            `seed ${seed}`,
          );
          check([bytes], expected, `seed ${seed}, whole`);
          expect(expected.events.length).to.be.at.least(dialect.events.length);
        }
      });

      // Elsewhere no piece ends within a line end.
      if (!ends.includes('\r\n')) continue;
      it(`${name} with ${what}, split at every byte`, () => {
        const { bytes, expected } = open(4);
        for (let at = 1; at < bytes.length; at++)
          check([bytes.subarray(0, at), bytes.subarray(at)], expected, `at ${at}`);
      });
    }
});
