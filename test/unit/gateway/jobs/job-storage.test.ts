import { expect } from 'chai';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { fetchObject, type JobStorage, storeResults } from '../../../../gateway/jobs/job-storage.ts';
import { UploadError } from '../../../../gateway/storage/upload-error.ts';
import { rejection } from '../../../support/redis-client.ts';

/** As clocks tell it, not in whole milliseconds. */
const MINUTES_30 = 30 * 60_000 + 0.25;

describe('storing the results of a job', () => {
  const files = [
    { file: { path: '/x', bytes: 1, remove: async () => {} }, extension: 'png', contentType: 'image/png' },
  ];

  /** A job whose store fails with these errors, one after the other, before it takes the file. */
  function open(
    failures: Error[],
    {
      remainingMs = MINUTES_30,
      isShuttingDown,
    }: Partial<Pick<JobStorage, 'isShuttingDown'>> & { remainingMs?: number } = {},
  ) {
    let attempts = 0;
    let signatures = 0;
    const deadlines: number[] = [];
    const job = {
      redis: { fcall: async () => 1 },
      storage: {
        urlSigner: {
          signPuts: async () => {
            signatures++;
            return {
              bucket: 'b',
              provider: null,
              puts: [{ key: 'k', grant: { url: '', headers: {}, isTenantHost: false } }],
            };
          },
        },
        uploader: {
          upload: async (_: unknown, __: unknown, { deadlineMs }: { deadlineMs: number }) => {
            deadlines.push(deadlineMs);
            const failure = failures[attempts++];
            if (failure) throw failure;
          },
        },
      },
      claim: { namespace: 'team', id: `req_${'0'.repeat(32)}`, token: 't' },
      remainingMs: () => remainingMs,
      signal: new AbortController().signal,
      delayMs: 1,
      storeRetryTimeoutMs: 20,
      isShuttingDown,
    } as unknown as JobStorage;
    return {
      store: () => storeResults(job, null, files),
      deadlines,
      count: () => ({ attempts, signatures }),
    };
  }

  const away = () => new UploadError('unreachable', undefined, { isTransient: true });

  it('goes on, with a fresh link for each attempt, while the store is away and the job has time', async () => {
    const { store, count } = open([away(), away(), new ApiError('temporarily_unavailable', 'later')]);
    expect((await store()).objects).to.deep.equal([{ credential: null, key: 'k' }]);
    expect(count()).to.deep.equal({ attempts: 4, signatures: 4 });
  });

  it('lets a transfer take what is left of the job’s time, less a moment to report its failure', async () => {
    const { store, deadlines } = open([]);
    await store();
    expect(deadlines[0])
      .to.satisfy(Number.isInteger)
      .and.be.within(MINUTES_30 - 3_000, MINUTES_30 - 1_000);
  });

  it('ends at once with what no other attempt can mend', async () => {
    const { store, count } = open([new UploadError('denied')]);
    expect(await rejection(store())).to.include({ reason: 'denied' });
    expect(count().attempts).to.equal(1);
  });

  it('goes on for long, and not when the replica is to end', async () => {
    let isShuttingDown = false;
    const { store, count } = open(Array(10_000).fill(away()), { isShuttingDown: () => isShuttingDown });
    const stored = rejection(store());
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { attempts } = count();
    isShuttingDown = true;
    expect(await stored).to.include({ reason: 'unreachable' });
    expect(attempts).to.be.above(1);
  });

  it('ends with the store’s failure when the job’s time is over', async () => {
    const { store } = open([away()], { remainingMs: 1_000 });
    expect(await rejection(store())).to.include({ reason: 'unreachable' });
  });
});

describe('reading the inputs of a job', () => {
  it('does not hold the engine up for as long as the job may take', async () => {
    let attempts = 0;
    const signGets = async () => {
      attempts++;
      throw new ApiError('temporarily_unavailable', 'later');
    };
    const job = {
      storage: { urlSigner: { signGets } },
      claim: { namespace: 'team' },
      remainingMs: () => MINUTES_30,
      signal: new AbortController().signal,
      delayMs: 1,
      storeRetryTimeoutMs: 100,
    } as unknown as JobStorage;
    const failure = await rejection(fetchObject(job, { credential: null, key: 'k' }, 1));
    expect(failure).to.include({ code: 'temporarily_unavailable' });
    expect(attempts).to.be.above(1);
  });
});
