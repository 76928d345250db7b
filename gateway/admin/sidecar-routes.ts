/** The probes and the drain hook of a model's pod. */
import { ADMIN_PATHS, DRAIN_TOKEN_HEADER } from '../../contract/gateway-environment.ts';
import { buildTokenCheck } from '../registry/peer-protocol.ts';
import type { Drain } from './drain.ts';
import type { EngineHealth } from './engine-health.ts';
import { type AdminRoutes, OK, unavailable } from './server.ts';

export interface SidecarRoutesOptions {
  health: Pick<EngineHealth, 'isHealthy' | 'isAlive'>;
  drain: Drain;
  drainToken: string;
  onWrongToken: () => void;
}

export function buildSidecarRoutes(options: SidecarRoutesOptions): AdminRoutes {
  const { health, drain } = options;
  const isToken = buildTokenCheck(options.drainToken);
  const answerHealth = () => (health.isHealthy ? OK : unavailable('the engine is not healthy'));
  return {
    [ADMIN_PATHS.healthz]: () => OK,
    // "Listening" and no more: the engine's container is started only after this.
    [ADMIN_PATHS.startup]: () => OK,
    // Also while draining: deletion alone takes a pod out of its Service.
    [ADMIN_PATHS.readyz]: answerHealth,
    [ADMIN_PATHS.engineStartup]: answerHealth,
    [ADMIN_PATHS.engineLiveness]: () => (health.isAlive ? OK : unavailable('the engine does not answer')),
    [ADMIN_PATHS.drain]: async (req) => {
      if (isToken(req.headers[DRAIN_TOKEN_HEADER])) return { status: 200, body: await drain.begin() };
      options.onWrongToken();
      return { status: 403, body: 'wrong drain token' };
    },
  };
}
