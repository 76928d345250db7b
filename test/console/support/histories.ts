/** Made-up histories for charts: of few points and of many. */
import type { ScalingHistoryView, UsagePoint, UsageView } from '../../../console/api.ts';

const MINUTE_MS = 60_000;
const COUNTS = [
  'requests',
  'clientErrors',
  'rateLimited',
  'serverErrors',
  'inputTokens',
  'outputTokens',
] as const;
const PEAKS = [
  'queuePeak',
  'inflightPeak',
  'runningPeak',
  'engineWaitingPeak',
  'slotWaitingPeak',
  'cacheUsePeak',
] as const;

/** Demand that rises and falls within a day, as the server returns it. */
export function makeHistory(minutes: number, range: string): ScalingHistoryView {
  const to = Date.now();
  const at = (minute: number) => new Date(to - (minutes - 1 - minute) * MINUTE_MS).toISOString();
  const wantedAt = (minute: number) => Math.round(2.5 + 2.5 * Math.sin(minute / 120));
  const points = Array.from({ length: minutes }, (_, minute) => ({
    at: at(minute),
    demand: Math.round(320 * (1.2 + Math.sin(minute / 120) + 0.1 * Math.sin(minute * 7))) / 10,
    wanted: wantedAt(minute),
    ready: wantedAt(Math.max(0, minute - 4)),
  }));
  const changes = points.flatMap(({ at, demand, wanted }, minute) => {
    const from = minute === 0 ? wanted : points[minute - 1]!.wanted;
    const reason = `demand ${demand} (average of 60 s) needs ${wanted} replicas at 16 each`;
    return from === wanted ? [] : [{ at, from, to: wanted, reason }];
  });
  return {
    from: new Date(to - Number.parseInt(range, 10) * 60 * MINUTE_MS).toISOString(),
    to: at(minutes - 1),
    points,
    changes: changes.reverse(),
  };
}

/** Usage of one chat model, with gaps where there were no requests; the last step is now. */
export function makeUsage(steps: number, stepSeconds: number): UsageView {
  const now = Date.now();
  const points = Array.from({ length: steps }, (_, index) =>
    makePoint(new Date(now - (steps - 1 - index) * stepSeconds * 1_000), index),
  );
  const { at: _, ...latencies } = makePoint(new Date(now), 3);
  const over = (names: readonly (keyof UsagePoint)[], combine: (values: number[]) => number) =>
    Object.fromEntries(names.map((name) => [name, combine(points.map((point) => Number(point[name])))]));
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  return {
    stepSeconds,
    points,
    total: { ...latencies, ...over(COUNTS, sum), ...over(PEAKS, (values) => Math.max(...values)) },
    credit: { granted: '100', remaining: '41.5', currency: null },
  };
}

function makePoint(at: Date, index: number): UsagePoint {
  const isQuiet = index % 7 === 5;
  const tide = isQuiet ? 0 : 1.2 + Math.sin(index / 9);
  const ms = (base: number) => (isQuiet ? null : Math.round(base * (1 + 0.3 * Math.sin(index / 5))));
  return {
    at: at.toISOString(),
    requests: Math.round(400 * tide),
    clientErrors: Math.round(9 * tide),
    rateLimited: Math.round(4 * tide),
    serverErrors: Math.round(2 * tide),
    inputTokens: Math.round(180_000 * tide),
    outputTokens: Math.round(64_000 * tide),
    images: 0,
    videos: 0,
    videoSeconds: 0,
    audioSeconds: 0,
    characters: 0,
    p50Ms: ms(900),
    p95Ms: ms(3_200),
    p99Ms: ms(4_100),
    firstTokenP50Ms: ms(140),
    firstTokenP95Ms: ms(420),
    waitP50Ms: ms(0),
    waitP95Ms: ms(60),
    queuePeak: Math.round(3 * tide),
    inflightPeak: Math.round(14 * tide),
    runningPeak: Math.round(8 * tide),
    engineWaitingPeak: Math.round(6 * tide),
    slotWaitingPeak: Math.round(2 * tide),
    cacheUse: isQuiet ? null : Math.round(30 * tide),
    cacheUsePeak: isQuiet ? null : Math.round(44 * tide),
  };
}
