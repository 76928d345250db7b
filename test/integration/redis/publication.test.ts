import { expect } from 'chai';
import { type GatewayConfig, gatewayConfig } from '../../../api/gateway-config.ts';
import { workspaceDataKey } from '../../../api/identity.ts';
import { modelLimits, resolveLimits } from '../../../api/model-limits.ts';
import {
  channels,
  configKeys,
  globalKeys,
  type PublishedCredential,
  type PublishedEndpoint,
  type PublishedKey,
  workKeys,
} from '../../../api/redis-keys.ts';
import { openSigningSecret } from '../../../api/signing-secret.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { decodeChange, type PublishedChange } from '../../../redis/publication/changes.ts';
import * as publication from '../../../redis/publication/publication.ts';
import * as published from '../../../redis/publication/published.ts';
import { readEndpoints, readOwnerEmail, readSigningSecret } from '../../../redis/publication/published.ts';
import { subscribe } from '../../../redis/subscription.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishApiKey, readApiKeys } from '../../support/publication.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

const CONFIG: GatewayConfig = gatewayConfig.parse({
  v: 1,
  namespace: 'one',
  name: 'chat',
  registrationId: 7,
  modelId: 'org/chat',
  servedModelName: 'org/chat',
  displayName: 'Chat',
  ownedBy: 'org',
  created: 1_700_000_000,
  kind: 'LLM',
  concurrency: null,
  paused: false,
  deleting: false,
  enginePreset: 'vllm',
  routes: ['/v1/chat/completions'],
  limits: resolveLimits(modelLimits.parse({}), 'LLM'),
  image: null,
  video: null,
  pricing: { perImage: null, perVideoSecond: null, perMillionInputTokens: 5, perMillionOutputTokens: null },
  storageCredential: null,
});
const key = (n: string, rpm = 60): PublishedKey => ({ n, rpm, tpd: 1000, exp: 0, off: 0 });
const credential = (id: number, name: string): PublishedCredential => ({
  v: 1,
  id,
  name,
  endpoint: null,
  region: 'eu-central-1',
  bucket: 'films',
  prefix: '',
  pathStyle: false,
  sealed: 'sealed',
  verified: true,
});
const DATA_KEY = workspaceDataKey('master', 'one');
const SIGNING = { secret: 'whsec_a', dataKey: DATA_KEY };
const ENDPOINT: PublishedEndpoint = {
  v: 1,
  url: 'https://hooks.example.com/',
  eventTypes: ['request.completed'],
  enabled: true,
};
const CHAT = { namespace: 'one', name: 'chat' };

