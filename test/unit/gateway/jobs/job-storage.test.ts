import { expect } from 'chai';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import {
  fetchObject,
  type JobContext,
  signResults,
  storeResults,
} from '../../../../gateway/jobs/job-storage.ts';
import { UploadError } from '../../../../gateway/storage/upload-error.ts';
import { rejection } from '../../../support/redis-client.ts';

/** Not whole milliseconds, as clocks return them. */
const MINUTES_30 = 30 * 60_000 + 0.25;

describe('storing the results of a job', () => {
  const files = [
    { file: { path: '/x', bytes: 1, remove: async () => {} }, extension: 'png', contentType: 'image/png' },
  ];

  /** A job whose store fails with each of these errors before it accepts the file. */
  function open(
    failures: Error[],
    {
      remainingMs = MINUTES_30,
      isShuttingDown,
      credential = null,
      attemptMs = 60_000,
    }: Partial<Pick<JobContext, 'isShuttingDown'>> & {
      remainingMs?: number;
      credential?: string | null;
      /** Duration of each attempt. */
      attemptMs?: number;
    } = {},
  ) {
    let now = 0;
    let attempts = 0;
    let signatures = 0;
    const deadlines: number[] = [];
    const retryTimeouts: number[] = [];
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
          upload: async (
            _: unknown,
            __: unknown,
            { deadlineMs, retryTimeoutMs }: { deadlineMs: number; retryTimeoutMs: number },
          ) => {
            deadlines.push(deadlineMs);
            retryTimeouts.push(retryTimeoutMs);
            now += attemptMs;
            const failure = failures[attempts++];
            if (failure) throw failure;
          },
        },
      },
      claim: { namespace: 'team', id: `req_${'0'.repeat(32)}`, token: 't' },
      remainingMs: () => remainingMs,
      signal: new AbortController().signal,
      delayMs: 1,
      now: () => now,
      isShuttingDown,
    } as unknown as JobContext;
    return {
      store: () => storeResults(job, credential, files),
      deadlines,
      retryTimeouts,
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

  it('goes on for long, and for a minute when the replica is to end', async () => {
    const failures = () => Array(100).fill(away());
    const patient = open(failures());
    await patient.store();
    expect(patient.count().attempts).to.equal(101);
    const hurried = open(failures(), { isShuttingDown: () => true, attemptMs: 10_000 });
    expect(await rejection(hurried.store())).to.include({ reason: 'unreachable' });
    // The first attempt fails after 10 s.
    expect(hurried.count().attempts).to.equal(7);
  });

  it('ends when a customer’s bucket has refused connections for a minute', async () => {
    const { store, count, retryTimeouts } = open([away(), away()], { credential: 'theirs' });
    expect(await rejection(store())).to.include({ reason: 'unreachable', code: 'storage_upload_failed' });
    expect(count().attempts).to.equal(1);
    expect(retryTimeouts).to.deep.equal([60_000]);
  });

  it('goes on while a customer’s bucket is slow, fails for the moment, or cannot be signed for', async () => {
    const slow = new UploadError('slow', undefined, { isTransient: true });
    const failing = new UploadError('refused', undefined, { isTransient: true });
    const { store, count } = open([slow, failing, new ApiError('temporarily_unavailable', 'later')], {
      credential: 'theirs',
    });
    await store();
    expect(count().attempts).to.equal(4);
  });

  it('ends with the store’s failure when the job’s time is over', async () => {
    const { store } = open([away()], { remainingMs: 1_000 });
    expect(await rejection(store())).to.include({ reason: 'unreachable' });
  });
});

describe('reading the inputs of a job', () => {
  it('does not hold the engine up for as long as the job may take', async () => {
    let attempts = 0;
    let now = 0;
    const signGets = async () => {
      attempts++;
      now += 10_000;
      throw new ApiError('temporarily_unavailable', 'later');
    };
    const job = {
      storage: { urlSigner: { signGets } },
      claim: { namespace: 'team' },
      remainingMs: () => MINUTES_30,
      signal: new AbortController().signal,
      delayMs: 1,
      now: () => now,
    } as unknown as JobContext;
    const failure = await rejection(fetchObject(job, { credential: null, key: 'k' }, 1));
    expect(failure).to.include({ code: 'temporarily_unavailable' });
    expect(attempts).to.equal(7);
  });
});

describe('links to the results of a job', () => {
  const place = { deployment: 'picture', origin: 'https://picture.example', links: undefined };
  const sign = async (credential: string | null, kind: 'image' | 'video') => {
    const asked: object[] = [];
    const signGets = async (question: object) => {
      asked.push(question);
      return ['link'];
    };
    const job = {
      storage: { urlSigner: { signGets } },
      claim: { namespace: 'team' },
    } as unknown as JobContext;
    const stored = { bucket: 'b', provider: null, objects: [{ credential, key: 'k' }] };
    expect(await signResults(job, stored, kind, place)).to.deep.equal(['link']);
    return asked[0] as { expiresInSeconds: number; place: object };
  };

  it('may lead to the endpoint, and live for an hour, those of images in a customer’s bucket for a week', async () => {
    const lives: [string | null, 'image' | 'video', number][] = [
      [null, 'image', 3_600],
      ['theirs', 'image', 7 * 86_400],
      ['theirs', 'video', 3_600],
    ];
    for (const [credential, kind, expiresInSeconds] of lives)
      expect(await sign(credential, kind)).to.deep.include({ expiresInSeconds, place });
  });
});
