import { expect } from 'chai';
import { WholeAnswer } from '../../../../gateway/engine/whole-answer.ts';
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

  it('is refused beyond 256 MiB, whatever memory there is', () => {
    const answer = open(() => true);
    const part = Buffer.alloc(64 * MIB);
    for (let count = 0; count < 4; count++) answer.write(part);
    expect(answer.failure).to.equal(null);
    answer.write(Buffer.alloc(1));
    expect(answer.failure).to.include({ code: 'upstream_error', status: 502 });
  });
});
