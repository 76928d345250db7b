/** Services shared by the routes. */
import type { RedisClient } from '../../../redis/client.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { LargeAnswers } from '../http/large-answers.ts';
import type { ConsoleMetrics } from '../http/metrics.ts';
import type { Access } from '../kubernetes/access.ts';
import type { Kubernetes } from '../kubernetes/client.ts';
import type { Namespaces } from '../kubernetes/namespaces.ts';
import type { OwnSecrets } from '../kubernetes/own-secrets.ts';
import type { KubernetesStreams } from '../kubernetes/streams.ts';
import type { Feeds } from '../live/feeds.ts';
import type { Issuer } from '../oidc/issuer.ts';
import type { RedisPresence } from '../sessions/redis-presence.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { SignIns } from '../sign-in/sign-ins.ts';

export interface Services {
  kubernetes: Kubernetes;
  streams: KubernetesStreams;
  feeds: Feeds;
  redis: RedisClient;
  presence: RedisPresence;
  sessions: Sessions;
  signIns: SignIns;
  /** null: sign-in with tokens only. */
  issuer: Issuer | null;
  access: Access;
  namespaces: Namespaces;
  ownSecrets: OwnSecrets;
  endpoints: Endpoints;
  metrics: ConsoleMetrics;
  largeAnswers: LargeAnswers;
}
