import { expect } from 'chai';
import { type RetryOptions, retry } from '../../../kit/retry.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const BACKOFF = { baseMs: 100, maxMs: 250 };

describe('a retry', () => {
  let clock: FakeClock;
  let calls: number[];
  beforeEach(() => {
    clock = new FakeClock();
    calls = [];
  });

  /** Fails this many times. */
  const start = (
    failures: number,
    { error = new Error('away'), ...options }: Partial<RetryOptions> & { error?: Error } = {},
  ) =>
    retry(
      async () => {
        calls.push(clock.now());
        if (calls.length <= failures) throw error;
        return 'done';
      },
      {
        backoff: BACKOFF,
        isTransient: (error) => (error as Error).message === 'away',
        clock,
        random: () => 1,
        ...options,
      },
    );

  it('waits longer after each failure, up to a limit', async () => {
    const answer = start(4);
    await clock.advance(10_000);
    expect(await answer).to.equal('done');
    expect(calls.map((at, index) => at - (calls[index - 1] ?? calls[0]!))).to.deep.equal([
      0, 100, 200, 250, 250,
    ]);
  });

  it('throws an error that is not transient at once', async () => {
    const answer = start(1, { error: new Error('refused') }).catch((error: Error) => error.message);
    expect(await answer).to.equal('refused');
    expect(calls).to.have.length(1);
  });

  it("throws the signal's reason instead of another attempt", async () => {
    const end = new AbortController();
    const answer = start(9, { signal: end.signal }).catch((error: Error) => error.message);
    await clock.advance(50);
    end.abort(new Error('too late'));
    expect(await answer).to.equal('too late');
    expect(calls).to.have.length(1);
  });

  it('throws the last error after so many attempts, and reports each that is followed by another', async () => {
    const reported: string[] = [];
    const onRetry = ({ message }: Error) => reported.push(message);
    const answer = start(9, { maxAttempts: 3, onRetry }).catch((error: Error) => error.message);
    await clock.advance(10_000);
    expect(await answer).to.equal('away');
    expect(calls).to.have.length(3);
    expect(reported).to.deep.equal(['away', 'away']);
  });
});
