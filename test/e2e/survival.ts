/** Attacks beside the traffic of another workspace, which must not be affected. */
import { expect } from 'chai';
import { CONTAINERS, PORTS } from '../../api/names.ts';
import { parseQuantity } from '../../api/quantity.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { RELEASE_NAMESPACE } from '../../launch/release.ts';
import type { RedisClient } from '../../redis/client.ts';
import { listPods, type Pod } from './installation.ts';
import { startListing, startTraffic } from './traffic.ts';

/** Limit of another workspace's responses. */
const SLOWEST_MS = 5_000;
/** After an attack: two seconds of each kind of its traffic. */
const MIN_ANSWERS = 10;
/** As a multiple of `maxmemory`: clients' buffers may take a quarter more (`maxmemory-clients`). */
const MAX_REDIS_MEMORY = 1.25;

export interface Watched {
  /** Another workspace's: one with a replica, and one whose requests a front answers. */
  replica: EndpointEntry;
  atFront: EndpointEntry;
  /** The attacker's own pods, which survive, too. */
  listAttacked: () => Promise<Pod[]>;
  redis: RedisClient;
}

/** Returns a function that runs an attack, and then checks for some seconds what all share. */
export async function watchSurvival({ replica, atFront, listAttacked, redis }: Watched) {
  const describePods = async () =>
    [...(await listPods('', RELEASE_NAMESPACE)), ...(await listAttacked())]
      .filter(({ metadata }) => !metadata.deletionTimestamp)
      .map(describePod)
      .sort();
  const podsBefore = await describePods();

  return async function survive(attack: () => Promise<void>): Promise<void> {
    const all = [startTraffic(replica), startListing(atFront)];
    try {
      await attack();
      await Promise.all(all.map((traffic) => traffic.more(MIN_ANSWERS)));
    } finally {
      for (const { answers, failures, slowestMs } of await Promise.all(
        all.map((traffic) => traffic.stop()),
      )) {
        expect(failures, 'requests of another workspace').to.deep.equal([]);
        expect(answers).to.be.at.least(MIN_ANSWERS);
        expect(slowestMs, 'the slowest answer of another workspace, ms').to.be.below(SLOWEST_MS);
      }
    }
    expect(await describePods(), 'pods and restarts').to.deep.equal(podsBefore);
    const programs = 'app.kubernetes.io/component in (operator,front,console)';
    for (const pod of [...(await listPods(programs, RELEASE_NAMESPACE)), ...(await listAttacked())])
      await expectWithinLimit(pod);
    await expectBoundedRedis(redis);
  };
}

function describePod({ metadata, status }: Pod): string {
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return `${metadata.uid} ${metadata.name} ${containers.map(({ restartCount }) => restartCount)}`;
}

/** Checks the memory of its gateway, where the pod is a model's. */
async function expectWithinLimit({ metadata, spec, status }: Pod): Promise<void> {
  const gateway = spec.initContainers?.find(({ name }) => name === CONTAINERS.gateway);
  const { limits } = (gateway ?? spec.containers[0]!).resources!;
  const metrics = await (await fetch(`http://${status.podIP}:${PORTS.metrics}/metrics`)).text();
  const resident = Number(/^process_resident_memory_bytes(?:\{.*\})? (\S+)$/m.exec(metrics)![1]);
  expect(resident, metadata.name).to.be.within(1, parseQuantity(limits!.memory!));
}

async function expectBoundedRedis(redis: RedisClient): Promise<void> {
  const memory = await redis.info('memory');
  const read = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(memory)![1]);
  const most = MAX_REDIS_MEMORY * read('maxmemory');
  expect(read('used_memory_peak'), 'memory of Redis at its peak').to.be.within(1, most);
}
