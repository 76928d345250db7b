/** The ports, keys and passwords of `make run`. Pure. */
import { deriveSecret, formatApiKey } from '../api/identity.ts';
import { PORTS } from '../api/names.ts';
import type { RedisPasswords, RedisUser } from '../machine/redis-files.ts';
import { OUTSIDE_ADDRESS } from './local-buckets.ts';
import { CONTROL_PORT } from './local-node/pod-runner.ts';
import type { ManifestObject } from './manifests.ts';

export const LOOPBACK = '127.0.0.1';
export const DEFAULT_NAMESPACE = 'default';

const DEFAULT_ENGINE_PORT = 8_000;

/** Allowed private addresses: webhook receivers on this machine, and the customer's bucket. */
export const LOCAL_EGRESS = {
  allow: [`${LOOPBACK}/32`, `${OUTSIDE_ADDRESS}/32`],
  deny: [] as string[],
  plainHTTP: true,
};

export interface LocalPorts {
  /** Port of the front, which routes by host names; deployments have the following ports. */
  front: number;
  firstEndpoint: number;
  endpoints: number;
  redis: number;
  admin: number;
  metrics: number;
  /** Port of result links. */
  storage: number;
  /** Port of the customer's S3 server. */
  buckets: number;
  api: number;
  console: number;
  consoleMetrics: number;
  /** Port of the front's internal service. */
  internal: number;
  operatorMetrics: number;
}

const MAX_ENDPOINTS = 89;

/** From the base port on, 8100 by default. */
export const planPorts = (base: number): LocalPorts => ({
  front: base,
  firstEndpoint: base + 1,
  endpoints: MAX_ENDPOINTS,
  redis: base + 90,
  admin: base + 91,
  metrics: base + 92,
  storage: base + 93,
  buckets: base + 94,
  api: base + 95,
  console: base + 96,
  consoleMetrics: base + 97,
  internal: base + 98,
  operatorMetrics: base + 99,
});

/** Ports that must be free, for so many deployments. */
export function listPorts(ports: LocalPorts, deployments: number): number[] {
  const { firstEndpoint, endpoints: _, ...rest } = ports;
  return [
    ...Object.values(rest),
    ...Array.from({ length: deployments }, (_, index) => firstEndpoint + index),
  ];
}

/** Ports that pods of these deployments use themselves. */
export const listPodPorts = (manifests: readonly ManifestObject[]): number[] => [
  ...Object.values(PORTS),
  CONTROL_PORT,
  DEFAULT_ENGINE_PORT,
  ...manifests.flatMap(({ object }) => {
    const { engine } = (object.spec ?? {}) as { engine?: { port?: unknown } };
    return typeof engine?.port === 'number' ? [engine.port] : [];
  }),
];

/** Whether pods can call the services of this machine: an address with a port of their own would mean themselves. */
export const isApartFromPods = ({ redis, internal }: LocalPorts, podPorts: readonly number[]): boolean =>
  !podPorts.includes(redis) && !podPorts.includes(internal);

/** A workspace's key in `make run`: the same at each start, so that scripts keep working. */
export const deriveLocalKey = (masterKey: string, namespace: string): string =>
  formatApiKey(deriveSecret(masterKey, `local-key/${namespace}`));

/** Passwords of Berth's own users in the Redis of `make run`. */
export const deriveRedisPasswords = (masterKey: string): RedisPasswords => ({
  operator: deriveSecret(masterKey, 'local-redis/operator').toString('hex'),
  front: deriveSecret(masterKey, 'local-redis/front').toString('hex'),
  console: deriveSecret(masterKey, 'local-redis/console').toString('hex'),
});

/** The address of the Redis of `make run`, with the user's password. */
export const localRedisURL = (port: number, masterKey: string, user: RedisUser): string =>
  `redis://berth-${user}:${deriveRedisPasswords(masterKey)[user]}@${LOOPBACK}:${port}`;
