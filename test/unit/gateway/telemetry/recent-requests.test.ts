import { expect } from 'chai';
import { type EndedLine, RecentRequests } from '../../../../gateway/telemetry/recent-requests.ts';
import { LIMITS } from '../../../../redis/function-table.ts';

const makeLine = (id: string, more: Partial<EndedLine> = {}): EndedLine => ({
  request_id: id,
  route: 'chat_completions',
  status: 200,
  error: undefined,
  client_disconnected: undefined,
  duration_ms: 20,
  wait_ms: undefined,
  time_to_first_token_ms: undefined,
  api_key: undefined,
  input_tokens: undefined,
  output_tokens: undefined,
  ...more,
});

describe('the latest requests of a deployment', () => {
  it('have where they waited and what became of them, and nothing else of the line', () => {
    const recent = new RecentRequests();
    const line = { ...makeLine('a', { wait_ms: 7, time_to_first_token_ms: 12 }), cost: 5 };
    recent.note(line, 200, 1_000);
    expect(recent.take()).to.deep.equal([
      {
        endedAt: 1_000,
        id: 'a',
        route: 'chat_completions',
        status: 200,
        errorCode: null,
        durationMs: 20,
        waitMs: 7,
        firstTokenMs: 12,
        inputTokens: null,
        outputTokens: null,
        keyName: null,
      },
    ]);
    expect(recent.take()).to.deep.equal([]);
  });

  it('have the outcome of a stream that failed, and of a client that left', () => {
    const recent = new RecentRequests();
    recent.note(makeLine('broken', { error: 'upstream_error' }), 502);
    recent.note(makeLine('left', { client_disconnected: true }));
    expect(recent.take().map(({ status }) => status)).to.deep.equal([502, 499]);
  });

  it('are the last ones where many end between two writes', () => {
    const recent = new RecentRequests();
    const count = 2 * LIMITS.MAX_NOTED_AT_ONCE + 3;
    for (let i = 0; i < count; i++) recent.note(makeLine(`${i}`), 200, i);
    const times = recent.take().map(({ endedAt }) => endedAt);
    expect(times).to.have.length(LIMITS.MAX_NOTED_AT_ONCE);
    expect(Math.min(...times)).to.equal(count - LIMITS.MAX_NOTED_AT_ONCE);
  });
});