describe('publication', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let closeSubscription: () => Promise<void>;
  const heard: { channel: string; change: PublishedChange | null }[] = [];

  before(async () => {
    server = await startRedis();
    connection = await connectTo(server);
    let ready = false;
    const subscription = subscribe(
      { url: server.url, name: 'test', role: 'front' },
      [channels.workspace('one'), channels.workspace('two'), channels.front],
      {
        onMessage: (message, channel) => heard.push({ channel, change: decodeChange(message) }),
        onResume: () => {
          ready = true;
        },
      },
    );
    closeSubscription = subscription.close;
    await pollUntil(() => ready, 'the subscription');
  });
  beforeEach(async () => {
    await connection.redis.flushdb();
    heard.length = 0;
  });
  after(async () => {
    await closeSubscription?.();
    await connection?.close();
    await server?.stop();
  });

  /** How many commands that write or notify the server has run. */
  async function countWrites(): Promise<number> {
    const stats = await connection.redis.info('commandstats');
    const writes = /cmdstat_(hset|hdel|set|del|sadd|srem|publish|exec):calls=(\d+)/g;
    return [...stats.matchAll(writes)].reduce((sum, match) => sum + Number(match[2]), 0);
  }

  /** Messages arrive in order, so one sent last says that all have. */
  async function hear(): Promise<{ channel: string; change: PublishedChange | null }[]> {
    const mark = JSON.stringify({ what: 'workspace', namespace: 'mark' });
    await connection.redis.publish(channels.front, mark);
    const isMark = ({ change }: { change: PublishedChange | null }) =>
      change?.what === 'workspace' && change.namespace === 'mark';
    await pollUntil(() => heard.some(isMark), 'the mark');
    return heard.splice(0).filter((message) => !isMark(message));
  }

  const writers: [string, () => Promise<boolean>, PublishedChange][] = [
    [
      'publishApiKeys',
      () =>
        publication.publishApiKeys(
          connection.redis,
          'one',
          new Map([
            ['a', key('a')],
            ['b', key('b')],
          ]),
        ),
      { what: 'apikeys', namespace: 'one' },
    ],
    [
      'publishDeployment',
      () => publication.publishDeployment(connection.redis, CONFIG),
      { what: 'deployment', ...CHAT },
    ],
    [
      'publishReplicas',
      () => publication.publishReplicas(connection.redis, 'one', 'chat', ['10.0.0.2', '10.0.0.1']),
      { what: 'replicas', ...CHAT },
    ],
    [
      'publishWorkspace',
      () => publication.publishWorkspace(connection.redis, 'one', { creditMicros: 5, asyncRefusal: 'full' }),
      { what: 'workspace', namespace: 'one' },
    ],
    [
      'publishCredentials',
      () => publication.publishCredentials(connection.redis, 'one', [credential(7, 'films')]),
      { what: 'workspace', namespace: 'one' },
    ],
    [
      'publishWorkspace with a signing secret',
      () =>
        publication.publishWorkspace(connection.redis, 'one', {
          ownerEmail: 'a@example.com',
          signingSecret: SIGNING,
        }),
      { what: 'workspace', namespace: 'one' },
    ],
    [
      'publishEndpoints',
      () => publication.publishEndpoints(connection.redis, 'one', new Map([['hook', ENDPOINT]])),
      { what: 'workspace', namespace: 'one' },
    ],
    ['publishHost', () => publication.publishHost(connection.redis, 'A.example', CHAT), { what: 'hosts' }],
    [
      'publishHosts',
      () => publication.publishHosts(connection.redis, new Map([['a.example', CHAT]])),
      { what: 'hosts' },
    ],
  ];
  for (const [name, write, change] of writers) {
    it(`${name} writes and notifies once, then nothing while nothing changes`, async () => {
      expect(await write()).to.equal(true);
      const told = change.what === 'hosts' ? [channels.front] : [channels.front, channels.workspace('one')];
      expect(await hear()).to.have.deep.members(told.map((channel) => ({ channel, change })));
      const writes = await countWrites();
      expect(await write()).to.equal(false);
      expect(await countWrites()).to.equal(writes);
      expect(await hear()).to.deep.equal([]);
    });
  }

  it('publishes and removes more keys than one command takes arguments', async () => {
    const { redis } = connection;
    const keys = Array.from({ length: 150_000 }, (_, index) => [`hash-${index}`, key('many')] as const);
    await publication.publishApiKeys(redis, 'one', new Map(keys));
    expect(await redis.hlen(configKeys('one').apiKeys)).to.equal(keys.length);
    await publication.publishApiKeys(redis, 'one', new Map(keys.slice(0, 1)));
    expect(await redis.hkeys(configKeys('one').apiKeys)).to.deep.equal(['hash-0']);
  });

  it('replaces a workspace’s keys exactly and leaves another’s alone', async () => {
    const { redis } = connection;
    await publication.publishApiKeys(redis, 'two', new Map([['a', key('theirs')]]));
    await publication.publishApiKeys(
      redis,
      'one',
      new Map([
        ['a', key('a')],
        ['b', key('b')],
      ]),
    );
    await publication.publishApiKeys(
      redis,
      'one',
      new Map([
        ['b', key('b', 5)],
        ['c', key('c')],
      ]),
    );
    expect(await readApiKeys(redis, 'one')).to.deep.equal(
      new Map([
        ['b', key('b', 5)],
        ['c', key('c')],
      ]),
    );
    await publication.publishApiKeys(redis, 'one', new Map());
    expect((await readApiKeys(redis, 'one')).size).to.equal(0);
    expect((await readApiKeys(redis, 'two')).size).to.equal(1);
    expect(await published.readWorkspaces(redis)).to.deep.equal(['one', 'two']);
  });

  it('sets of a workspace what is given, and leaves the rest', async () => {
    const { redis } = connection;
    const read = () => redis.hgetall(configKeys('one').workspace);
    await publication.publishWorkspace(redis, 'one', { creditMicros: 5, asyncRefusal: 'no persistence' });
    await publication.publishWorkspace(redis, 'one', { creditMicros: null });
    expect(await read()).to.deep.equal({ asyncRefusal: 'no persistence' });
    await publication.publishWorkspace(redis, 'one', { asyncRefusal: null, creditMicros: 6 });
    expect(await read()).to.deep.equal({ creditMicros: '6' });
    expect(await publication.publishWorkspace(redis, 'one', {})).to.equal(false);
  });

  it('replaces the budgets of owners exactly, and leaves them where they are not known', async () => {
    const { redis } = connection;
    const read = () => redis.hgetall(configKeys('one').workspace);
    const month = { micros: 5, period: 'Month', warnAt: [50, 80] } as const;
    await publication.publishWorkspace(redis, 'one', {
      owners: new Map([
        ['a', month],
        ['b', month],
      ]),
    });
    await publication.publishWorkspace(redis, 'one', { currency: 'EUR' });
    await publication.publishWorkspace(redis, 'one', { owners: new Map([['b', { ...month, micros: 6 }]]) });
    expect(await read()).to.deep.equal({ 'owner:b': '6,Month,50,80', currency: 'EUR' });
  });

  it('keeps the signing secret sealed, replaces a rolled one, and takes it and the owner back', async () => {
    const { redis } = connection;
    const open = async () => {
      const sealed = await readSigningSecret(redis, 'one');
      return sealed && openSigningSecret(sealed, 'one', DATA_KEY);
    };
    await publication.publishWorkspace(redis, 'one', { signingSecret: SIGNING, ownerEmail: 'a@example.com' });
    expect(await open()).to.equal('whsec_a');
    expect(await readSigningSecret(redis, 'one')).not.to.contain('whsec_a');
    expect(await readOwnerEmail(redis, 'one')).to.equal('a@example.com');
    await publication.publishWorkspace(redis, 'one', { signingSecret: { ...SIGNING, secret: 'whsec_b' } });
    expect(await open()).to.equal('whsec_b');
    expect(await readOwnerEmail(redis, 'one')).to.equal('a@example.com');
    await publication.publishWorkspace(redis, 'one', { signingSecret: null, ownerEmail: null });
    expect(await open()).to.equal(null);
    expect(await readOwnerEmail(redis, 'one')).to.equal(null);
  });

  it('replaces a workspace’s webhook endpoints exactly', async () => {
    const { redis } = connection;
    const moved = { ...ENDPOINT, url: 'https://hooks.example.com/moved' };
    const before = new Map([
      ['kept', ENDPOINT],
      ['gone', ENDPOINT],
    ]);
    await publication.publishEndpoints(redis, 'two', new Map([['theirs', ENDPOINT]]));
    await publication.publishEndpoints(redis, 'one', before);
    await publication.publishEndpoints(redis, 'one', new Map([['kept', moved]]));
    expect(await readEndpoints(redis, 'one')).to.deep.equal(new Map([['kept', moved]]));
    expect([...(await readEndpoints(redis, 'two')).keys()]).to.deep.equal(['theirs']);
  });

  it('finds a credential by id and by name, and none that was replaced', async () => {
    const { redis } = connection;
    await publication.publishCredentials(redis, 'one', [credential(7, 'films'), credential(8, 'old')]);
    await publication.publishCredentials(redis, 'one', [credential(7, 'clips'), credential(9, 'new')]);
    expect(await published.readCredential(redis, 'one', { id: 7 })).to.deep.equal(credential(7, 'clips'));
    expect(await published.readCredential(redis, 'one', { name: 'new' })).to.deep.equal(credential(9, 'new'));
    for (const gone of [{ id: 8 }, { name: 'old' }, { name: 'films' }])
      expect(await published.readCredential(redis, 'one', gone), JSON.stringify(gone)).to.equal(null);
    expect(await published.readCredential(redis, 'two', { id: 7 })).to.equal(null);
  });

  it('knows the prefix of a workspace’s request ids as long as it is published', async () => {
    const { redis } = connection;
    await publication.publishRequestPrefix(redis, '0a1b2c3d');
    expect(await published.isKnownPrefix(redis, '0a1b2c3d')).to.equal(true);
    expect(await published.isKnownPrefix(redis, '0a1b2c3e')).to.equal(false);
    await publication.removeRequestPrefix(redis, '0a1b2c3d');
    expect(await published.isKnownPrefix(redis, '0a1b2c3d')).to.equal(false);
  });

  it('gives gateways the configuration and replicas back as published', async () => {
    const { redis } = connection;
    await publication.publishDeployment(redis, CONFIG);
    await publication.publishReplicas(redis, 'one', 'chat', ['10.0.0.2', '10.0.0.1', '10.0.0.2']);
    expect(await published.readDeployment(redis, 'one', 'chat')).to.deep.equal(CONFIG);
    expect(await published.readDeployment(redis, 'one', 'other')).to.equal(null);
    expect(await published.readReplicas(redis, 'one', 'chat')).to.deep.equal(['10.0.0.1', '10.0.0.2']);
    await publication.publishReplicas(redis, 'one', 'chat', []);
    expect(await published.readReplicas(redis, 'one', 'chat')).to.deep.equal([]);
  });

  it('tells of pods that only start, whose heartbeats count as well', async () => {
    const { redis } = connection;
    const count = async () =>
      Object.fromEntries(await published.countPublishedPods(redis, ['many-pods', 'nobody'], 2));
    for (const name of ['starting', 'growing', 'third'])
      await publication.publishDeployment(redis, { ...CONFIG, namespace: 'many-pods', name });
    await publication.publishReplicas(redis, 'many-pods', 'starting', [], 30);
    await publication.publishReplicas(redis, 'many-pods', 'growing', ['10.0.0.1', '10.0.0.2'], 40);
    expect(await count()).to.deep.equal({ 'many-pods/starting': 30, 'many-pods/growing': 40 });
    expect(await published.readReplicas(redis, 'many-pods', 'starting')).to.deep.equal([]);
    await publication.publishReplicas(redis, 'many-pods', 'growing', ['10.0.0.1', '10.0.0.2'], 2);
    await publication.publishReplicas(redis, 'many-pods', 'starting', [], 0);
    expect(await count()).to.deep.equal({ 'many-pods/starting': 0, 'many-pods/growing': 2 });
    expect(await redis.hexists(configKeys('many-pods').replicas, 'starting')).to.equal(0);
  });

  it('keeps what the functions go by beside the configuration, until the deployment is to be deleted', async () => {
    const { redis } = connection;
    const read = () => redis.hgetall(configKeys('one').limits);
    const { maxQueued, recordRetentionMs, videoTimeoutMs } = CONFIG.limits;
    await publication.publishDeployment(redis, CONFIG);
    expect(await read()).to.deep.equal({ chat: `${maxQueued} ${recordRetentionMs} ${videoTimeoutMs} 7` });
    await publication.publishDeployment(redis, {
      ...CONFIG,
      kind: 'Image',
      limits: { ...CONFIG.limits, imageJobTimeoutMs: 60_000 },
    });
    expect(await read(), 'of images').to.deep.equal({
      chat: `${maxQueued} ${recordRetentionMs} 60000 7`,
    });
    await publication.publishDeployment(redis, CONFIG);
    await redis.del(configKeys('one').limits);
    expect(await publication.publishDeployment(redis, CONFIG), 'they were missing').to.equal(true);
    await publication.publishDeployment(redis, { ...CONFIG, deleting: true });
    expect(await read()).to.deep.equal({});
    await publication.publishDeployment(redis, CONFIG);
    await publication.removeDeployment(redis, 'one', 'chat');
    expect(await read()).to.deep.equal({});
  });

  it('removes all of a deployment, heartbeats too', async () => {
    const { redis } = connection;
    await publication.publishDeployment(redis, CONFIG);
    await publication.publishReplicas(redis, 'one', 'chat', ['10.0.0.1']);
    await redis.hset(workKeys('one').heartbeats('chat'), 'p', '{}');
    await hear();
    expect(await publication.removeDeployment(redis, 'one', 'chat')).to.equal(true);
    expect(await published.readDeployment(redis, 'one', 'chat')).to.equal(null);
    expect(await published.readReplicas(redis, 'one', 'chat')).to.deep.equal([]);
    expect(await redis.exists(workKeys('one').heartbeats('chat'))).to.equal(0);
    expect(await hear()).to.have.length(2);
    expect(await publication.removeDeployment(redis, 'one', 'chat')).to.equal(false);
    expect(await hear()).to.deep.equal([]);
  });

  it('finds the owner of a host in any case, and removes it for that owner only', async () => {
    const { redis } = connection;
    await publication.publishHost(redis, 'Chat.Example', CHAT);
    expect(await published.readHost(redis, 'CHAT.example')).to.deep.equal(CHAT);
    expect(await published.readHost(redis, 'other.example')).to.equal(null);
    const other = { namespace: 'two', name: 'chat' };
    expect(await publication.removeHost(redis, 'chat.example', other)).to.equal(false);
    expect(await publication.removeHost(redis, 'chat.example', CHAT)).to.equal(true);
    expect(await publication.removeHost(redis, 'chat.example', CHAT)).to.equal(false);
    await publication.publishHosts(
      redis,
      new Map([
        ['a', CHAT],
        ['b', CHAT],
      ]),
    );
    await publication.publishHosts(redis, new Map([['b', other]]));
    expect(await published.readHosts(redis)).to.deep.equal(new Map([['b', other]]));
  });

  it('forgets a workspace but not what it spent', async () => {
    const { redis } = connection;
    await publication.publishDeployment(redis, CONFIG);
    await publishApiKey(redis, 'one', 'a', key('a'));
    await publication.publishCredentials(redis, 'one', [credential(7, 'films')]);
    await redis.hset(configKeys('one').endpoints, 'hook', '{}');
    await redis.set(workKeys('one').credit, 5);
    expect(await publication.removeWorkspace(redis, 'one')).to.equal(true);
    expect(await redis.keys('*')).to.deep.equal([workKeys('one').credit]);
    expect(await publication.removeWorkspace(redis, 'one')).to.equal(false);
  });

  it('reports a failed write instead of calling it published', async () => {
    const { redis } = connection;
    await redis.set(globalKeys.workspaces, 'of the wrong type');
    let error: unknown;
    await publishApiKey(redis, 'one', 'a', key('a')).catch((reason) => {
      error = reason;
    });
    expect(String(error)).to.include('WRONGTYPE');
  });
});
