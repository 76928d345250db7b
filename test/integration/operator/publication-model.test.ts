import { expect } from 'chai';
import { workspaceRedisUser } from '../../../api/identity.ts';
import { defaultHost } from '../../../api/names.ts';
import { configKeys, globalKeys } from '../../../api/redis-keys.ts';
import { silentLog } from '../../../kube/log.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { createProgram, type Program } from '../../../operator/program.ts';
import { connectRedis, type RedisConnection } from '../../../redis/client.ts';
import { listWorkspaceUsers } from '../../../redis/workspaces/users.ts';
import { pollUntil } from '../../support/poll.ts';
import { listSeeds, seedRandom } from '../../support/random-seeds.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { readyStatus } from './cluster-player.ts';
import { connectBadly, type Line } from './faulty-redis.ts';
import { MemoryCluster } from './memory-cluster.ts';
import { makeSettings } from './operator-settings.ts';

const STEPS = Number(process.env.STEPS ?? 150);
const MODEL = BERTH_RESOURCES.ModelDeployment;
const NAMESPACES = ['team-a', 'team-b'];
const NAMES = ['chat', 'draw', 'film'];
const HOSTS = ['one.example.test', 'two.example.test', 'chat--team-a.example.test'];
const settings = makeSettings({ allowedHosts: HOSTS });

/** The timers that mend what went wrong are off, so that what they would mend is seen. */
const NEVER_MS = 3_600_000;

interface Published {
  deployments: string[];
  apiKeys: string[];
  hosts: Record<string, string>;
  users: string[];
}

describe('what is published and a model of it', function () {
  this.timeout(120_000);
  let server: RedisServer;
  let real: RedisConnection;
  let connection: RedisConnection;
  let program: Program;
  let cluster: MemoryCluster;
  let line: Line;
  let kubelet: NodeJS.Timeout;
  let history: string[];

  const start = async (seed: number): Promise<() => number> => {
    const random = seedRandom(seed);
    history = [];
    line = { faults: 0, lagMs: 40 };
    server = await startRedis();
    real = connectRedis({ url: server.url, name: 'test', role: 'operator' });
    connection = connectRedis({ url: server.url, name: 'operator', role: 'operator' });
    await Promise.all([real.untilUp(60_000), connection.untilUp(60_000)]);
    cluster = new MemoryCluster(random);
    program = createProgram({
      client: cluster.client,
      leaseClient: cluster.client,
      redis: connectBadly(connection, line, random),
      settings,
      podName: 'operator-1',
      lease: { name: 'berth-operator', durationMs: 60_000, renewDeadlineMs: 50_000, retryMs: 5_000 },
      onLost: (reason) => history.push(`lost the lease: ${reason}`),
      log: silentLog,
      checkIntervalMs: NEVER_MS,
    });
    await program.start();
    kubelet = setInterval(() => playNodes(cluster), 10);
    return random;
  };
  afterEach(async function () {
    if (this.currentTest?.state === 'failed') console.log(history.slice(-60).join('\n'));
    clearInterval(kubelet);
    await program?.stop();
    await Promise.all([real?.close(), connection?.close()]);
    await server?.stop();
  });

  for (const seed of listSeeds())
    it(`agree after ${STEPS} random changes of deployments, hosts, keys and Redis’ mood (seed ${seed})`, async () => {
      const random = await start(seed);
      const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
      for (let step = 0; step < STEPS; step++) {
        history.push(takeStep({ cluster, line, random, pick }));
        // Most of it in quick succession, as scripts do it.
        if (random() < 0.6) await new Promise((resolve) => setTimeout(resolve, random() * 60));
      }
      line.faults = 0;
      await pollUntil(() => isQuiet(cluster, program), 'everything to be worked off', 90_000);
      expect(await readPublished(real)).to.deep.equal(expectPublished(cluster));
      for (const model of cluster.store(MODEL).values()) {
        const conditions = (
          model.status as { conditions: { type: string; status: string; reason: string }[] }
        ).conditions;
        const route = conditions.find(({ type }) => type === 'RouteReady');
        const isOwner = expectPublished(cluster).hosts[hostOf(model)] === keyOf(model);
        expect([keyOf(model), route?.reason]).to.deep.equal([
          keyOf(model),
          isOwner ? 'Routed' : 'HostConflict',
        ]);
      }
    });
});

const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;

const hostOf = ({ metadata, spec }: KubeObject): string =>
  (spec as { route?: { host?: string } }).route?.host ??
  defaultHost(metadata.name, metadata.namespace!, settings.domain);

interface Steps {
  cluster: MemoryCluster;
  line: Line;
  random: () => number;
  pick: <T>(items: readonly T[]) => T;
}

