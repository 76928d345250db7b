/** An installation as the tests have it. */
import { type OperatorSettings, parseSettings } from '../../../operator/environment.ts';

export const SYSTEM_NAMESPACE = 'berth-system';
export const FRONT_SERVICE = 'berth-front';

export const makeSettings = (change: Partial<OperatorSettings> = {}): OperatorSettings => ({
  ...parseSettings(
    {
      OPERATOR_NAMESPACE: SYSTEM_NAMESPACE,
      OPERATOR_DOMAIN: 'example.test',
      OPERATOR_INGRESS_CLASS: 'test',
      OPERATOR_ALLOWED_HOSTS: '*.example.test',
      OPERATOR_FRONT_SERVICE: FRONT_SERVICE,
      OPERATOR_GATEWAY_IMAGE: 'berth/berth:test',
      OPERATOR_SIMULATOR_IMAGE: 'berth/simulator:test',
      OPERATOR_REDIS_URL: 'redis://redis.example:6379',
    },
    {
      masterKey: 'master',
      redisUsername: undefined,
      redisPassword: undefined,
      redisCAFile: '/nowhere/redis-ca.crt',
      readRedisCA: () => undefined,
    },
  ),
  ...change,
});
