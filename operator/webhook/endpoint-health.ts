/** Redis' delivery counts of an endpoint, for its reconciler. */
import type { RedisClient } from '../../redis/client.ts';
import {
  type EndpointHealth,
  forgetEndpoint,
  knowsEndpoint,
  readEndpointHealth,
  resetEndpointHealth,
  restoreEndpointHealth,
} from '../../redis/deliveries/delivery-log.ts';

/** All throw while Redis is down. */
export interface EndpointHealthStore {
  read: (namespace: string, name: string) => Promise<EndpointHealth>;
  isKnown: (namespace: string, name: string) => Promise<boolean>;
  restore: (namespace: string, name: string, health: EndpointHealth) => Promise<void>;
  reset: (namespace: string, name: string) => Promise<void>;
  delete: (namespace: string, name: string) => Promise<void>;
}

export const createEndpointHealth = (redis: RedisClient): EndpointHealthStore => ({
  read: (namespace, name) => readEndpointHealth(redis, namespace, name),
  isKnown: (namespace, name) => knowsEndpoint(redis, namespace, name),
  restore: (namespace, name, health) => restoreEndpointHealth(redis, namespace, name, health),
  reset: (namespace, name) => resetEndpointHealth(redis, namespace, name),
  delete: (namespace, name) => forgetEndpoint(redis, namespace, name),
});
