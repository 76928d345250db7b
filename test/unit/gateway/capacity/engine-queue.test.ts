import { expect } from 'chai';
import {
  EngineQueue,
  readCacheUse,
  readRunning,
  readWaitingShare,
} from '../../../../gateway/capacity/engine-queue.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const describeQueue = (waiting: number, running: number) =>
  `vllm:num_requests_waiting ${waiting}\nvllm:num_requests_running ${running}\n`;

describe('the queue within an engine', () => {
  let clock: FakeClock;
  let inflight: number;
  let metrics: string | Error;
  let reads: number;
  let queue: EngineQueue;
  beforeEach(() => {
    clock = new FakeClock();
    [inflight, reads, metrics] = [12, 0, describeQueue(8, 4)];
    queue = new EngineQueue({
      inflight: () => inflight,
      read: async () => {
        reads++;
        if (metrics instanceof Error) throw metrics;
        return metrics;
      },
      clock,
    });
  });
  afterEach(() => queue.close());

  it('is known once it has lasted for three readings', async () => {
    await clock.advance(5_000);
    expect(queue.waiting).to.equal(null);
    await clock.advance(1_000);
    expect(queue.waiting).to.equal(8);
  });

  it('has the use of the KV cache beside it, while requests may wait', async () => {
    metrics = `${describeQueue(8, 4)}vllm:kv_cache_usage_perc 0.9\n`;
    await clock.advance(3_000);
    expect(queue.cacheUse).to.equal(90);
    inflight = 1;
    expect(queue.cacheUse).to.equal(null);
    inflight = 12;
    metrics = new Error('gone');
    await clock.advance(3_000);
    expect(queue.cacheUse).to.equal(null);
  });

  it('has how many ran at the last reading, of those in flight', async () => {
    await clock.advance(3_000);
    expect(queue.running).to.equal(4);
    inflight = 3;
    expect(queue.running).to.equal(3);
    inflight = 1;
    expect(queue.running).to.equal(null);
    inflight = 12;
    metrics = new Error('gone');
    await clock.advance(3_000);
    expect(queue.running).to.equal(null);
    expect(readRunning('te_queue_size 4\n')).to.equal(null);
  });

  it('is not known of numbers that count nothing', async () => {
    for (const [waiting, running] of [
      [Number.POSITIVE_INFINITY, 4],
      [8, Number.NaN],
      [-8, 4],
      [1e300, 1e300],
    ] as const)
      expect(readWaitingShare(describeQueue(waiting, running)), `${waiting} ${running}`).to.equal(null);
  });

  it('is none while a reading found none, and known to be none once all of them did', async () => {
    await clock.advance(9_000);
    metrics = describeQueue(0, 12);
    await clock.advance(3_000);
    expect(queue.waiting).to.equal(null);
    await clock.advance(6_000);
    expect(queue.waiting).to.equal(0);
  });

  it('is not asked for while at most one request is in flight, and then begins again', async () => {
    await clock.advance(9_000);
    inflight = 1;
    expect(queue.waiting).to.equal(null);
    await clock.advance(30_000);
    expect(reads).to.equal(4);
    inflight = 12;
    await clock.advance(6_000);
    expect(queue.waiting).to.equal(null);
  });

  it('counts requests where the engine counts more for each, and always leaves one that runs', async () => {
    metrics = describeQueue(30, 10);
    await clock.advance(9_000);
    expect(queue.waiting).to.equal(9);
    metrics = describeQueue(50, 0);
    await clock.advance(9_000);
    expect(queue.waiting).to.equal(11);
  });

  it('is not known of an engine that does not answer, or answers something else', async () => {
    for (const answer of [new Error('status 404'), 'te_queue_size 9\n', '']) {
      metrics = describeQueue(8, 4);
      await clock.advance(9_000);
      expect(queue.waiting).to.equal(8);
      metrics = answer;
      await clock.advance(3_000);
      expect(queue.waiting).to.equal(null);
    }
  });

  it('is read one at a time, and not any more once closed', async () => {
    let finish = () => {};
    let running = 0;
    const slow = new EngineQueue({
      inflight: () => 2,
      read: async () => {
        running++;
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return '';
      },
      clock,
    });
    await clock.advance(60_000);
    expect(running).to.equal(1);
    slow.close();
    finish();
    await clock.advance(60_000);
    expect(running).to.equal(1);
  });
});

describe('the use of the KV cache, by the metrics of an engine', () => {
  it('is that of the fullest rank, in percent', () => {
    const ranks = 'vllm:kv_cache_usage_perc{engine="0"} 0.124\nvllm:kv_cache_usage_perc{engine="1"} 0.97\n';
    expect([ranks, 'sglang:token_usage 0.5\n'].map(readCacheUse)).to.deep.equal([97, 50]);
  });

  it('is unknown where it is not reported, or is no share', () => {
    for (const text of ['', 'vllm:kv_cache_usage_perc NaN\n', 'vllm:kv_cache_usage_perc 43\n'])
      expect(readCacheUse(text), text).to.equal(null);
  });
});

describe('the share of requests that wait, by the metrics of an engine', () => {
  it('is that of vLLM, SGLang and llama.cpp, of all ranks together', () => {
    const texts = [
      '# HELP vllm:num_requests_waiting x\nvllm:num_requests_running{model_name="a} 9",engine="0"} 3.0\n' +
        'vllm:num_requests_running{engine="1"} 1.0 1700000000000\nvllm:num_requests_waiting_by_reason{reason="x"} 50\n' +
        'vllm:num_requests_waiting{engine="0"} 1.2e1\nvllm:num_requests_waiting{engine="1"} 0.0',
      'sglang:num_running_reqs{tp_rank="0"} 4.0\nsglang:num_queue_reqs{tp_rank="0"} 12.0\n',
      'llamacpp:requests_processing 4\nllamacpp:requests_deferred 12\n',
    ];
    expect(texts.map(readWaitingShare)).to.deep.equal([0.75, 0.75, 0.75]);
  });

  it('is none where none waits, also of an engine that does nothing', () => {
    expect(readWaitingShare(describeQueue(0, 4))).to.equal(0);
    expect(readWaitingShare(describeQueue(0, 0))).to.equal(0);
  });

  it('is unknown where one of the two is missing, or is no count', () => {
    for (const text of [
      'vllm:num_requests_waiting 3\n',
      'vllm:num_requests_waiting NaN\nvllm:num_requests_running 1\n',
      'vllm:num_requests_waiting -1\nvllm:num_requests_running 1\n',
      'vllm:num_requests_waiting{\nvllm:num_requests_running 1\n',
      `vllm:num_requests_waiting{a="${'x'.repeat(5_000)}"} 3\nvllm:num_requests_running 1\n`,
    ])
      expect(readWaitingShare(text), text.slice(0, 60)).to.equal(null);
  });
});
