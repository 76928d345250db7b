import { expect } from 'chai';
import { hashApiKey, workspaceRedisUser } from '../../../api/identity.ts';
import type { Condition } from '../../../api/kubernetes-types.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES, type Resource } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { settle as settleUsage } from '../../../redis/admission/admission-calls.ts';
import { chargeWorkspace } from '../../../redis/admission/credit.ts';
import { readWorkspaces } from '../../../redis/publication/published.ts';
import { listWorkspaceUsers } from '../../../redis/workspaces/users.ts';
import { makeSettings } from '../../integration/operator/operator-settings.ts';
import { pollUntil } from '../../support/poll.ts';
import { readApiKeys } from '../../support/publication.ts';
import { useHarness } from './operator-harness.ts';

const { APIKey, ModelDeployment, Workspace } = BERTH_RESOURCES;

interface Status {
  hint?: string;
  secretName?: string;
  sha256?: string;
  creditRemaining?: string;
  redisUser?: string;
  conditions?: Condition[];
}

describe('keys and workspaces', () => {
  const harness = useHarness();
  let namespace: string;

  beforeEach(async () => {
    namespace = await harness.cluster.makeNamespace();
  });

  const statusOf = async (resource: Resource, name: string): Promise<Status> =>
    ((await harness.cluster.find(resource, namespace, name))?.status ?? {}) as Status;
  const conditionOf = async (resource: Resource, name: string, type: string) =>
    (await statusOf(resource, name)).conditions?.find((condition) => condition.type === type);
  const published = () => readApiKeys(harness.redis.redis, namespace);
  const secretText = async (name: string, field: string) => {
    const secret = await harness.cluster.find<KubeObject & { data?: Record<string, string> }>(
      RESOURCES.Secret,
      namespace,
      name,
    );
    return secret && Buffer.from(secret.data?.[field] ?? '', 'base64').toString();
  };
  const change = (resource: Resource, name: string, spec: object) =>
    harness.cluster.client.mergePatch(resource, { at: { namespace, name }, patch: { spec } });

  describe('an APIKey', () => {
    it('without a hash gets a key of its own in a Secret, and only the hash is kept elsewhere', async () => {
      const { cluster, startOperator, settle } = harness;
      const operator = startOperator();
      await cluster.create(APIKey, { namespace, name: 'mine' }, { rpm: 7, tpd: 70, priority: 5 });
      await pollUntil(async () => (await conditionOf(APIKey, 'mine', 'Ready'))?.status === 'True');
      const key = await secretText('mine-api-key', 'api-key');
      expect(key).to.match(/^sk-berth-[A-Za-z0-9_-]{43}$/);
      const { sha256, hint, secretName } = await statusOf(APIKey, 'mine');
      expect([sha256, hint, secretName]).to.deep.equal([
        hashApiKey(key!),
        `sk-berth-…${key!.slice(-4)}`,
        'mine-api-key',
      ]);
      await pollUntil(async () => (await published()).has(sha256!));
      expect((await published()).get(sha256!)).to.deep.equal({
        n: 'mine',
        rpm: 7,
        tpd: 70,
        exp: 0,
        off: 0,
        pri: 5,
      });
      await pollUntil(async () => (await cluster.events(namespace, 'mine')).includes('KeyCreated'));
      await settle(operator);
      expect(JSON.stringify(await cluster.list(RESOURCES.Event, namespace))).to.not.contain('sk-berth-');
      const secret = await cluster.find(RESOURCES.Secret, namespace, 'mine-api-key');
      expect(secret?.metadata.ownerReferences?.[0]?.name).to.equal('mine');
    });

    it('keeps its key over a restart, without a write', async () => {
      const { cluster, startOperator, settle } = harness;
      const first = startOperator();
      await cluster.create(APIKey, { namespace, name: 'kept' }, {});
      await pollUntil(async () => (await conditionOf(APIKey, 'kept', 'Ready'))?.status === 'True');
      await settle(first);
      await first.stop();
      const second = startOperator();
      await settle(second);
      expect(second.writes().filter((write) => !write.endsWith(' leases'))).to.deep.equal([]);
    });

    it('with a hash is published at once, its limits and its being disabled with it', async () => {
      const { cluster, startOperator } = harness;
      startOperator();
      const sha256 = 'a'.repeat(64);
      await cluster.create(APIKey, { namespace, name: 'given' }, { sha256, hint: 'sk-…x3a0' });
      await pollUntil(async () => (await published()).get(sha256)?.off === 0);
      expect(await secretText('given-api-key', 'api-key')).to.equal(undefined);
      await change(APIKey, 'given', { disabled: true, rpm: 3 });
      await pollUntil(async () => (await published()).get(sha256)?.off === 1);
      expect((await published()).get(sha256)?.rpm).to.equal(3);
      await pollUntil(async () => (await conditionOf(APIKey, 'given', 'Active'))?.reason === 'Disabled');
      expect((await conditionOf(APIKey, 'given', 'Ready'))?.status).to.equal('True');
      expect((await statusOf(APIKey, 'given')).hint).to.equal('sk-…x3a0');
    });

    it('reports its expiry on time', async () => {
      const { cluster, startOperator } = harness;
      startOperator();
      const expiresAt = new Date(Date.now() + 2_000).toISOString();
      const sha256 = 'b'.repeat(64);
      await cluster.create(APIKey, { namespace, name: 'brief' }, { sha256, expiresAt });
      await pollUntil(async () => (await conditionOf(APIKey, 'brief', 'Active'))?.status === 'True');
      await pollUntil(
        async () => (await published()).get(sha256)?.exp === Math.floor(Date.parse(expiresAt) / 1_000),
      );
      await pollUntil(async () => (await conditionOf(APIKey, 'brief', 'Active'))?.reason === 'Expired');
    });

    it('is taken out of Redis when it is deleted, also while no operator ran', async () => {
      const { cluster, startOperator } = harness;
      const first = startOperator();
      for (const [name, digit] of [
        ['first', 'c'],
        ['second', 'd'],
      ] as const)
        await cluster.create(APIKey, { namespace, name }, { sha256: digit.repeat(64) });
      await pollUntil(async () => (await published()).size === 2);
      await cluster.delete(APIKey, namespace, 'first');
      await pollUntil(async () => (await published()).size === 1);
      await first.stop();
      await cluster.delete(APIKey, namespace, 'second');
      startOperator();
      await pollUntil(async () => (await published()).size === 0);
      await pollUntil(async () => !(await readWorkspaces(harness.redis.redis)).includes(namespace));
    });

    it('with the hash of an older one is refused, until that one goes', async () => {
      const { cluster, startOperator } = harness;
      startOperator();
      const sha256 = 'e'.repeat(64);
      await cluster.create(APIKey, { namespace, name: 'a-older' }, { sha256 });
      await cluster.create(APIKey, { namespace, name: 'b-newer' }, { sha256 });
      await pollUntil(
        async () => (await conditionOf(APIKey, 'b-newer', 'Accepted'))?.reason === 'DuplicateKey',
      );
      await pollUntil(async () => (await published()).get(sha256)?.n === 'a-older');
      await cluster.delete(APIKey, namespace, 'a-older');
      await pollUntil(async () => (await conditionOf(APIKey, 'b-newer', 'Accepted'))?.status === 'True');
      await pollUntil(async () => (await published()).get(sha256)?.n === 'b-newer');
    });

    it('takes no Secret that somebody else made', async () => {
      const { cluster, startOperator } = harness;
      await cluster.client.create(RESOURCES.Secret, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'taken-api-key', namespace },
        stringData: { 'api-key': 'sk-theirs' },
      });
      startOperator();
      await cluster.create(APIKey, { namespace, name: 'taken' }, {});
      await pollUntil(async () => (await conditionOf(APIKey, 'taken', 'Accepted'))?.reason === 'NotOwned');
      expect((await published()).size).to.equal(0);
    });

    it('gives up its made key when a hash is given', async () => {
      const { cluster, startOperator } = harness;
      startOperator();
      await cluster.create(APIKey, { namespace, name: 'swap' }, {});
      await pollUntil(async () => (await published()).size === 1);
      await change(APIKey, 'swap', { sha256: 'f'.repeat(64) });
      await pollUntil(
        async () => (await cluster.find(RESOURCES.Secret, namespace, 'swap-api-key')) === undefined,
      );
      await pollUntil(async () => [...(await published()).keys()].join() === 'f'.repeat(64));
      expect((await statusOf(APIKey, 'swap')).secretName).to.equal(undefined);
    });
  });

  describe('a workspace', () => {
    it('has its credit published, its balance reported, and a signing secret created', async () => {
      const { cluster, redis, startOperator } = harness;
      const clock = { offset: 0 };
      startOperator({ now: () => Date.now() + clock.offset });
      await cluster.create(Workspace, { namespace, name: 'workspace' }, { credit: '10.5' });
      await pollUntil(async () => (await statusOf(Workspace, 'workspace')).creditRemaining === '10.5');
      await pollUntil(
        async () => (await redis.redis.hget(`c:{${namespace}}:workspace`, 'creditMicros')) === '10500000',
      );
      expect(await secretText('berth-signing-secret', 'secret')).to.match(/^whsec_/);
      await settleUsage(redis.redis, {
        namespace,
        sha256: 'a'.repeat(64),
        tokens: 1,
        micros: 500_000,
        token: 't1',
      });
      clock.offset = 61_000;
      await change(Workspace, 'workspace', { ownerEmail: 'owner@example.test' });
      await pollUntil(async () => (await statusOf(Workspace, 'workspace')).creditRemaining === '10');
      // Images and videos are paid from the same credit.
      const charge = { namespace, token: 't2', micros: 2_000_000 };
      expect(await chargeWorkspace(redis.redis, charge)).to.equal(null);
      clock.offset = 122_000;
      await change(Workspace, 'workspace', { ownerEmail: 'other@example.test' });
      await pollUntil(async () => (await statusOf(Workspace, 'workspace')).creditRemaining === '8');
    });

    it('remakes a signing secret that was deleted to roll it', async () => {
      const { cluster, startOperator } = harness;
      startOperator();
      await cluster.create(Workspace, { namespace, name: 'workspace' }, {});
      await pollUntil(async () => (await secretText('berth-signing-secret', 'secret')) !== undefined);
      const before = await secretText('berth-signing-secret', 'secret');
      await cluster.delete(RESOURCES.Secret, namespace, 'berth-signing-secret');
      await change(Workspace, 'workspace', { ownerEmail: 'owner@example.test' });
      await pollUntil(async () => (await secretText('berth-signing-secret', 'secret')) !== undefined);
      expect(await secretText('berth-signing-secret', 'secret')).to.not.equal(before);
    });

    it('reports that a signing secret is missing', async () => {
      const { cluster, startOperator } = harness;
      startOperator();
      await cluster.create(Workspace, { namespace, name: 'workspace' }, { signingSecret: 'nowhere' });
      await pollUntil(
        async () => (await conditionOf(Workspace, 'workspace', 'Accepted'))?.reason === 'SecretNotFound',
      );
    });

    it('says how a signing secret of its own is made, and takes none that libraries read differently', async () => {
      const { cluster, startOperator } = harness;
      startOperator();
      const write = (secret: string) =>
        cluster.client.mergePatch(RESOURCES.Secret, {
          at: { namespace, name: 'ours' },
          patch: { stringData: { secret } },
        });
      const bytes = Buffer.alloc(32, 0xfb);
      await cluster.client.create(RESOURCES.Secret, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'ours', namespace },
        stringData: { secret: 'a secret of our own, without a prefix' },
      });
      await cluster.create(Workspace, { namespace, name: 'workspace' }, { signingSecret: 'ours' });
      const accepted = () => conditionOf(Workspace, 'workspace', 'Accepted');
      await pollUntil(async () => (await accepted())?.reason === 'InvalidSigningSecret');
      expect((await accepted())?.message).to.match(/key secret of Secret ours must be whsec_ .*openssl rand/);
      await write(`whsec_${bytes.toString('base64')}`);
      await pollUntil(async () => (await accepted())?.status === 'True');
    });

    it('has a Redis user of its own as long as a deployment is in it', async () => {
      const { cluster, redis, startOperator } = harness;
      startOperator();
      await cluster.createModel(namespace, 'chat');
      const user = workspaceRedisUser(namespace);
      await pollUntil(async () => (await listWorkspaceUsers(redis.redis)).includes(user));
      await cluster.create(Workspace, { namespace, name: 'workspace' }, {});
      await pollUntil(async () => (await statusOf(Workspace, 'workspace')).redisUser === user);
      await cluster.delete(ModelDeployment, namespace, 'chat');
      await pollUntil(async () => !(await listWorkspaceUsers(redis.redis)).includes(user));
    });

    it('is asked for the Secret of its Redis user where somebody else makes the users', async () => {
      const { cluster, startOperator } = harness;
      startOperator({ settings: makeSettings({ redisUsers: 'external' }) });
      await cluster.createModel(namespace, 'chat');
      await pollUntil(
        async () => (await cluster.condition(namespace, 'chat', 'Accepted'))?.reason === 'SecretNotFound',
      );
      expect((await cluster.condition(namespace, 'chat', 'Accepted'))?.message).to.contain('berth-redis');
    });

    it('reports that it shares a Redis user where users are off', async () => {
      const { cluster, redis, startOperator } = harness;
      startOperator({ settings: makeSettings({ redisUsers: 'off' }) });
      await cluster.createModel(namespace, 'chat');
      await cluster.create(Workspace, { namespace, name: 'workspace' }, {});
      await pollUntil(
        async () => (await conditionOf(Workspace, 'workspace', 'Accepted'))?.reason === 'SharedRedisUser',
      );
      expect(await listWorkspaceUsers(redis.redis)).to.not.include(workspaceRedisUser(namespace));
    });
  });
});
