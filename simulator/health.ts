/** GET /health: as slow as those of real engines that are busy. */
import type { Call } from './call.ts';
import type { Engine } from './engine.ts';
import type { Personality } from './personality.ts';

const POLL_MS = 10;
/** An engine that waits for its own output looks once a second, and gives up. */
const FIRST_LOOK_MS = 1000;
const LAST_LOOK_MS = 20_000;

/** Throws ClientGone when the client leaves before. */
export async function checkHealth(engine: Engine, call: Call): Promise<void> {
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
    for (let look = FIRST_LOOK_MS; look <= LAST_LOOK_MS; look += FIRST_LOOK_MS) {
      await call.wait(start + look);
      // An idle engine gives output for the check itself.
      if (slots.running === 0 || activity.outputAt > start) return true;
    }
    return false;
  },
};
