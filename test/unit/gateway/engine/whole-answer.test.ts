import { expect } from 'chai';
import { readOpenAIUsage } from '../../../../gateway/engine/answer.ts';
import { estimateOutput } from '../../../../gateway/engine/token-estimate.ts';
import { WholeAnswer, type WholeAnswerOptions } from '../../../../gateway/engine/whole-answer.ts';
import { answerTurns } from '../../../../gateway/http/body-parsing.ts';
import type { Exchange } from '../../../../gateway/http/exchange.ts';

const MIB = 1024 * 1024;

describe('a whole answer', () => {
  const open = (reserve: (bytes: number) => boolean) =>
    new WholeAnswer({} as Exchange, { complete: () => false, readUsage: () => null, reserve });

  it('asks for memory once it is large, and ends where there is none', () => {
    let left = 2 * MIB;
    const answer = open((bytes) => {
      left -= bytes;
      return left >= 0;
    });
    for (let part = 0; part < 3; part++) answer.write(Buffer.alloc(MIB));
    expect(answer.failure).to.equal(null);
    answer.write(Buffer.alloc(MIB));
    expect(answer.failure).to.include({ code: 'temporarily_unavailable', status: 503 });
  });

  it('asks for nothing while it is small', () => {
    const answer = open(() => false);
    answer.write(Buffer.alloc(MIB));
    expect(answer.failure).to.equal(null);
  });

  it('is an error where the engine aborted one of its choices', () => {
    const answer = open(() => true);
    const choices = ['stop', 'abort'].map((finish_reason, index) => ({ index, text: 'a', finish_reason }));
    answer.write(Buffer.from(JSON.stringify({ choices })));
    expect(answer.end()).to.include({ code: 'upstream_error', status: 502 });
  });

  describe('without usage', () => {
    const estimate = (
      answer: object,
      options: Pick<WholeAnswerOptions, 'estimateOutput'> = { estimateOutput },
    ): number | null => {
      const exchange = {
        headers: [],
        account: { receiptHeaders: () => [] },
        res: { writeHead: () => {}, end: () => {} },
      };
      const whole = new WholeAnswer(exchange as unknown as Exchange, {
        complete: () => false,
        readUsage: readOpenAIUsage,
        ...options,
      });
      whole.write(Buffer.from(JSON.stringify(answer)));
      expect(whole.end()).to.equal(null);
      return whole.estimatedTokens;
    };
    // 32 bytes: eight tokens of four.
    const text = 'Ships lie at a berth in harbours';
    const called = { name: 'look', arguments: '{"at":"the harbours!"}' };

    for (const [what, answer] of [
      [
        'a chat',
        { choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } }] },
      ],
      ['two choices', { choices: [{ text: text.slice(0, 16) }, { text: text.slice(16) }] }],
      [
        'reasoning',
        { choices: [{ message: { content: text.slice(0, 16), reasoning_content: text.slice(16) } }] },
      ],
      [
        'a call',
        { choices: [{ message: { content: null, tool_calls: [{ id: 'call_1', function: called }] } }] },
      ],
      ['a response', { output: [{ id: 'm', role: 'assistant', content: [{ type: 'output_text', text }] }] }],
      ['a response that calls', { output: [{ type: 'function_call', call_id: 'c', ...called }] }],
      ['a message', { type: 'message', stop_reason: 'end_turn', content: [{ type: 'text', text }] }],
      [
        'a message that calls',
        {
          type: 'message',
          stop_reason: 'tool_use',
          content: [{ type: 'tool_use', id: 'c', name: 'look', input: { where: 'in the harbour.' } }],
        },
      ],
    ] as const)
      it(`estimates the tokens of ${what} by its text`, () => {
        expect(estimate({ ...answer, model: 'of any name' })).to.equal(8);
      });

    it('estimates none where the engine tells them, and nothing where no tokens are spent', () => {
      expect(estimate({ choices: [{ text }], usage: { prompt_tokens: 1, completion_tokens: 1 } })).to.equal(
        null,
      );
      expect(estimate({ tokens: [1, 2] }, {})).to.equal(null);
    });
  });

  for (const aborted of [
    { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'a' }] },
    { type: 'message', content: [], stop_reason: null },
    { object: 'response', status: 'cancelled', error: null, output: [] },
  ])
    it(`is an error where the engine aborted it: ${JSON.stringify(aborted)}`, () => {
      const answer = open(() => true);
      answer.write(Buffer.from(JSON.stringify(aborted)));
      expect(answer.end()).to.include({ code: 'upstream_error', status: 502 });
    });

  describe('that is not valid UTF-8', () => {
    for (const size of [10, 100_000])
      it(`is sent as text, with the length of what is sent, after ${size} bytes`, async () => {
        const body = Buffer.from(`{"text":"${'a'.repeat(size)}\xe9ü"}`, 'latin1');
        const sent: { length?: number; body?: Buffer } = {};
        const exchange = {
          headers: [],
          account: { receiptHeaders: () => [] },
          check: () => {},
          res: {
            writeHead: (_: number, headers: string[]) => {
              sent.length = Number(headers[headers.indexOf('content-length') + 1]);
            },
            end: (text: string | Buffer, encoding: BufferEncoding) => {
              sent.body = Buffer.from(text as string, encoding);
            },
          },
        } as unknown as Exchange;
        const whole = new WholeAnswer(exchange, {
          complete: () => false,
          readUsage: () => null,
          turns: answerTurns({ exchange, keyHash: 'key' }),
        });
        whole.write(body);
        expect(await whole.end()).to.equal(null);
        expect(sent.length).to.equal(sent.body!.length);
        expect(JSON.parse(sent.body!.toString())).to.deep.equal({ text: `${'a'.repeat(size)}\ufffd\ufffd` });
        expect(sent.body!.includes('\ufffd')).to.equal(true);
      });
  });

  describe('that is large', () => {
    const vectors = (numbers: number) => ({
      object: 'list',
      model: 'of the engine',
      data: Array.from({ length: 300 }, (_, index) => ({
        index,
        embedding: Array.from({ length: numbers }, (_, at) => index + at / 7),
      })),
      usage: { prompt_tokens: 3, total_tokens: 3 },
    });
    const read = async (text: string, options: Partial<WholeAnswerOptions>, onTurn = () => {}) => {
      let sent = '';
      const exchange = {
        headers: [],
        account: { receiptHeaders: () => [] },
        check: () => {},
        res: {
          writeHead: () => {},
          once: () => {},
          end: (body: string | Buffer) => {
            sent = body.toString();
          },
        },
      } as unknown as Exchange;
      const turns = answerTurns({ exchange, keyHash: 'key' });
      const whole = new WholeAnswer(exchange, {
        complete: () => false,
        readUsage: readOpenAIUsage,
        turns,
        ...options,
      });
      whole.write(Buffer.from(text));
      let isOver = false;
      const count = () => {
        onTurn();
        if (!isOver) setImmediate(count);
      };
      setImmediate(count);
      const failure = await whole.end();
      isOver = true;
      return { failure, sent, usage: whole.usage };
    };

    it('is read and written in turns, with pauses', async () => {
      const text = JSON.stringify(vectors(1_000));
      let turns = 0;
      const complete = (answer: Record<string, unknown>) => {
        answer.model = 'team/embedder';
        return true;
      };
      const { failure, sent, usage } = await read(text, { complete }, () => turns++);
      expect(failure).to.equal(null);
      expect(sent).to.equal(JSON.stringify({ ...vectors(1_000), model: 'team/embedder' }));
      expect(usage).to.include({ inputTokens: 3 });
      expect(turns).to.be.above(5);
    });

    it('is sent as it came where nothing is changed', async () => {
      const text = ` ${JSON.stringify({ ...vectors(100), note: 'größer' })}`;
      expect((await read(text, {})).sent).to.equal(text);
    });

    it('is an error where it is no JSON, or an error of the engine', async () => {
      const text = JSON.stringify(vectors(100));
      expect((await read(text.slice(0, -1), {})).failure).to.include({ code: 'upstream_error' });
      const error = JSON.stringify({ error: { message: 'x'.repeat(MIB), code: 400 } });
      expect((await read(error, {})).failure)
        .to.have.property('status')
        .that.is.at.least(400);
    });
  });

  it('is refused beyond 256 MiB, whatever memory there is', () => {
    const answer = open(() => true);
    const part = Buffer.alloc(64 * MIB);
    for (let count = 0; count < 4; count++) answer.write(part);
    expect(answer.failure).to.equal(null);
    answer.write(Buffer.alloc(1));
    expect(answer.failure).to.include({ code: 'upstream_error', status: 502 });
  });
});
