/** GET /health: as slow as those of real engines that are busy. */
import type { Call } from './call.ts';
import type { Engine } from './engine.ts';
import type { Personality } from './personality.ts';

const POLL_MS = 10;
/** An engine that waits for its own output checks once a second, and gives up. */
const CHECK_INTERVAL_MS = 1000;
const CHECK_TIMEOUT_MS = 20_000;

/** Throws ClientDisconnectedError when the client leaves before. */
export async function checkHealth(engine: Engine, call: Call): Promise<void> {
  if (engine.isDraining) return call.sendText(503, '');
  const { healthDelayMs } = engine.settings.current;
  if (healthDelayMs > 0) await call.wait(performance.now() + healthDelayMs);
  const isWell = await WAITS[engine.personality.health](engine, call);
  call.sendText(isWell && engine.isHealthy ? 200 : 503, '');
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
      // An idle engine gives output for the check itself.
      if (slots.running === 0 || activity.outputAt > start) return true;
    }
    return false;
  },
};
