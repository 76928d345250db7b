/** What the routes share. */
import type { RedisClient } from '../../redis/client.ts';
import type { Access } from './access.ts';
import type { Endpoints } from './endpoints.ts';
import type { Kubernetes } from './kubernetes.ts';
import type { ConsoleMetrics } from './metrics.ts';
import type { Namespaces } from './namespaces.ts';
import type { OwnSecrets } from './own-secrets.ts';
import type { RedisPresence } from './redis-presence.ts';
import type { Sessions } from './sessions.ts';

export interface Services {
  kubernetes: Kubernetes;
  redis: RedisClient;
  presence: RedisPresence;
  sessions: Sessions;
  access: Access;
  namespaces: Namespaces;
  ownSecrets: OwnSecrets;
  endpoints: Endpoints;
  metrics: ConsoleMetrics;
}
