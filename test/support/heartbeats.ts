/** The live replicas of a deployment, as their heartbeats in Redis describe them. */
import type { RedisClient } from '../../redis/client.ts';
import { type DeploymentSample, readDemand } from '../../redis/demand/demand.ts';

export async function readHeartbeats(
  redis: RedisClient,
  namespace: string,
  name: string,
): Promise<DeploymentSample['replicas']> {
  return (await readDemand(redis, [`${namespace}/${name}`])).get(`${namespace}/${name}`)!.replicas;
}
