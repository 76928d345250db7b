import { expect } from 'chai';
import { buildGatewayConfig } from '../../../api/gateway-config.ts';
import { workspacePrefix, workspaceRedisPassword, workspaceRedisUser } from '../../../api/identity.ts';
import { modelDeployment } from '../../../api/model-deployment.ts';
import type { DeploymentName } from '../../../api/names.ts';
import { configKeys, globalKeys, type PublishedKey } from '../../../api/redis-keys.ts';
import { silentLog } from '../../../kube/log.ts';
import type {
  DesiredState,
  PublishedDeployment,
  WantedCredential,
} from '../../../operator/publish/desired-state.ts';
import { Publisher } from '../../../operator/publish/publisher.ts';
import { type RememberedBudget, readBudget } from '../../../redis/admission/budgets.ts';
import { connectRedis, type RedisConnection } from '../../../redis/client.ts';
import { libraryIsLoaded } from '../../../redis/library.ts';
import { publishApiKeys, publishDeployment, publishHost } from '../../../redis/publication/publication.ts';
import {
  isKnownPrefix,
  readDeployment,
  readEpoch,
  readHosts,
  readReplicas,
} from '../../../redis/publication/published.ts';
import { listWorkspaceUsers } from '../../../redis/workspaces/users.ts';
import { pollUntil } from '../../support/poll.ts';
import { readApiKeys } from '../../support/publication.ts';
import { seedRandom } from '../../support/random-seeds.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { connectBadly, type Line } from './faulty-redis.ts';

const KEY: PublishedKey = { n: 'mine', rpm: 60, tpd: 1000, exp: 0, off: 0 };

/** A desired state that tests change by hand. */
class FakeDesiredState implements DesiredState {
  readonly deployments = new Map<string, PublishedDeployment>();
  readonly keys = new Map<string, Map<string, PublishedKey>>();
  readonly wanted = new Map<string, WantedCredential[]>();
  credit: number | null = null;

  add(namespace: string, name: string, host?: string, addresses: string[] = []): void {
    const config = buildGatewayConfig(
      modelDeployment.parse({
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ModelDeployment',
        metadata: { name, namespace },
        spec: { kind: 'LLM', model: { id: name }, engine: { preset: 'simulator' } },
      }),
    );
    this.deployments.set(`${namespace}/${name}`, { config, host, addresses, pods: addresses.length });
  }

  namespaces = () =>
    new Set([...[...this.deployments.keys()].map((key) => key.split('/')[0]!), ...this.keys.keys()]);
  readonly hidden = new Set<string>();
  unseen = () => new Set(this.hidden);
  knows = (namespace: string) => this.namespaces().has(namespace);
  names = (namespace: string) =>
    [...this.deployments.keys()]
      .filter((key) => key.startsWith(`${namespace}/`))
      .map((key) => key.split('/')[1]!);
  hosts = (namespace: string) =>
    new Map(this.names(namespace).map((name) => [name, this.deployments.get(`${namespace}/${name}`)?.host]));
  deployment = ({ namespace, name }: DeploymentName) => this.deployments.get(`${namespace}/${name}`);
  apiKeys = (namespace: string) => this.keys.get(namespace) ?? new Map<string, PublishedKey>();
  apiKey = (namespace: string, sha256: string) => this.apiKeys(namespace).get(sha256);
  credentials = (namespace: string) => this.wanted.get(namespace) ?? [];
  /** Called while everything is being written. */
  onEndpoints = () => {};
  endpoints = () => {
    this.onEndpoints();
    return [];
  };
  signingSecret = () => null;
  ownerEmail = () => null;
  keepInputsMs = () => null;
  currency = () => null;
  owners = () => new Map();
  remembered: RememberedBudget[] = [];
  budgets = () => this.remembered;
  creditMicros = () => this.credit;
  needsUser = (namespace: string) => this.names(namespace).length > 0;
}

