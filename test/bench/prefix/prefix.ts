/**
 * Which replica answers: the same traces for all that choose, before engines with prefix caches. Part of `make bench`
 * (ONLY=prefix; SCALE=0.2 for a short one).
 */
import type { RedisClient } from '../../../redis/client.ts';
import { refuseTakenPorts } from '../pinned-process.ts';
import { percentile } from '../statistics.ts';
import { type Chooser, listChoosers, PREFIX_PORTS } from './choosers.ts';
import { startEngines, watchEngines } from './engines.ts';
import { replayTrace } from './replay.ts';
import { listTraces, type Trace } from './traces.ts';

export interface PrefixFigures {
  trace: string;
  chooser: string;
  /** Share of the prompts' tokens, from 0 to 1. */
  hitRate: number;
  firstTokenP50Ms: number;
  firstTokenP95Ms: number;
  requestsPerSecond: number;
  /** The largest replica's mean of requests in flight, over the mean of all. */
  loadOverMean: number;
  errors: number;
}

/** Share of the traces' length. */
const SCALE = Number(process.env.SCALE ?? 1);

export async function measurePrefix(redis: RedisClient): Promise<PrefixFigures[]> {
  await refuseTakenPorts(PREFIX_PORTS);
  const traces = listTraces(SCALE);
  const figures: PrefixFigures[] = [];
  for (const chooser of listChoosers()) figures.push(...(await measureChooser(redis, chooser, traces)));
  return figures;
}

/** One trace after the other, since caches of real engines are never empty either. */
async function measureChooser(
  redis: RedisClient,
  chooser: Chooser,
  traces: Trace[],
): Promise<PrefixFigures[]> {
  const engines = await startEngines();
  const running = await chooser.start(redis).catch(async (error: unknown) => {
    await engines.stop();
    throw error;
  });
  try {
    const figures: PrefixFigures[] = [];
    for (const trace of traces) {
      console.log(`prefix: ${chooser.name}, ${trace.name}…`);
      const [replay, { hitRate, loads }] = await watchEngines(() => replayTrace(trace, running.origins));
      const mean = loads.reduce((sum, load) => sum + load, 0) / loads.length;
      figures.push({
        trace: trace.name,
        chooser: chooser.name,
        hitRate,
        firstTokenP50Ms: percentile(replay.firstTokens, 0.5),
        firstTokenP95Ms: percentile(replay.firstTokens, 0.95),
        requestsPerSecond: replay.requests / replay.seconds,
        loadOverMean: Math.max(...loads) / mean,
        errors: replay.errors,
      });
    }
    return figures;
  } finally {
    await running.stop();
    await engines.stop();
  }
}
