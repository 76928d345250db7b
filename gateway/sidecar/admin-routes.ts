/** The probes and the drain hook of a model's pod. */
import { ADMIN_PATHS, DRAIN_TOKEN_HEADER, PROBE_PERIOD_SECONDS } from '../../api/gateway-environment.ts';
import { type AdminRoutes, OK, unavailable } from '../../kit/admin-server.ts';
import { buildTokenCheck } from '../capacity/peer-protocol.ts';
import type { EngineHealth } from '../health/engine-health.ts';
import type { Drain } from './drain.ts';

export interface SidecarRoutesOptions {
  health: Pick<EngineHealth, 'isReady' | 'isAlive' | 'verdict' | 'waitForStart'>;
  drain: Drain;
  drainToken: string;
  onWrongToken: () => void;
}

/** Shorter than the probe period: a late response would miss the next probe. */
const PROBE_GAP_MS = 100;

export function buildSidecarRoutes(options: SidecarRoutesOptions): AdminRoutes {
  const { health, drain } = options;
  const isToken = buildTokenCheck(options.drainToken);
  const answer = (isGood: boolean) => {
    const { phase, reason } = health.verdict;
    return isGood ? OK : unavailable(`the engine is ${phase}: ${reason}`);
  };
  // The kubelet probes only once per period: an engine that becomes ready meanwhile is reported at once.
  const answerStart = (periodSeconds: number) => async () => {
    await health.waitForStart(periodSeconds * 1_000 - PROBE_GAP_MS);
    return answer(health.isReady);
  };
  return {
    [ADMIN_PATHS.healthz]: () => OK,
    // Only "listening": the engine's container is started after this.
    [ADMIN_PATHS.startup]: () => OK,
    // Also while draining: deletion alone takes a pod out of its Service.
    [ADMIN_PATHS.readyz]: answerStart(PROBE_PERIOD_SECONDS.readyz),
    [ADMIN_PATHS.engineStartup]: answerStart(PROBE_PERIOD_SECONDS.engineStartup),
    [ADMIN_PATHS.engineLiveness]: () => answer(health.isAlive),
    [ADMIN_PATHS.drain]: async (req) => {
      if (isToken(req.headers[DRAIN_TOKEN_HEADER])) return { status: 200, body: await drain.begin() };
      options.onWrongToken();
      return { status: 403, body: 'wrong drain token' };
    },
  };
}
