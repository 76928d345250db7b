import { expect } from 'chai';
import { keepLease } from '../../../../gateway/jobs/lease.ts';
import type { Renewal } from '../../../../redis/requests/request-calls.ts';
import { pollUntil } from '../../../support/poll.ts';

describe('a lease', () => {
  const answers: Record<string, (Renewal | Error)[]> = {
    stale: ['renewed', 'renewed', 'stale'],
    deadline: ['renewed', 'deadline'],
  };
  for (const [why, script] of Object.entries(answers))
    it(`is renewed until the answer is ${why}, and then never again`, async () => {
      const lost: string[] = [];
      let calls = 0;
      keepLease({
        remainingMs: 60_000,
        renewalMs: 1,
        renew: async () => script[calls++] as Renewal,
        onLost: (reason) => lost.push(reason),
        onError: (error) => expect.fail(String(error)),
      });
      await pollUntil(() => lost.length > 0, 'the loss');
      expect(lost).to.deep.equal([why]);
      expect(calls).to.equal(script.length);
    });

  it('survives an outage of Redis, and reports other errors', async () => {
    const errors: unknown[] = [];
    let calls = 0;
    const end = keepLease({
      remainingMs: 60_000,
      renewalMs: 1,
      renew: async () => {
        calls++;
        if (calls === 1) throw new Error('Connection is closed.');
        if (calls === 2) throw new Error('ERR a mistake');
        return 'renewed';
      },
      onLost: () => expect.fail('lost'),
      onError: (error) => errors.push((error as Error).message),
    });
    await pollUntil(() => calls >= 4, 'renewals');
    end();
    expect(errors).to.deep.equal(['ERR a mistake']);
  });

  it('ends at the deadline though Redis says nothing', async () => {
    const lost: string[] = [];
    keepLease({
      remainingMs: 20,
      renewalMs: 1,
      renew: () => Promise.reject(new Error('Command timed out')),
      onLost: (reason) => lost.push(reason),
      onError: () => {},
    });
    await pollUntil(() => lost.length > 0, 'the deadline');
    expect(lost).to.deep.equal(['deadline']);
  });
});
