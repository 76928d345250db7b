import { expect } from 'chai';
import { openMessagesDialect, RESPONSES_DIALECT } from '../../../../gateway/engine/event-dialects.ts';
import {
  type EventCompletion,
  type EventDialect,
  EventFilter,
} from '../../../../gateway/engine/event-filter.ts';
import { completeModel } from '../../../../gateway/text/answer-schema.ts';
import { isObject } from '../../../../kit/json.ts';

const MODEL = 'org/möwe';

const completeModels: EventCompletion = {
  isThorough: false,
  complete: (_, { response, message }) => {
    const answer = response ?? message;
    return isObject(answer) && completeModel(answer, MODEL);
  },
};

const event = (data: { type: string; [name: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const unnamed = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

function pass(text: string, dialect: EventDialect, size = 1_000_000) {
  const filter = new EventFilter(dialect, completeModels);
  const bytes = Buffer.from(text);
  let output = '';
  for (let start = 0; start < bytes.length; start += size)
    output += filter.push(bytes.subarray(start, start + size)) ?? '';
  output += filter.end() ?? '';
  return { text: Buffer.from(output, 'latin1').toString(), filter };
}

/** llama.cpp and others send these in streams of any dialect. */
const UNNAMED_FAILURES: [what: string, text: string][] = [
  [
    'an error event whose type is the error’s',
    'event: error\ndata: {"code":500,"message":"boom","type":"server_error"}\n\n',
  ],
  ['an error without a name', unnamed({ error: { code: 500, message: 'boom', type: 'server_error' } })],
  ['a flat error without a name', unnamed({ object: 'error', message: 'boom', code: 500 })],
];

const SIZES = [1, 3, 50, 1_000_000];

describe('the filter of a streamed response', () => {
  const response = { id: 'resp_1', model: MODEL, output: [] };
  const usage = {
    input_tokens: 7,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 2,
    output_tokens_details: { reasoning_tokens: 1 },
    total_tokens: 9,
  };
  const created = event({ type: 'response.created', response: { ...response, usage: null } });
  const delta = event({ type: 'response.output_text.delta', delta: 'größe "usage" response.completed' });
  const completed = event({ type: 'response.completed', response: { ...response, usage } });

  for (const size of SIZES)
    it(`passes it unchanged and reads its usage, in chunks of ${size} bytes`, () => {
      const text = created + delta + delta + completed;
      const { text: passed, filter } = pass(text, RESPONSES_DIALECT, size);
      expect(passed).to.equal(text);
      expect(filter).to.include({ isDone: true, failure: null, estimatedTokens: 18, events: 4 });
      expect(filter.usage).to.include({
        inputTokens: 7,
        cachedInputTokens: 4,
        outputTokens: 2,
        totalTokens: 9,
      });
    });

  for (const size of SIZES)
    it(`puts the model's id in the place of the engine's name, in chunks of ${size} bytes`, () => {
      const own = (text: string) => text.replaceAll(JSON.stringify(MODEL), '"/weights"');
      const { text: passed } = pass(own(created) + delta + own(completed), RESPONSES_DIALECT, size);
      expect(passed).to.equal(created + delta + completed);
    });

  it('ends with what a limit cut, too, and lets nothing pass after the end', () => {
    const cut = event({ type: 'response.incomplete', response: { ...response, usage } });
    const { text, filter } = pass(`${created}${cut}data: [DONE]\n\n${delta}`, RESPONSES_DIALECT);
    expect(text).to.equal(created + cut);
    expect(filter.isDone).to.equal(true);
  });

  it('sees that the engine gave it up before its first token, though it calls it complete', () => {
    const nothing = { ...usage, output_tokens: 0, total_tokens: 7 };
    const end = event({ type: 'response.completed', response: { ...response, usage: nothing } });
    const { text, filter } = pass(created + end, RESPONSES_DIALECT);
    expect(text).to.equal(created);
    expect([filter.isDone, filter.failure?.code]).to.deep.equal([false, 'upstream_error']);
    expect(
      pass(created + delta + end, RESPONSES_DIALECT).filter.isDone,
      'an engine that does not count',
    ).to.equal(true);
  });

  it('takes out what is no event, such as [DONE], and keeps comments', () => {
    const { text } = pass(`: ping\n\n${created}data: [DONE]\n\n${delta}`, RESPONSES_DIALECT);
    expect(text).to.equal(`: ping\n\n${created}${delta}`);
  });

  it('knows events without names by their type', () => {
    const text =
      unnamed({ type: 'response.output_text.delta', delta: 'a' }) +
      unnamed({ type: 'response.completed', response: { ...response, usage } });
    const { text: passed, filter } = pass(text, RESPONSES_DIALECT);
    expect(passed).to.equal(
      event({ type: 'response.output_text.delta', delta: 'a' }) +
        event({ type: 'response.completed', response: { ...response, usage } }),
    );
    expect(filter).to.include({ isDone: true, estimatedTokens: 1 });
  });

  for (const size of SIZES)
    it(`drops ids, retry times, unknown fields and what has no data, in chunks of ${size} bytes`, () => {
      const text =
        `retry: 3000\n\nid: 1\n${created}event: ping\n\n: ping\nfoo: 1\n\n` +
        `${delta.trimEnd()}\nid: 2\n\ndata:\n\n${completed}`;
      const { text: passed, filter } = pass(text, RESPONSES_DIALECT, size);
      expect(passed).to.equal(`${created}: ping\n\n${delta}${completed}`);
      expect(filter).to.include({ isDone: true, events: 3 });
    });

  it('takes an end without a blank line', () => {
    const { filter, text } = pass(created + completed.trimEnd(), RESPONSES_DIALECT);
    expect(filter.isDone).to.equal(true);
    expect(text).to.equal(created + completed);
  });

  it('drops half an event', () => {
    const { filter, text } = pass(created + completed.slice(0, 60), RESPONSES_DIALECT);
    expect(filter.isDone).to.equal(false);
    expect(text).to.equal(created);
  });

  const failures: [string, string][] = [
    ['an error event', event({ type: 'error', code: 'server_error', message: 'boom', param: null })],
    ['an error event with an envelope', event({ type: 'error', error: { message: 'boom' } })],
    [
      'a failed response',
      event({
        type: 'response.failed',
        response: { ...response, error: { code: 'server_error', message: 'boom' } },
      }),
    ],
  ];
  failures.push(...UNNAMED_FAILURES);
  for (const [what, text] of failures)
    it(`stops at ${what}`, () => {
      const { text: passed, filter } = pass(created + delta + text + completed, RESPONSES_DIALECT);
      expect(passed).to.equal(created + delta);
      expect(filter.failure).to.include({ code: 'upstream_error' });
      expect(filter.failure!.message).to.include('boom');
    });

  it('fails where the engine canceled it', () => {
    const canceled = event({
      type: 'response.completed',
      response: { ...response, object: 'response', status: 'cancelled' },
    });
    const { text, filter } = pass(created + delta + canceled, RESPONSES_DIALECT);
    expect(text).to.equal(created + delta);
    expect(filter.failure!.message).to.include('aborted');
  });

  it('keeps a failure that ends without a blank line', () => {
    const { filter } = pass(created + event({ type: 'error', message: 'boom' }).trimEnd(), RESPONSES_DIALECT);
    expect(filter.failure!.message).to.include('boom');
  });

  for (const size of SIZES)
    it(`does not mind a blank line too many, in chunks of ${size} bytes`, () => {
      const text = `${created}\n${delta}\n\n${completed}`;
      expect(pass(text, RESPONSES_DIALECT, size).filter.isDone).to.equal(true);
      expect(pass(`${delta}\n`, RESPONSES_DIALECT, size).filter.events).to.equal(1);
    });

  it('refuses an event that does not end', () => {
    const filter = new EventFilter(RESPONSES_DIALECT, completeModels);
    filter.push(Buffer.from('event: x\n'));
    filter.push(Buffer.alloc(16 * 1024 * 1024, 'a'));
    expect(filter.failure).to.include({ code: 'upstream_error' });
  });
});

describe('the filter of a streamed message', () => {
  const start = event({
    type: 'message_start',
    message: {
      id: 'msg_1',
      model: MODEL,
      usage: {
        input_tokens: 5,
        cache_read_input_tokens: 11,
        cache_creation_input_tokens: null,
        output_tokens: 0,
      },
    },
  });
  const ping = event({ type: 'ping' });
  const delta = event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ü' } });
  const end = event({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage: { output_tokens: 3 },
  });
  const stop = event({ type: 'message_stop' });

  for (const size of SIZES)
    it(`passes it unchanged and adds cached tokens to its input, in chunks of ${size} bytes`, () => {
      const text = start + ping + delta + end + stop;
      const { text: passed, filter } = pass(text, openMessagesDialect(), size);
      expect(passed).to.equal(text);
      expect(filter).to.include({ isDone: true, estimatedTokens: 1 });
      expect(filter.usage).to.include({
        inputTokens: 16,
        cachedInputTokens: 11,
        outputTokens: 3,
        totalTokens: 19,
      });
    });

  it('counts the output of a stream that broke off by its events', () => {
    const { filter } = pass(start + delta + delta, openMessagesDialect());
    expect(filter.usage).to.include({ inputTokens: 16, outputTokens: 2, totalTokens: 18 });
  });

  it('leaves the usage of a stream that broke off to an estimate where the engine told no input', () => {
    const told = event({
      type: 'message_start',
      message: { model: MODEL, usage: { input_tokens: 0, output_tokens: 0 } },
    });
    expect(pass(told + delta, openMessagesDialect()).filter).to.include({ usage: null, estimatedTokens: 1 });
  });

  for (const [what, error] of UNNAMED_FAILURES)
    it(`stops at ${what}`, () => {
      const { text, filter } = pass(start + delta + error + stop, openMessagesDialect());
      expect(text).to.equal(start + delta);
      expect(filter.failure!.message).to.include('boom');
    });

  for (const size of SIZES)
    it(`names events by their type, whatever the engine calls them, in chunks of ${size} bytes`, () => {
      const text = start + ping + delta + delta + end + stop;
      const names: [string, (name: string) => string][] = [
        ['none', () => ''],
        ['one for all', () => 'event: message\n'],
        ['empty ones', () => 'event:\n'],
      ];
      for (const [what, write] of names) {
        const renamed = text.replace(/^event: (.*)\n/gm, (_, name) => write(name));
        const { text: passed, filter } = pass(renamed, openMessagesDialect(), size);
        expect(passed, what).to.equal(text);
        expect(filter, what).to.include({ isDone: true, estimatedTokens: 2 });
      }
      const turned = text.replace(/^(event: .*)\n(data: .*)$/gm, '$2\n$1');
      expect(pass(turned, openMessagesDialect(), size).text, 'after the data').to.equal(text);
    });

  it('goes on after a part of its end that has no reason to stop yet', () => {
    const early = event({
      type: 'message_delta',
      delta: { stop_reason: null },
      usage: { output_tokens: 1 },
    });
    const text = start + delta + early + delta + end + stop;
    const { text: passed, filter } = pass(text, openMessagesDialect());
    expect(passed).to.equal(text);
    expect(filter).to.include({ isDone: true, failure: null });
    expect(filter.usage).to.include({ outputTokens: 3 });
  });

  it('fails where it ends with no reason to stop at all', () => {
    const { text, filter } = pass(start + delta + stop, openMessagesDialect());
    expect(text).to.equal(start + delta);
    expect(filter.failure!.message).to.include('aborted');
  });

  it('fails where the engine aborted it, which has no reason to stop', () => {
    const aborted = event({
      type: 'message_delta',
      delta: { stop_reason: null },
      usage: { output_tokens: 3 },
    });
    const { text, filter } = pass(start + delta + aborted + stop, openMessagesDialect());
    expect(text).to.equal(start + delta + aborted);
    expect(filter.failure!.message).to.include('aborted');
  });

  it('fails where the engine gave it up before its first token, and says that its turn has ended', () => {
    const empty = event({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 0 },
    });
    const { text, filter } = pass(start + empty + stop, openMessagesDialect());
    expect(text).to.equal(start);
    expect(filter.failure!.message).to.include('aborted');
    expect(
      pass(start + delta + empty + stop, openMessagesDialect()).filter.isDone,
      'does not count',
    ).to.equal(true);
  });

  it('stops at an error', () => {
    const error = event({ type: 'error', error: { type: 'overloaded_error', message: 'full' } });
    const { text, filter } = pass(start + error + stop, openMessagesDialect());
    expect(text).to.equal(start);
    expect(filter.failure!.message).to.include('full');
  });
});
