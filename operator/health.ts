/** What the operator answers on its port, beside its metrics: /healthz and /readyz. */
import { type AdminRoutes, OK, unavailable } from '../kit/admin-server.ts';

export interface HealthSources {
  /** Why the process should be restarted; undefined while it is healthy. */
  healthError: () => string | undefined;
  /** Whether its view of the cluster is complete. */
  isReady: () => boolean;
}

export const buildHealthRoutes = ({ healthError, isReady }: HealthSources): AdminRoutes => ({
  '/healthz': () => {
    const reason = healthError();
    return reason === undefined ? OK : { status: 500, body: reason };
  },
  '/readyz': () => (isReady() ? OK : unavailable('caches are not synced yet')),
});
