import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { EVENT_OF_STATUS } from '../../../api/request.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { takeEvents } from '../../../redis/deliveries/delivery-calls.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { publishWorkspace } from '../../../redis/publication/publication.ts';
import { takeDueObjects } from '../../../redis/requests/object-cleanup.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { listSeeds, seedRandom } from '../../support/random-seeds.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { deriveEventId } from '../../support/request-fixture.ts';
import { type Operation, RequestModel } from '../../support/request-model.ts';
import { createStepSource, inputOf, type Parties, perform } from '../../support/request-steps.ts';

const STEPS = Number(process.env.STEPS ?? 1000);
const DEPLOYMENTS = ['film', 'clip', 'paint'];
const GRANTED = 80;
const ALL = { limit: 100_000, leaseMs: 60_000 };

describe('requests and a model of them', () => {
  let server: RedisServer;
  let admin: RedisConnection;

  before(async () => {
    server = await startRedis();
    admin = await connectTo(server);
    await loadLibrary(admin.redis);
  });
  after(async () => {
    await admin?.close();
    await server?.stop();
  });

  for (const seed of listSeeds()) {
    it(`agree after each of ${STEPS} random steps of a tenant’s gateways (seed ${seed})`, async () => {
      const namespace = `seed-${seed}`;
      const user = { namespace, username: `ws:${namespace}`, password: 'secret' };
      await ensureWorkspaceUser(admin.redis, user);
      const tenant = await connectTo(server, { ...user, role: 'sidecar' });
      const parties: Parties = { namespace, admin: admin.redis, gateway: tenant.redis, uploaded: new Set() };
      try {
        await run(parties, seed);
      } finally {
        await tenant.close();
      }
    });
  }

  async function run(parties: Parties, seed: number): Promise<void> {
    const { namespace } = parties;
    const model = new RequestModel(GRANTED);
    const drawn: string[] = [];
    const accepted = new Set<string>();
    const step = async (operation: Operation) => {
      drawn.push(JSON.stringify(operation));
      const expected = model.apply(operation);
      const trace = () => `step ${drawn.length} of seed ${seed}:\n${drawn.slice(-12).join('\n')}\n`;
      expect(await perform(parties, operation), trace()).to.deep.equal(expected);
      const spent = Number((await admin.redis.get(workKeys(namespace).credit)) ?? 0);
      expect(spent, `credit after ${trace()}`).to.equal(model.spent);
      for (const id of model.requests.keys()) accepted.add(id);
    };

    await publishWorkspace(admin.redis, namespace, { creditMicros: GRANTED });
    const limits = { maxQueued: 6, queue: 'long', job: 'long', records: 'long' } as const;
    const serve = async () => {
      for (const deployment of DEPLOYMENTS)
        await step({ do: 'configure', deployment, state: 'served', limits });
    };
    await serve();
    const next = createStepSource(seedRandom(seed), DEPLOYMENTS);
    while (drawn.length < STEPS) await step(next(model));

    // Every request must end: the workers that are left do all that waits.
    await serve();
    for (let round = 0; round < 3; round++) {
      for (const { id, status, claim } of [...model.requests.values()])
        if (status === 'running' && claim) await step({ do: 'release', id, token: claim });
      for (const deployment of DEPLOYMENTS) await drain(model, deployment, step);
    }
    for (const { status } of model.requests.values())
      expect(status).to.match(/^(succeeded|failed|canceled)$/);
    await compareEnd(parties, model, accepted);
  }

  async function drain(
    model: RequestModel,
    deployment: string,
    step: (operation: Operation) => Promise<void>,
  ): Promise<void> {
    const open = () =>
      [...model.requests.values()].filter(
        (request) => request.deployment === deployment && /^(queued|running)$/.test(request.status),
      );
    for (let i = 0; open().length > 0; i++) {
      const token = `drain-${deployment}-${model.events.size}-${i}`;
      await step({ do: 'claim', deployment, token, lease: 'long' });
      const held = open().find(({ claim }) => claim === token);
      if (held) await step({ do: 'finish', id: held.id, token, status: 'succeeded' });
      else await step({ do: 'sweep', mayExpire: true });
    }
  }

  async function compareEnd(parties: Parties, model: RequestModel, accepted: Set<string>): Promise<void> {
    const { namespace, admin } = parties;
    const events = await takeEvents(admin, namespace, ALL);
    const told = new Map(events.map(({ requestId, type }) => [requestId, type]));
    expect(events, 'one event each').to.have.length(told.size);
    expect([...told.keys()].sort()).to.deep.equal([...accepted].sort());
    for (const { id, requestId, type, body } of events) {
      expect(id).to.equal(deriveEventId(requestId));
      expect(type).to.equal(EVENT_OF_STATUS[model.events.get(requestId) as keyof typeof EVENT_OF_STATUS]);
      expect(JSON.parse(body).data.id).to.equal(requestId);
    }
    const removed = await takeDueObjects(admin, namespace, ALL);
    const inputs = [...accepted].map((id) => inputOf(id).key);
    expect(removed.map(({ key }) => key).sort(), 'inputs to remove').to.deep.equal(inputs.sort());
    const left = await admin.keys(`w:{${namespace}}:*`);
    const kinds = new Set(left.map((key) => key.split(':')[2]));
    expect(kinds).to.not.have.any.keys('params', 'queue', 'turns', 'again', 'leases');
  }
});
