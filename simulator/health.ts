/** GET /health and /metrics: as slow as those of real engines that are busy. */
import type { Call } from './call.ts';
import type { Engine } from './engine.ts';
import { writeMetrics } from './metrics.ts';
import type { Personality } from './personality.ts';

const POLL_MS = 10;
/** An engine that waits for its own output checks once a second, and times out. */
const CHECK_INTERVAL_MS = 1000;
const CHECK_TIMEOUT_MS = 20_000;

/** Throws ClientDisconnectedError when the client leaves before. */
export async function checkHealth(engine: Engine, call: Call): Promise<void> {
  if (engine.isDraining) return call.sendText(503, '');
  await waitWhileBusy(engine, call);
  const isWell = await WAITS[engine.personality.health](engine, call);
  call.sendText(isWell && engine.isHealthy ? 200 : 503, '');
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** One event loop serves both. Throws ClientDisconnectedError when the client leaves before. */
export async function sendMetrics(engine: Engine, call: Call): Promise<void> {
  await waitWhileBusy(engine, call);
  call.sendText(200, writeMetrics(engine), METRICS_TYPE);
}

async function waitWhileBusy({ settings }: Engine, call: Call): Promise<void> {
  const { healthDelayMs } = settings.current;
  if (healthDelayMs > 0) await call.wait(performance.now() + healthDelayMs);
}

const WAITS: Record<Personality['health'], (engine: Engine, call: Call) => Promise<boolean>> = {
  'at-once': async () => true,
  'behind-work': async ({ slots, activity }, call) => {
    const { answered } = activity.totals;
    while (slots.running > 0 && activity.totals.answered === answered)
      await call.wait(performance.now() + POLL_MS);
    return true;
  },
  'after-output': async ({ slots, activity }, call) => {
    const start = performance.now();
    for (let checkMs = CHECK_INTERVAL_MS; checkMs <= CHECK_TIMEOUT_MS; checkMs += CHECK_INTERVAL_MS) {
      await call.wait(start + checkMs);
      // An idle engine generates output for the check itself.
      if (slots.running === 0 || activity.outputAt > start) return true;
    }
    return false;
  },
};
