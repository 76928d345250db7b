/** What the operator answers on its port, beside its metrics: /healthz and /readyz. */
import { type AdminRoutes, OK, unavailable } from '../kit/admin-server.ts';

export interface HealthSources {
  /** Why the process should be restarted; undefined while it is healthy. */
  ailment: () => string | undefined;
  /** Whether its view of the cluster is complete. */
  isReady: () => boolean;
}

export const buildHealthRoutes = ({ ailment, isReady }: HealthSources): AdminRoutes => ({
  '/healthz': () => {
    const reason = ailment();
    return reason === undefined ? OK : { status: 500, body: reason };
  },
  '/readyz': () => (isReady() ? OK : unavailable('caches are filling')),
});
