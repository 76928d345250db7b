import { expect } from 'chai';
import { EngineMemoryError } from '../../../../gateway/engine/engine-error.ts';
import { parseJob } from '../../../../gateway/engine/job.ts';
import { ApiError } from '../../../../gateway/http/error-response.ts';
import { buildSuccess, JobError, toFailure } from '../../../../gateway/jobs/outcome.ts';
import { expectJobMs } from '../../../../gateway/jobs/pace.ts';
import { Progress } from '../../../../gateway/jobs/progress.ts';
import { DownloadError } from '../../../../gateway/storage/download.ts';
import { UploadError } from '../../../../gateway/storage/upload-error.ts';
import { retryWhileRedisDown } from '../../../../redis/retry-while-down.ts';
import { rejection } from '../../../support/redis-client.ts';

describe('a failure of a job', () => {
  const table: [string, unknown, string | undefined][] = [
    ['too little memory', new EngineMemoryError('CUDA'), 'vram_exceeded'],
    ['a refusal', new ApiError('invalid_request_error', 'no'), 'invalid_input'],
    [
      'a refusal with a finer code',
      new ApiError('invalid_request_error', 'no', { detailCode: 'bad_size' }),
      'invalid_input',
    ],
    ['too much for the engine', new ApiError('request_too_large', 'no'), 'invalid_input'],
    ['a busy engine', new ApiError('replica_saturated', 'no'), 'upstream_error'],
    ['a failing engine', new ApiError('upstream_error', 'no'), 'upstream_error'],
    ['a full bucket', new UploadError('full'), 'storage_upload_failed'],
    [
      'a credential that is gone',
      new ApiError('storage_credential_not_found', 'no'),
      'storage_upload_failed',
    ],
    ['an input that is gone', new DownloadError(true), 'upstream_error'],
    ['parameters of another version', new JobError('invalid_input', 'no'), 'invalid_input'],
    ['a fault of ours', new TypeError('x is not a function'), undefined],
  ];
  for (const [what, error, code] of table)
    it(`is ${code ?? 'nobody’s to know'} for ${what}`, () => {
      expect(toFailure(error)?.code).to.equal(code);
    });
});

describe('the progress of a job', () => {
  let now = 0;
  const begin = (expectedMs: number) => new Progress(expectedMs, () => now);

  it('is what the engine says once it says anything, within 0 and 99', () => {
    now = 0;
    const progress = begin(1_000);
    expect(progress.read()).to.equal(0);
    now = 255;
    expect(progress.read()).to.equal(22);
    progress.report(60);
    expect(progress.read()).to.equal(60);
    progress.report(30);
    expect(progress.read()).to.equal(60);
    // After a first estimate that was too short, progress must not run ahead.
    now = 5_000;
    expect(progress.read()).to.equal(60);
    progress.report(100);
    expect(progress.read()).to.equal(99);
  });

  it('is guessed by the time that has passed, and moves on when that is longer than expected', () => {
    now = 0;
    const progress = begin(1_000);
    const seen = [500, 1_000, 2_000, 4_000, 100_000].map((at) => {
      now = at;
      return progress.read();
    });
    expect(seen).to.deep.equal([45, 90, 94, 96, 98]);
  });

  it('takes a better guess', () => {
    now = 0;
    const progress = begin(1_000);
    now = 500;
    progress.expect(10_000);
    expect(progress.read()).to.equal(4);
  });

  it('is guessed by what is asked for before anything was measured', () => {
    const image = { task: 'txt2img', prompt: 'a', size: '64x64', n: 1 } as const;
    const one = expectJobMs({ kind: 'image', parameters: image });
    expect(expectJobMs({ kind: 'image', parameters: { ...image, n: 4 } })).to.equal(4 * one);
    const video = { task: 't2v', prompt: 'a', size: '64x64', frames: 81, fps: 16 } as const;
    expect(expectJobMs({ kind: 'video', parameters: video })).to.be.above(one);
  });
});

describe('the text of a job', () => {
  const image = { v: 1, kind: 'image', credential: null, inputs: [], parameters: { prompt: 'a' } };
  it('is read', () => {
    expect(parseJob(JSON.stringify(image))).to.deep.equal(image);
    const stored = { v: 1, kind: 'stored', object: { credential: null, key: 'inputs/a/b/c' } };
    expect(parseJob(JSON.stringify(stored))).to.deep.equal(stored);
  });
  for (const text of [
    '',
    'null',
    '[]',
    '1',
    '{',
    '{"v":1}',
    '{"v":1,"kind":"stored"}',
    '{"v":2,"kind":"image"}',
    JSON.stringify({ ...image, kind: 'sound' }),
    JSON.stringify({ ...image, parameters: {} }),
  ])
    it(`is refused: ${text.slice(0, 40)}`, () => {
      expect(parseJob(text)).to.equal(null);
    });
});

describe('the success of a job', () => {
  const limits = { resultRetentionMs: 86_400_000 };
  const now = 1_763_708_400_123;
  const build = (credential: string | null) =>
    buildSuccess(
      {
        bucket: 'b',
        provider: credential && 's3',
        objects: [
          { credential, key: 'results/a' },
          { credential, key: 'results/b' },
        ],
      },
      { credential, links: ['https://a', null], limits, now },
    );

  it('has managed results removed an hour after their retention', () => {
    expect(build(null)).to.deep.equal({
      status: 'succeeded',
      output: {
        bucket: 'b',
        keys: ['results/a', 'results/b'],
        credential: null,
        provider: null,
        retentionMs: 86_400_000,
      },
      payload: {
        created: 1_763_708_400,
        data: [
          { url: 'https://a', object_key: 'results/a' },
          { url: null, object_key: 'results/b' },
        ],
      },
      objects: [
        { object: { credential: null, key: 'results/a' }, removeInMs: 90_000_000 },
        { object: { credential: null, key: 'results/b' }, removeInMs: 90_000_000 },
      ],
    });
  });

  it('leaves those in a customer’s bucket for ever', () => {
    const outcome = build('mine');
    expect(outcome).to.deep.include({
      output: {
        bucket: 'b',
        keys: ['results/a', 'results/b'],
        credential: 'mine',
        provider: 's3',
        retentionMs: null,
      },
    });
    expect(outcome.objects.map(({ removeInMs }) => removeInMs)).to.deep.equal([null, null]);
  });
});

describe('a call that is retried while Redis is down', () => {
  it('is repeated until it is answered', async () => {
    let calls = 0;
    const call = async () => {
      if (++calls < 3) throw new Error('Connection is closed.');
      return 'done';
    };
    expect(await retryWhileRedisDown(call)).to.equal('done');
    expect(calls).to.equal(3);
  });

  it('throws any other error at once', async () => {
    let calls = 0;
    const error = new Error('ERR a mistake');
    const call = () => {
      calls++;
      return Promise.reject(error);
    };
    expect(await rejection(retryWhileRedisDown(call))).to.equal(error);
    expect(calls).to.equal(1);
  });

  it('throws the last error of Redis once its signal is aborted', async () => {
    const signal = AbortSignal.timeout(30);
    const error = new Error('Command timed out');
    expect(await rejection(retryWhileRedisDown(() => Promise.reject(error), signal))).to.equal(error);
  });
});