/** One change as somebody might make it; answers what it was. */
function takeStep({ cluster, line, random, pick }: Steps): string {
  const [namespace, name] = [pick(NAMESPACES), pick(NAMES)];
  const key = `${namespace}/${name}`;
  const live = cluster.store(MODEL).get(key);
  const drawn = random();
  if (drawn < 0.04) {
    line.faults = random() < 0.5 ? 0 : 0.1;
    return `${line.faults * 100} % of all commands fail`;
  }
  if (drawn < 0.12) return changeKey(cluster, namespace);
  if (!live) {
    const spec = makeSpec(random() < 0.4 ? pick(HOSTS) : undefined);
    cluster.put(MODEL, {
      apiVersion: MODEL.apiVersion,
      kind: MODEL.kind,
      metadata: { namespace, name },
      spec,
    });
    return `${key} created with ${JSON.stringify(spec.route)}`;
  }
  if (live.metadata.deletionTimestamp !== undefined) {
    if (random() < 0.7) return `${key} is waited for`;
    cluster.put(MODEL, { ...live, metadata: { ...live.metadata, finalizers: [] } });
    return `${key} loses its finalizer`;
  }
  if (random() < 0.6) {
    cluster.delete(MODEL, key);
    return `${key} deleted`;
  }
  const spec = makeSpec(random() < 0.6 ? pick(HOSTS) : undefined);
  cluster.put(MODEL, { ...live, spec });
  return `${key} changed to ${JSON.stringify(spec.route)}`;
}

function changeKey(cluster: MemoryCluster, namespace: string): string {
  const resource = BERTH_RESOURCES.APIKey;
  const key = `${namespace}/mine`;
  if (cluster.store(resource).has(key)) {
    cluster.delete(resource, key);
    return `key ${key} deleted`;
  }
  const { apiVersion, kind } = resource;
  const spec = { sha256: 'ab'.repeat(32) };
  cluster.put(resource, { apiVersion, kind, metadata: { namespace, name: 'mine' }, spec });
  return `key ${key} created`;
}

const makeSpec = (host: string | undefined) => ({
  kind: 'LLM',
  model: { id: 'tiny' },
  engine: { preset: 'simulator' },
  route: host === undefined ? {} : { host },
});

/** The Deployment controller and the kubelet: a ready pod for each Deployment, none for one that is gone. */
function playNodes(cluster: MemoryCluster): void {
  const [deployments, pods] = [cluster.store(RESOURCES.Deployment), cluster.store(RESOURCES.Pod)];
  for (const [key, { spec, metadata }] of deployments) {
    if (pods.has(key)) continue;
    const { labels } = (spec as { template: { metadata: { labels: Record<string, string> } } }).template
      .metadata;
    const { name, namespace } = metadata;
    const status = readyStatus('10.1.0.1');
    cluster.put(RESOURCES.Pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels },
      spec: {},
      status,
    });
  }
  cluster.collectOrphans();
  for (const key of pods.keys()) if (!deployments.has(key)) cluster.delete(RESOURCES.Pod, key);
}

function isQuiet(cluster: MemoryCluster, program: Program): boolean {
  const models = [...cluster.store(MODEL).values()];
  const pods = cluster.store(RESOURCES.Pod);
  return (
    cluster.pending === 0 &&
    program.isIdle() &&
    models.every(({ metadata }) => metadata.deletionTimestamp === undefined) &&
    models.length === cluster.store(RESOURCES.Deployment).size &&
    models.length === pods.size &&
    models.every(({ status }) => (status as { readyReplicas?: number } | undefined)?.readyReplicas === 1)
  );
}

function expectPublished(cluster: MemoryCluster): Published {
  const models = [...cluster.store(MODEL).values()];
  const apiKeys = [...cluster.store(BERTH_RESOURCES.APIKey).keys()];
  const hosts: Record<string, string> = {};
  const isByName = (model: KubeObject) =>
    hostOf(model) === defaultHost(model.metadata.name, model.metadata.namespace!, settings.domain);
  const since = ({ metadata }: KubeObject) => Math.floor(Date.parse(metadata.creationTimestamp!));
  const ranked = models.toSorted(
    (a, b) =>
      Number(isByName(b)) - Number(isByName(a)) || since(a) - since(b) || (keyOf(a) < keyOf(b) ? -1 : 1),
  );
  for (const model of ranked) hosts[hostOf(model)] ??= keyOf(model);
  return {
    deployments: models.map(keyOf).sort(),
    apiKeys: apiKeys.sort(),
    hosts,
    users: [...new Set(models.map(({ metadata }) => workspaceRedisUser(metadata.namespace!)))].sort(),
  };
}

async function readPublished({ redis }: RedisConnection): Promise<Published> {
  const deployments: string[] = [];
  const apiKeys: string[] = [];
  for (const namespace of NAMESPACES) {
    const keys = configKeys(namespace);
    for (const name of await redis.hkeys(keys.deployments)) deployments.push(`${namespace}/${name}`);
    if ((await redis.hlen(keys.apiKeys)) > 0) apiKeys.push(`${namespace}/mine`);
  }
  return {
    deployments: deployments.sort(),
    apiKeys: apiKeys.sort(),
    hosts: await redis.hgetall(globalKeys.hosts),
    users: (await listWorkspaceUsers(redis)).sort(),
  };
}
