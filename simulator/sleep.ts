/** vLLM's sleep mode and its pause, as seen by clients: process and health check stay; inference is refused, or waits as in vLLM 0.32. */
import type { Call } from './call.ts';
import type { Engine } from './engine.ts';
import { EngineError, refuseRoute } from './errors.ts';

const POLL_MS = 10;

type Change = (engine: Engine, call: Call) => Promise<void> | void;

/** By method and path; only with sleep mode on, as vLLM has them. */
const ROUTES = new Map<string, Change>([
  ['POST /sleep', fallAsleep],
  ['POST /wake_up', wakeUp],
  ['GET /is_sleeping', (engine, call) => call.sendJSON(200, { is_sleeping: engine.isAsleep })],
]);

const PATHS = new Set(['/sleep', '/wake_up', '/is_sleeping']);

/** Whether it is one of these routes. */
export const isSleepPath = (path: string): boolean => PATHS.has(path);

export async function serveSleep(engine: Engine, call: Call, path: string): Promise<void> {
  const serve = ROUTES.get(`${call.request.method} ${path}`);
  if (serve) await serve(engine, call);
  else call.sendRefusal(refuseRoute(405));
}

async function fallAsleep(engine: Engine, call: Call): Promise<void> {
  // Its memory is gone below what runs.
  if (engine.activity.inflight > 0) engine.isDead = true;
  engine.isAsleep = true;
  await call.wait(performance.now() + engine.settings.current.sleepMs);
  call.sendText(200, '');
}

async function wakeUp(engine: Engine, call: Call): Promise<void> {
  await call.wait(performance.now() + engine.settings.current.sleepMs);
  engine.isAsleep = false;
  call.sendText(200, '');
}

const isHeld = ({ isAsleep, settings: { current } }: Engine): boolean =>
  current.paused || (isAsleep && current.like === 'vllm');

/** Throws for what the engine cannot do while it sleeps, or never more. */
export async function requireAwake(engine: Engine, call: Call): Promise<void> {
  const { isDead } = engine;
  if (isDead)
    throw new EngineError(500, 'InternalServerError', 'EngineDeadError: it was put to sleep at work.');
  // v1/engine/core.py: requests are queued while it is paused, and waking resumes it.
  while (isHeld(engine)) await call.wait(performance.now() + POLL_MS);
  if (engine.isAsleep) throw new EngineError(503, 'ServiceUnavailable', 'The model is sleeping.');
}
