import { connect as connectSocket, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'chai';
import { childNames, LABELS, SIDECAR_SECRET_FILES } from '../../api/names.ts';
import { workKeys } from '../../api/redis-keys.ts';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { RELEASE_NAMESPACE, WORKSPACES } from '../../launch/release.ts';
import { connectRedis, type RedisConnection } from '../../redis/client.ts';
import { FUNCTIONS } from '../../redis/function-table.ts';
import { SAMPLE_INTERVAL_MS } from '../../redis/requests/queue-depth.ts';
import { claimRequest, renewClaim } from '../../redis/requests/request-calls.ts';
import { makePicture } from '../support/media-files.ts';
import { deployAtFront, openUpload, removeAtFront } from './front-deployments.ts';
import { endpoints, findEndpoint, listPods, readObject, waitUntil } from './installation.ts';
import { makeForm, send } from './media.ts';
import { watchSurvival } from './survival.ts';

const MIB = 1024 * 1024;
const namespace = WORKSPACES.other;
const deployment = 'tiny-image';
const keys = workKeys(namespace);
/** How long written keys stay: for one sample of queues and many rounds of all other polling. */
const ROUNDS_MS = SAMPLE_INTERVAL_MS + 1_000;

interface Login {
  username: string;
  password: string;
}

/** What a workspace's Redis user and an API key can do to other workspaces while those are served. */
describe('attacks on what workspaces share', function () {
  this.timeout(600_000);
  let address: string;
  let login: Login;
  let connection: RedisConnection;
  let cleaner: RedisConnection;
  /** Endpoints of two workspaces, at the front that all share. */
  let greedy: EndpointEntry;
  let modest: EndpointEntry;
  let survive: Awaited<ReturnType<typeof watchSurvival>>;
  /** Keys to remove at the end. */
  const written = new Set<string>();

  before(async () => {
    const secret = await readObject<{ data: Record<string, string> }>(
      'Secret',
      childNames(deployment).sidecarSecret,
      namespace,
    );
    const decode = (file: string) => Buffer.from(secret.data[file]!, 'base64').toString();
    login = {
      username: decode(SIDECAR_SECRET_FILES.redisUsername),
      password: decode(SIDECAR_SECRET_FILES.redisPassword),
    };
    const limits = { jsonBody: '160Mi', file: '8Gi', multipartBody: '8Gi' };
    [greedy, modest] = await Promise.all([
      deployAtFront('greedy', namespace, { limits }),
      deployAtFront('modest', WORKSPACES.own),
    ]);
    const pods = await listPods('', RELEASE_NAMESPACE);
    address = pods.find(({ metadata }) => metadata.name.includes('-redis-'))!.status.podIP!;
    connection = connectRedis({
      url: `redis://${address}:6379`,
      ...login,
      name: 'attacker',
      role: 'sidecar',
      commandTimeoutMs: 60_000,
    });
    cleaner = connectRedis({ url: endpoints.redisURL, name: 'cleaner', role: 'operator' });
    await Promise.all([connection.untilUp(30_000), cleaner.untilUp(30_000)]);
    survive = await watchSurvival({
      replica: findEndpoint('tiny-chat', WORKSPACES.own),
      atFront: modest,
      listAttacked: () => listPods(`${LABELS.deployment}=tiny-chat`, namespace),
      redis: cleaner.redis,
    });
  });
  /** As the operator: the attacker may have been suspended. */
  const cleanUp = async () => {
    for (const key of written) await cleaner.redis.unlink(key);
  };
  after(async () => {
    if (cleaner) await cleanUp();
    await connection?.close();
    await cleaner?.close();
    await Promise.all([greedy, modest].map((endpoint) => endpoint && removeAtFront(endpoint)));
  });

  const order = ({ modelId: model }: EndpointEntry) => ({ model, prompt: 'a cat', size: '256x256' });
  /** Larger than bodies may be by what they hold. */
  async function sendSmallValues(endpoint: EndpointEntry, path: string, order: object): Promise<void> {
    const values = Array<object>(Math.floor((31 * MIB) / 3)).fill({});
    const body = { ...order, model: endpoint.modelId, values };
    for (let i = 0; i < 3; i++) {
      const answer = await send(endpoint, path, { body });
      expect(answer.status, JSON.stringify(answer.body)).to.equal(413);
    }
  }

  async function fillSet(key: string, size: number): Promise<void> {
    written.add(key);
    for (let at = 0; at < size; at += 5_000) {
      const members = Array.from({ length: 5_000 }, (_, i) => [1, `${at + i}`.padEnd(100, 'x')]);
      await connection.redis.zadd(key, ...members.flat());
    }
  }

  it('hundreds of thousands of names of deployments', () =>
    survive(async () => {
      await fillSet(keys.deployments, 300_000);
      await wait(ROUNDS_MS);
      await connection.redis.unlink(keys.deployments);
    }));

  it('half a million ids that lost their worker', () =>
    survive(async () => {
      await fillSet(keys.again(deployment), 500_000);
      const claim = { namespace, deployment, token: 'a'.repeat(32), pod: 'evil' };
      await claimRequest(connection.redis, claim).catch(() => {});
      await wait(ROUNDS_MS);
      await connection.redis.unlink(keys.again(deployment));
    }));

  it('long values where counters, records, heartbeats, usage and events are', () =>
    survive(async () => {
      const { redis } = connection;
      const huge = 'x'.repeat(MIB - 100);
      const id = `req_${'0'.repeat(32)}`;
      const hour = Math.floor(Date.now() / 3_600_000);
      for (const key of [keys.credit, keys.event('evt_1'), keys.idempotency('x')]) {
        written.add(key);
        await redis.set(key, huge);
      }
      for (const key of [
        keys.request(id),
        keys.heartbeats(deployment),
        keys.usage(deployment, 'minute', hour),
      ]) {
        written.add(key);
        for (const field of ['status', 'deployment', '1:r', 'pod']) await redis.hset(key, field, huge);
      }
      for (const key of [keys.leases, keys.ended, keys.outbox, keys.cleanup]) {
        await redis.zadd(key, 1, id, 1, 'evt_1');
        for (let i = 0; i < 5; i++) await redis.zadd(key, 1, `${i}${huge}`);
      }
      await renewClaim(redis, { namespace, id, token: 'x' }).catch(() => {});
      await wait(ROUNDS_MS);
      for (const key of written) await redis.unlink(key);
    }));

  it('answers of Redis that nobody reads', () =>
    survive(async () => {
      const key = `${keys.prefix}big`;
      written.add(key);
      await connection.redis.set(key, 'x'.repeat(MIB - 100));
      const socket = connectSocket(6379, address).on('error', () => {});
      const words = (...parts: string[]) =>
        `*${parts.length}\r\n${parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')}`;
      const name = 'reads-nothing';
      const isConnected = async () => String(await cleaner.redis.client('LIST')).includes(` name=${name} `);
      try {
        socket.write(words('AUTH', login.username, login.password) + words('CLIENT', 'SETNAME', name));
        await waitUntil('the connection to have its name', 10, isConnected);
        socket.pause();
        socket.write(words('GET', key).repeat(800));
        await waitUntil('Redis to close it', 60, async () => !(await isConnected()));
      } finally {
        socket.destroy();
      }
    }));

  it('a body of many small values to a replica', () =>
    survive(() =>
      sendSmallValues(findEndpoint('tiny-chat', namespace), '/chat/completions', { messages: [] }),
    ));

  it("a front's spool that open uploads hold, one of them as large as all of it", () =>
    survive(async () => {
      const uploads = [2_048, ...Array<number>(8).fill(45)].map((mebibytes) =>
        openUpload(greedy, mebibytes * MIB),
      );
      try {
        await Promise.all(uploads.map(({ sent }) => sent));
        const body = makeForm({ ...order(modest), image: await makePicture(64, 64) });
        const answer = await send(modest, '/images/edits?async=true', { body });
        expect(answer.status, JSON.stringify(answer.body)).to.equal(202);
      } finally {
        for (const { end } of uploads) end();
      }
    }));

  it('all of the memory, by values and then by functions', () =>
    survive(async () => {
      const { redis } = connection;
      const value = 'x'.repeat(MIB - 100);
      let isFull = false;
      for (let i = 0; i < 1_000 && !isFull; i++) {
        written.add(`${keys.prefix}fill:${i}`);
        isFull = await redis.set(`${keys.prefix}fill:${i}`, value).then(
          () => false,
          () => true,
        );
      }
      expect(isFull, 'it was stopped').to.equal(true);
      for (let i = 0; i < 12; i++) {
        const args = Array.from({ length: 40 }, () => value);
        await redis
          .fcall(FUNCTIONS.registerObjects, 1, `${keys.prefix}f${i}`, '1000000', ...args)
          .catch(() => {});
        written.add(`${keys.prefix}f${i}`);
      }
      await cleanUp();
    }));

  // Attacks that need no Redis user; the limits of the front's deployment are raised for them.
  describe('while the Redis user of the one that took its memory is suspended', () => {
    it('connections to Redis without credentials', () =>
      survive(async () => {
        // As code in a model pod opens them: more than there are. In batches, or most would wait for their handshake.
        const sockets: Socket[] = [];
        while (sockets.length < 10_100) {
          const batch = Array.from({ length: 300 }, () =>
            connectSocket(6379, address)
              .on('error', () => {})
              .resume(),
          );
          sockets.push(...batch);
          await Promise.all(batch.map(untilAnswered));
        }
        const login = { url: endpoints.redisURL, name: 'latecomer', role: 'operator' } as const;
        const latecomer = connectRedis(login);
        try {
          await latecomer.untilUp(30_000);
          // Well before Redis ends idle ones by itself.
          await waitUntil('most are closed', 60, async () => {
            const closed = sockets.filter((socket) => socket.closed);
            return closed.length > sockets.length / 2;
          });
        } finally {
          for (const socket of sockets) socket.destroy();
          await latecomer.close();
        }
      }));

    it('a body of many small values to the front', () =>
      survive(() => sendSmallValues(greedy, '/images/generations?async=true', { prompt: 'a cat' })));

    it('bodies of 150 MiB', () =>
      survive(async () => {
        const prompt = 'x'.repeat(150 * MIB);
        for (let i = 0; i < 3; i++) {
          const body = { ...order(greedy), prompt };
          const answer = await send(greedy, '/images/generations?async=true', { body }).catch(() => null);
          // The front may have hung up before all was sent.
          if (answer) expect(answer.status).to.equal(413);
        }
      }));

    it('URLs that take long to check', () =>
      survive(async () => {
        const url = `https:${'a'.repeat(8_180)}`;
        for (let i = 0; i < 10; i++)
          await Promise.all(
            Array.from({ length: 20 }, async () => {
              const body = { ...order(greedy), webhook_url: url };
              expect((await send(greedy, '/images/generations?async=true', { body })).status).to.equal(422);
            }),
          );
      }));

    it('which ends by itself', () => connection.untilUp(240_000));
  });
});

/** Until a connection is there, or was refused. */
const untilAnswered = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.once('connect', () => resolve()).once('close', () => resolve());
  });
