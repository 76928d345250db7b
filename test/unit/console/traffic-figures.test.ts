import { expect } from 'chai';
import type { UsageCounts } from '../../../api/usage.ts';
import { describeLoad, describeTraffic } from '../../../console/web/deployment/traffic-figures.ts';

const NOTHING: UsageCounts = {
  requests: 0,
  clientErrors: 0,
  rateLimited: 0,
  serverErrors: 0,
  inputTokens: 0,
  outputTokens: 0,
  images: 0,
  videos: 0,
  videoSeconds: 0,
  audioSeconds: 0,
  characters: 0,
  p50Ms: null,
  p95Ms: null,
  p99Ms: null,
  firstTokenP50Ms: null,
  firstTokenP95Ms: null,
  waitP50Ms: null,
  waitP95Ms: null,
  queuePeak: 0,
};
const pointOf = (counts: Partial<UsageCounts>) => ({ ...NOTHING, at: '2026-01-01T00:00:00Z', ...counts });

describe('the traffic of a deployment', () => {
  const minutes = [
    pointOf({ requests: 30, serverErrors: 1, outputTokens: 600, p95Ms: 900, firstTokenP95Ms: 80 }),
    pointOf({}),
    pointOf({ requests: 10, clientErrors: 1, rateLimited: 2, outputTokens: 12_000, p95Ms: 65_000 }),
  ];
  const total = {
    ...NOTHING,
    requests: 40,
    clientErrors: 1,
    rateLimited: 2,
    serverErrors: 1,
    outputTokens: 12_600,
    p50Ms: 420.4,
    p95Ms: 61_200,
    p99Ms: 90_000,
    firstTokenP50Ms: 45,
    firstTokenP95Ms: 1_250,
  };
  const usage = { stepSeconds: 60, points: minutes, total };

  it('of text has requests, all errors with their share, latency, the first token and the peak of tokens', () => {
    expect(describeTraffic(usage, { kind: 'LLM', queue: null })).to.deep.equal([
      { label: 'Requests', value: '40', course: [30, 0, 10] },
      { label: 'Errors', value: '4', more: '10%', course: [1, 0, 3] },
      {
        label: 'Latency, p95',
        value: '1.02 min',
        more: 'p50 420 ms, p99 1.5 min',
        course: [900, null, 65_000],
      },
      { label: 'First token, p95', value: '1.25 s', more: 'p50 45 ms', course: [80, null, null] },
      { label: 'Output tokens/s', value: '200', more: 'peak minute; 12.6K total', course: [10, 0, 200] },
    ]);
  });

  it('begins with what is served now, and where requests wait', () => {
    expect(describeLoad({ inflight: 5, slots: 8, queued: 2, waiting: 3, cacheUse: 43 })).to.deep.equal({
      label: 'In flight now',
      value: '5',
      more: 'of 8 slots; 2 waiting in the gateway; at least 3 in the engine; KV cache 43%',
    });
    const idle = { inflight: 0, slots: null, queued: 0, waiting: null, cacheUse: null };
    expect(describeLoad(idle).more).to.equal('no limit; 0 waiting in the gateway');
  });

  it('says of none that there are no streams, and no share of errors', () => {
    const figures = describeTraffic(
      { stepSeconds: 60, points: [], total: NOTHING },
      { kind: 'LLM', queue: null },
    );
    expect(figures.map(({ value, more }) => [value, more])).to.deep.equal([
      ['0', undefined],
      ['0', '–'],
      ['–', 'p50 –, p99 –'],
      ['–', 'no streams'],
      ['0', 'peak minute; 0 total'],
    ]);
  });

  it('of what is queued has who waits and runs now, and the peak of the hour', () => {
    const queued = {
      stepSeconds: 60,
      points: [pointOf({ queuePeak: 3 }), pointOf({ queuePeak: 1_200 })],
      total: { ...NOTHING, queuePeak: 1_200 },
    };
    const figures = describeTraffic(queued, {
      kind: 'Image',
      queue: { waiting: 1_100, queued: 1_100, running: 2, abandoned: 0 },
    });
    expect(figures.map(({ label }) => label)).to.deep.equal(['Requests', 'Errors', 'Latency, p95', 'Queue']);
    expect(figures.at(-1)).to.deep.equal({
      label: 'Queue',
      value: '1,100 waiting',
      more: '2 running; peak 1,200 waiting',
      course: [3, 1_200],
    });
  });
});
