import { expect } from 'chai';
import type { Condition } from '../../../api/kubernetes-types.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { makeSettings, SYSTEM_NAMESPACE } from '../../integration/operator/operator-settings.ts';
import { pollUntil } from '../../support/poll.ts';
import { useHarness } from './operator-harness.ts';

const { Workspace } = BERTH_RESOURCES;
const MIB = 1024 * 1024;
const VALUE = 'x'.repeat(MIB - 100);
/** As of the harness's operators. */
const OPERATOR_POD = 'operator-1';

describe('a queue that is refused', function () {
  this.timeout(120_000);
  const harness = useHarness();
  let namespace: string;

  before(async () => {
    await harness.cluster.client.create(RESOURCES.Pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: OPERATOR_POD, namespace: SYSTEM_NAMESPACE },
      spec: { containers: [{ name: 'operator', image: 'operator:1' }] },
    });
  });
  beforeEach(async () => {
    namespace = await harness.cluster.makeNamespace();
    await harness.cluster.create(Workspace, { namespace, name: 'workspace' }, {});
  });
  afterEach(async () => {
    const { redis } = harness.redis;
    await redis.config('SET', 'appendonly', 'yes');
    await redis.config('SET', 'maxmemory', '0');
    await redis.config('SET', 'proto-max-bulk-len', String(MIB));
    await redis.acl('SETUSER', 'default', 'reset', 'off', '~*', '&*', '+@all');
  });

  const queueOpen = async (): Promise<Condition | undefined> => {
    const live = await harness.cluster.find(Workspace, namespace, 'workspace');
    return (live?.status as { conditions?: Condition[] } | undefined)?.conditions?.find(
      ({ type }) => type === 'QueueOpen',
    );
  };
  const untilOpen = () =>
    pollUntil(async () => {
      const condition = await queueOpen();
      return condition?.status === 'True' && condition.reason === 'QueueOpen';
    }, 'the queue is open');
  const untilRefused = (why: RegExp) =>
    pollUntil(async () => {
      const condition = await queueOpen();
      const isRefused = condition?.status === 'False' && condition.reason === 'QueueRefused';
      return isRefused && why.test(condition.message ?? '');
    }, `it is refused: ${why}`);
  const untilEvent = (reason: string, at: string, name: string) =>
    pollUntil(async () => (await harness.cluster.events(at, name)).includes(reason), `an event ${reason}`);

  const faults: [string, () => Promise<unknown>, () => Promise<unknown>, RegExp][] = [
    [
      'keeps nothing on disk',
      () => harness.redis.redis.config('SET', 'appendonly', 'no'),
      () => harness.redis.redis.config('SET', 'appendonly', 'yes'),
      /does not persist data.*set appendonly yes/,
    ],
    [
      'cannot load what it kept',
      () => harness.redis.redis.acl('SETUSER', 'default', 'resetkeys', '-@all'),
      () => harness.redis.redis.acl('SETUSER', 'default', '~*', '+@all'),
      /default user lacks permissions: run ACL SETUSER default/,
    ],
  ];
  for (const [name, spoil, mend, remedy] of faults) {
    it(`is a condition of each workspace, with the remedy, while Redis ${name}`, async () => {
      harness.startOperator();
      await untilOpen();
      await spoil();
      await untilRefused(remedy);
      await untilEvent('QueueRefused', SYSTEM_NAMESPACE, OPERATOR_POD);
      await mend();
      await untilOpen();
      await untilEvent('QueueOpen', SYSTEM_NAMESPACE, OPERATOR_POD);
    });
  }

  it('is a condition and an event of the one workspace that uses up its share of Redis', async () => {
    const { redis } = harness.redis;
    const clock = { offset: 0 };
    const other = await harness.cluster.makeNamespace();
    await harness.cluster.create(Workspace, { namespace: other, name: 'workspace' }, {});
    harness.startOperator({
      settings: makeSettings({ redisWorkspaceShare: 50 }),
      now: () => Date.now() + clock.offset,
    });
    await untilOpen();
    await redis.config('SET', 'maxmemory', String(48 * MIB));
    const fill = async (from: number, to: number) => {
      for (let i = from; i < to; i++) await redis.set(`${workKeys(namespace).prefix}${i}`, VALUE);
    };
    await fill(0, 21);
    await untilRefused(/nearly all of its 50 % share/);
    await untilEvent('RedisShareUsed', namespace, 'workspace');
    await fill(21, 34);
    await untilRefused(/user is suspended: its keys used more than 50 %/);
    await untilEvent('RedisUserSuspended', namespace, 'workspace');
    expect(await harness.cluster.events(other, 'workspace')).to.not.include('RedisUserSuspended');
    const keys = Array.from({ length: 34 }, (_, i) => `${workKeys(namespace).prefix}${i}`);
    await redis.unlink(...keys);
    clock.offset = 61_000;
    await untilOpen();
  });

  it('is not for settings that only bound what workspaces write, of which the operator and each workspace warn', async () => {
    const { redis } = harness.redis;
    harness.startOperator();
    await untilOpen();
    await redis.config('SET', 'proto-max-bulk-len', String(512 * MIB));
    await pollUntil(async () => {
      const condition = await queueOpen();
      const isWarned = condition?.status === 'True' && condition.reason === 'RedisSettings';
      return isWarned && /set proto-max-bulk-len 1mb/.test(condition.message ?? '');
    }, 'the workspace shows the warning');
    await untilEvent('RedisSettings', SYSTEM_NAMESPACE, OPERATOR_POD);
    await redis.config('SET', 'proto-max-bulk-len', String(MIB));
    await untilOpen();
  });
});