describe('publishing to Redis', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let desired: FakeDesiredState;
  let publisher: Publisher;
  let queueStates: (string | null)[];
  let states: string[];
  let changes: string[];
  /** Whether Redis held each deployment just when its publication changed. */
  let held: Promise<boolean>[];

  const start = (line?: Line, checkIntervalMs = 50, now = Date.now) => {
    publisher = new Publisher({
      connection: line ? connectBadly(connection, line, seedRandom(1)) : connection,
      desired,
      users: 'managed',
      masterKey: 'master',
      allowVolatileQueue: false,
      log: silentLog,
      now,
      // With a faulty connection nothing is repaired periodically, so that every fault is seen.
      checkIntervalMs: line ? 3_600_000 : checkIntervalMs,
      auditIntervalMs: line ? 3_600_000 : 50,
      onStateChange: (state) => states.push(state),
      onRefusalChange: (refusal) => queueStates.push(refusal),
      onDeploymentChange: ({ namespace, name }) => {
        changes.push(name);
        held.push(published(namespace, name).then((config) => config !== null));
      },
    });
    publisher.start();
  };
  const published = (namespace: string, name: string) => readDeployment(connection.redis, namespace, name);

  beforeEach(async () => {
    server = await startRedis();
    connection = await connectTo(server);
    desired = new FakeDesiredState();
    states = [];
    queueStates = [];
    changes = [];
    held = [];
  });
  afterEach(async () => {
    await publisher?.stop();
    await connection.close();
    await server.stop();
  });

  it('publishes configuration, host, addresses, keys, user, functions and epoch', async () => {
    desired.add('team-a', 'chat', 'chat.example', ['10.0.0.1']);
    desired.keys.set('team-a', new Map([['aa', KEY]]));
    start();
    await pollUntil(async () => (await readEpoch(connection.redis)) !== null);
    expect((await published('team-a', 'chat'))?.modelId).to.equal('chat');
    expect(await readReplicas(connection.redis, 'team-a', 'chat')).to.deep.equal(['10.0.0.1']);
    expect([...(await readHosts(connection.redis)).keys()]).to.deep.equal(['chat.example']);
    expect([...(await readApiKeys(connection.redis, 'team-a')).keys()]).to.deep.equal(['aa']);
    expect(await libraryIsLoaded(connection.redis)).to.equal(true);
    expect(await isKnownPrefix(connection.redis, workspacePrefix('master', 'team-a'))).to.equal(true);
    const tenant = connectRedis({
      url: server.url,
      name: 'tenant',
      role: 'sidecar',
      username: workspaceRedisUser('team-a'),
      password: workspaceRedisPassword('master', 'team-a'),
    });
    await tenant.untilUp(60_000);
    await tenant.close();
  });

  it('tells of a host only once its deployment is written, also while everything is', async () => {
    desired.add('team-a', 'chat', 'chat.example');
    start();
    await pollUntil(() => publisher.publishedHost({ namespace: 'team-a', name: 'chat' }) === 'chat.example');
    expect(changes).to.deep.equal(['chat']);
    expect(await Promise.all(held)).to.deep.equal([true]);
  });

  it('publishes everything once more where Redis loses it on the way', async () => {
    desired.add('team-a', 'chat', 'chat.example');
    desired.keys.set('team-a', new Map([['aa', KEY]]));
    const losses = [true];
    desired.onEndpoints = () => {
      if (losses.pop()) void connection.redis.flushall();
    };
    start();
    await pollUntil(async () => (await readEpoch(connection.redis)) !== null);
    expect(losses).to.deep.equal([]);
    expect([...(await readApiKeys(connection.redis, 'team-a')).keys()]).to.deep.equal(['aa']);
    expect([...(await readHosts(connection.redis)).keys()]).to.deep.equal(['chat.example']);
  });

  it('removes on start what went while nobody watched', async () => {
    desired.add('team-a', 'gone', 'gone.example');
    const config = desired.deployments.get('team-a/gone')!.config!;
    await publishDeployment(connection.redis, config);
    await publishDeployment(connection.redis, { ...config, namespace: 'team-z' });
    await publishHost(connection.redis, 'gone.example', { namespace: 'team-a', name: 'gone' });
    await publishApiKeys(connection.redis, 'team-a', new Map([['old', KEY]]));
    desired.deployments.clear();
    desired.add('team-a', 'kept');
    start();
    await pollUntil(
      async () =>
        (await published('team-a', 'kept')) !== null && (await readEpoch(connection.redis)) !== null,
    );
    expect(await published('team-a', 'gone')).to.equal(null);
    expect(await published('team-z', 'gone')).to.equal(null);
    expect((await readHosts(connection.redis)).size).to.equal(0);
    expect((await readApiKeys(connection.redis, 'team-a')).size).to.equal(0);
  });

  it('leaves what it holds of a namespace that may not be read, until it may be', async () => {
    desired.add('team-b', 'chat', 'b.example');
    start();
    await pollUntil(async () => (await readEpoch(connection.redis)) !== null);
    await publisher.stop();
    desired.deployments.clear();
    desired.hidden.add('team-b');
    desired.add('team-a', 'chat', 'a.example');
    start();
    await pollUntil(() => publisher.idle);
    publisher.mark({ what: 'workspace', namespace: 'team-b' });
    publisher.mark({ what: 'deployment', namespace: 'team-b', name: 'chat' });
    await pollUntil(() => publisher.idle);
    expect((await published('team-a', 'chat'))?.name).to.equal('chat');
    expect((await published('team-b', 'chat'))?.name).to.equal('chat');
    expect([...(await readHosts(connection.redis)).keys()]).to.have.members(['a.example', 'b.example']);
    expect(await listWorkspaceUsers(connection.redis)).to.have.members(
      ['team-a', 'team-b'].map(workspaceRedisUser),
    );
    desired.hidden.clear();
    await pollUntil(async () => (await published('team-b', 'chat')) === null);
    await pollUntil(async () => !(await readHosts(connection.redis)).has('b.example'));
  });

  it('publishes everything again after Redis lost it', async () => {
    desired.add('team-a', 'chat', 'chat.example');
    start();
    await pollUntil(async () => (await readEpoch(connection.redis)) !== null);
    await connection.redis.flushall();
    await connection.redis.function('FLUSH');
    await pollUntil(async () => (await readEpoch(connection.redis)) !== null);
    expect((await published('team-a', 'chat'))?.name).to.equal('chat');
    expect(await libraryIsLoaded(connection.redis)).to.equal(true);
  });

  it('restores what budgets have spent after Redis lost it, and of a namespace once that may be read', async () => {
    const at = Date.parse('2026-11-15T12:00:00Z');
    const holder = { kind: 'key', name: 'mine' } as const;
    const budget = { micros: 100, period: 'Month', warnAt: [] } as const;
    const periodEndsAt = Date.parse('2026-12-01T00:00:00Z');
    desired.add('team-a', 'chat');
    desired.add('team-b', 'chat');
    desired.hidden.add('team-b');
    desired.remembered = [{ holder, budget, spentMicros: 70, periodEndsAt }];
    const spentOf = async (namespace: string) =>
      (await readBudget(connection.redis, namespace, { holder, budget, at })).spentMicros;
    start(undefined, 50, () => at);
    await pollUntil(async () => (await readEpoch(connection.redis)) !== null);
    expect([await spentOf('team-a'), await spentOf('team-b')]).to.deep.equal([70, 0]);
    expect([publisher.isRestored('team-a'), publisher.isRestored('team-b')]).to.deep.equal([true, false]);
    desired.hidden.clear();
    await pollUntil(() => publisher.isRestored('team-b'));
    expect([await spentOf('team-a'), await spentOf('team-b')]).to.deep.equal([70, 70]);
  });

  it('refuses queueing in every workspace while Redis is not durable, and allows it afterwards', async () => {
    desired.add('team-a', 'chat');
    desired.add('team-b', 'chat');
    const { redis } = connection;
    await redis.config('SET', 'appendonly', 'no');
    await redis.config('SET', 'save', '');
    start();
    const refusals = () =>
      Promise.all(['team-a', 'team-b'].map((name) => redis.hget(configKeys(name).workspace, 'asyncRefusal')));
    const every = async (expected: (refusal: string | null) => boolean) => (await refusals()).every(expected);
    await pollUntil(() => every((refusal) => refusal?.includes('appendonly') ?? false));
    await redis.config('SET', 'appendonly', 'yes');
    await pollUntil(() => every((refusal) => refusal === null));
    expect(queueStates.at(0)).to.match(/appendonly/);
    expect(queueStates.at(-1)).to.equal(null);
    const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1]);
    await redis.config('SET', 'maxmemory', String(Math.floor(used / 0.9)));
    await pollUntil(() => every((refusal) => /% of its memory/.test(refusal ?? '')));
  });

  it('makes the users again when they alone vanish', async () => {
    desired.add('team-a', 'chat');
    start();
    await pollUntil(async () => (await readEpoch(connection.redis)) !== null);
    await connection.redis.acl('DELUSER', workspaceRedisUser('team-a'));
    await pollUntil(async () => (await listWorkspaceUsers(connection.redis)).length === 1);
  });

  it('reports that Redis is unavailable, retries, and reports its recovery', async () => {
    desired.add('team-a', 'chat');
    start();
    await pollUntil(async () => (await readEpoch(connection.redis)) !== null);
    await server.kill();
    await pollUntil(() => states.at(-1) === 'away');
    desired.add('team-a', 'late', 'late.example');
    publisher.mark({ what: 'deployment', namespace: 'team-a', name: 'late' });
    await pollUntil(() => publisher.outage !== undefined);
    await server.restart();
    await pollUntil(() => publisher.publishedHost({ namespace: 'team-a', name: 'late' }) === 'late.example');
    await pollUntil(() => states.at(-1) === 'up');
    expect((await published('team-a', 'late'))?.name).to.equal('late');
    expect(changes).to.include('late');
  });

  it('reports no recovery of a server that hangs before it answers again', async () => {
    await connection.close();
    connection = await connectTo(server, { commandTimeoutMs: 300 });
    start(undefined, 5_000);
    await pollUntil(() => publisher.idle);
    let disconnects = 0;
    connection.redis.on('close', () => disconnects++);
    server.pause();
    await pollUntil(() => disconnects > 2, 'several attempts');
    expect(states).to.deep.equal(['away']);
    server.resume();
    await pollUntil(() => states.length > 1, 'the recovery');
    expect(states).to.deep.equal(['away', 'up']);
  });

  it('moves a host without ever taking it from its new owner', async () => {
    desired.add('team-a', 'one', 'shared.example');
    start();
    await pollUntil(async () => (await readHosts(connection.redis)).size === 1);
    desired.add('team-a', 'one', undefined);
    desired.add('team-b', 'two', 'shared.example');
    publisher.mark({ what: 'deployment', namespace: 'team-b', name: 'two' });
    publisher.mark({ what: 'deployment', namespace: 'team-a', name: 'one' });
    await pollUntil(async () => (await readHosts(connection.redis)).get('shared.example')?.name === 'two');
    desired.deployments.delete('team-a/one');
    await publisher.publish({ what: 'deployment', namespace: 'team-a', name: 'one' });
    expect((await readHosts(connection.redis)).get('shared.example')?.name).to.equal('two');
  });

  it('gives a host to its new owner where the old one goes in the same moment', async () => {
    start({ faults: 0, lagMs: 60 });
    for (let round = 0; round < 30; round++) {
      const [old, next] = round % 2 === 0 ? ['one', 'two'] : ['two', 'one'];
      desired.deployments.delete(`team-a/${old}`);
      desired.add('team-a', next!, 'shared.example');
      for (const name of ['one', 'two']) publisher.mark({ what: 'deployment', namespace: 'team-a', name });
      await pollUntil(() => publisher.idle);
      expect((await readHosts(connection.redis)).get('shared.example')?.name).to.equal(next);
    }
  });

  it('takes back a host whose writing was never answered', async () => {
    let wasWritten = false;
    const onTransaction = async () => {
      if (wasWritten || !(await readHosts(connection.redis)).has('chat.example')) return;
      wasWritten = true;
      desired.deployments.delete('team-a/chat');
      throw new Error('Command timed out');
    };
    start({ faults: 0, lagMs: 0, onTransaction });
    await pollUntil(() => publisher.idle);
    desired.add('team-a', 'chat', 'chat.example');
    publisher.mark({ what: 'deployment', namespace: 'team-a', name: 'chat' });
    await pollUntil(() => wasWritten && publisher.idle);
    expect(await readHosts(connection.redis)).to.deep.equal(new Map());
  });

  it('takes back a host whose writing was never answered, nor the next attempt of its deployment', async () => {
    const deployment = { what: 'deployment', namespace: 'team-a', name: 'chat' } as const;
    const next = [
      () => desired.add('team-a', 'chat', 'chat.example', ['10.0.0.1']),
      () => desired.deployments.delete('team-a/chat'),
    ];
    const onTransaction = async () => {
      if (next.length === 0 || !(await readHosts(connection.redis)).has('chat.example')) return;
      next.shift()!();
      throw new Error('Command timed out');
    };
    start({ faults: 0, lagMs: 0, onTransaction });
    await pollUntil(() => publisher.idle);
    desired.add('team-a', 'chat', 'chat.example');
    publisher.mark(deployment);
    await pollUntil(() => next.length === 0 && publisher.idle);
    expect(await readHosts(connection.redis)).to.deep.equal(new Map());
  });

  it('restores what Redis lacks, and removes what it should not have, without any event', async () => {
    desired.add('team-a', 'chat', 'chat.example');
    desired.keys.set('team-a', new Map([['aa', KEY]]));
    start();
    await pollUntil(() => publisher.idle);
    const { redis } = connection;
    const config = desired.deployments.get('team-a/chat')!.config!;
    await redis.hdel(globalKeys.hosts, 'chat.example');
    await pollUntil(async () => (await readHosts(redis)).has('chat.example'));
    await redis.hdel(configKeys('team-a').deployments, 'chat');
    await pollUntil(async () => (await published('team-a', 'chat')) !== null);
    await redis.hdel(configKeys('team-a').apiKeys, 'aa');
    await pollUntil(async () => (await readApiKeys(redis, 'team-a')).has('aa'));
    await publishDeployment(redis, { ...config, name: 'ghost' });
    await publishHost(redis, 'ghost.example', { namespace: 'team-a', name: 'ghost' });
    await pollUntil(async () => (await published('team-a', 'ghost')) === null);
    await pollUntil(async () => !(await readHosts(redis)).has('ghost.example'));
  });

  it('writes an API key that changed alone, however many its workspace has', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => [`hash-${index}`, KEY] as const);
    desired.keys.set('team-a', new Map(many));
    start();
    await pollUntil(() => publisher.idle);
    await publisher.stop();
    const { redis } = connection;
    const sent = async () => Number(/total_net_output_bytes:(\d+)/.exec(await redis.info('stats'))![1]);
    const before = await sent();
    for (const [sha256, key] of [
      ['hash-7', { ...KEY, rpm: 1 }],
      ['new', KEY],
      ['hash-8', undefined],
    ] as const) {
      if (key) desired.keys.get('team-a')!.set(sha256, key);
      else desired.keys.get('team-a')!.delete(sha256);
      await publisher.publish({ what: 'apikeys', namespace: 'team-a', only: new Set([sha256]) });
    }
    expect(await sent()).to.be.below(before + 50_000);
    expect(await readApiKeys(redis, 'team-a')).to.deep.equal(desired.keys.get('team-a'));
  });

  it('publishes the others when one cannot be written', async () => {
    desired.add('team-a', 'chat');
    desired.add('Not A Namespace', 'bad');
    start();
    await pollUntil(async () => (await readEpoch(connection.redis)) !== null);
    expect((await published('team-a', 'chat'))?.name).to.equal('chat');
    expect(states).to.deep.equal([]);
  });

  it('tries one that always fails again and again, and leaves the others as they are', async () => {
    desired.add('team-a', 'chat', 'chat.example');
    desired.add('team-b', 'chat', 'b.example');
    start();
    await pollUntil(() => publisher.idle);
    const { redis } = connection;
    // No hash any more, so nothing can be written into it, and nothing read.
    await redis.rename(configKeys('team-b').deployments, 'kept');
    await redis.set(configKeys('team-b').replicas, 'a string');
    publisher.mark({ what: 'deployment', namespace: 'team-b', name: 'chat' });
    const calls = async (command: string) =>
      Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.info('commandstats'))?.[1] ?? 0);
    let reads = 0;
    desired.onEndpoints = () => reads++;
    // More audits than it takes to find that it differs, and still does.
    const audits = await calls('hkeys');
    await pollUntil(async () => (await calls('hkeys')) > audits + 20);
    expect(publisher.explain({ namespace: 'team-b', name: 'chat' })).to.match(/WRONGTYPE/);
    expect(reads).to.equal(0);
    desired.add('team-a', 'late', 'late.example');
    publisher.mark({ what: 'deployment', namespace: 'team-a', name: 'late' });
    await pollUntil(() => publisher.publishedHost({ namespace: 'team-a', name: 'late' }) === 'late.example');
    await redis.del(configKeys('team-b').replicas);
    await pollUntil(() => publisher.idle);
    expect((await published('team-b', 'chat'))?.name).to.equal('chat');
  });

  it('writes nothing where Redis already holds it all', async () => {
    desired.add('team-a', 'chat', 'chat.example', ['10.0.0.1']);
    start();
    await pollUntil(async () => (await readEpoch(connection.redis)) !== null);
    await publisher.stop();
    const countCalls = (stats: string, command: string) =>
      Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    const writes = async () => {
      const stats = await connection.redis.info('commandstats');
      const all = ['set', 'del', 'hset', 'hdel', 'sadd', 'srem', 'publish'].map((name) =>
        countCalls(stats, name),
      );
      // What tries whether Redis keeps what functions write: two writes of a function, one beside it.
      return all.reduce((sum, calls) => sum + calls) - 3 * countCalls(stats, 'fcall');
    };
    const before = await writes();
    let reads = 0;
    const counting = new FakeDesiredState();
    counting.add('team-a', 'chat', 'chat.example', ['10.0.0.1']);
    desired = Object.assign(counting, {
      creditMicros: () => {
        reads++;
        return null;
      },
    });
    start();
    await pollUntil(() => reads > 0 && publisher.idle);
    expect(await writes()).to.equal(before);
  });
});
