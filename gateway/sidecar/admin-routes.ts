/** The probes and the drain hook of a model's pod. */
import { ADMIN_PATHS, DRAIN_TOKEN_HEADER, PROBE_PERIOD_SECONDS } from '../../api/gateway-environment.ts';
import { type AdminRoutes, OK, unavailable } from '../../kit/admin-server.ts';
import { buildTokenCheck } from '../capacity/peer-protocol.ts';
import type { EngineHealth } from '../health/engine-health.ts';
import type { Drain } from './drain.ts';

export interface SidecarRoutesOptions {
  health: Pick<EngineHealth, 'isAlive' | 'verdict' | 'waitForStart'>;
  /** Whether the pod may get requests. */
  isReady: () => boolean;
  drain: Drain;
  drainToken: string;
  onWrongToken: () => void;
}

/** Shorter than the probe period: a late response would miss the next probe. */
const PROBE_GAP_MS = 100;
/** From one question for the engine's start to the next, on a node that is busy. */
const START_AWAITED_MS = 3 * 1_000 * PROBE_PERIOD_SECONDS.engineStartup;

export function buildSidecarRoutes(options: SidecarRoutesOptions): AdminRoutes {
  const { health, isReady, drain } = options;
  const isToken = buildTokenCheck(options.drainToken);
  const answer = (isGood: boolean) => {
    const { phase, reason } = health.verdict;
    return isGood ? OK : unavailable(`the engine is ${phase}: ${reason}`);
  };
  // The kubelet probes only once per period: an engine that becomes ready meanwhile is reported at once.
  const untilStart = (periodSeconds: number) => health.waitForStart(periodSeconds * 1_000 - PROBE_GAP_MS);
  // Until the kubelet has been told of the start, the engine's container is not ready, and so neither is the pod. Of two probes whose
  // answers change within a second, the kubelet may report the second one a second later: this one changes before (decision 0353).
  let awaitedUntil = 0;
  const isStartAwaited = () => performance.now() < awaitedUntil;
  const firstQuestion = Promise.withResolvers<void>();
  return {
    [ADMIN_PATHS.healthz]: () => OK,
    // Only "listening": the engine's container is started after this.
    [ADMIN_PATHS.startup]: () => OK,
    // Also while draining: deletion alone takes a pod out of its Service.
    [ADMIN_PATHS.readyz]: async () => {
      if (!isStartAwaited() && health.verdict.phase === 'starting')
        await Promise.race([untilStart(PROBE_PERIOD_SECONDS.readyz), firstQuestion.promise]);
      return answer(isStartAwaited() || isReady());
    },
    [ADMIN_PATHS.engineStartup]: async () => {
      awaitedUntil = performance.now() + START_AWAITED_MS;
      firstQuestion.resolve();
      await untilStart(PROBE_PERIOD_SECONDS.engineStartup);
      if (isReady()) awaitedUntil = 0;
      return answer(isReady());
    },
    [ADMIN_PATHS.engineLiveness]: () => answer(health.isAlive),
    [ADMIN_PATHS.drain]: async (req) => {
      if (isToken(req.headers[DRAIN_TOKEN_HEADER])) return { status: 200, body: await drain.begin() };
      options.onWrongToken();
      return { status: 403, body: 'wrong drain token' };
    },
  };
}
