import { expect } from 'chai';
import type { APIKey } from '../../../api/api-key.ts';
import { nameCounter } from '../../../api/budget.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { WORKSPACE_NAME, type Workspace } from '../../../api/workspace.ts';
import { silentLog } from '../../../kube/log.ts';
import type { KubeObject } from '../../../kube/object.ts';
import type { Resource } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { createProgram, type Program } from '../../../operator/program.ts';
import { readEpoch } from '../../../redis/publication/published.ts';
import { pollUntil } from '../../support/poll.ts';
import { TestStack } from '../../support/test-stack.ts';
import { MemoryCluster } from './memory-cluster.ts';
import { makeSettings } from './operator-settings.ts';

const { APIKey: KEY, Workspace: WORKSPACE } = BERTH_RESOURCES;
const namespace = 'team-a';
const AT = Date.parse('2026-11-15T12:00:00Z');
const BUDGET = { amount: '10', period: 'Month', warnAt: [50] };

describe('what budgets have spent, in statuses', function () {
  this.timeout(60_000);
  let stack: TestStack;
  let program: Program;
  let cluster: MemoryCluster;

  const put = (resource: Resource, name: string, spec: object) =>
    cluster.put(resource, {
      ...cluster.store(resource).get(`${namespace}/${name}`),
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: { ...cluster.store(resource).get(`${namespace}/${name}`)?.metadata, namespace, name },
      spec,
    } as KubeObject);
  const statusOf = <T>(resource: Resource, name: string) =>
    (cluster.store(resource).get(`${namespace}/${name}`)?.status ?? {}) as Partial<T>;
  const keyStatus = () => statusOf<APIKey['status']>(KEY, 'mine');
  const ownersStatus = () => statusOf<Workspace['status']>(WORKSPACE, WORKSPACE_NAME);
  const readyReason = (status: Partial<APIKey['status']> | Partial<Workspace['status']>) =>
    status.conditions?.find(({ type }) => type === 'Ready')?.reason;

  before(async () => {
    stack = await TestStack.start();
    cluster = new MemoryCluster(() => 0.1);
    program = createProgram({
      client: cluster.client,
      leaseClient: cluster.client,
      redis: stack.connection,
      settings: makeSettings(),
      podName: 'operator-1',
      lease: { name: 'berth-operator', durationMs: 60_000, renewDeadlineMs: 50_000, retryMs: 5_000 },
      onLost: () => {},
      now: () => AT,
      log: silentLog,
    });
    await program.start();
    await pollUntil(async () => (await readEpoch(stack.redis)) !== null);
    for (const holder of [
      { kind: 'key', name: 'mine' },
      { kind: 'owner', name: 'search' },
    ] as const)
      await stack.redis.set(workKeys(namespace).spent(nameCounter(holder, 'Month', AT)), 5_500_000);
  });
  after(async () => {
    await program?.stop();
    await stack?.stop();
  });

  const state = { spent: '5.5', percent: 55, periodEndsAt: '2026-12-01T00:00:00.000Z' };

  it('are those of a key, and stay while its spec is invalid', async () => {
    put(KEY, 'mine', { sha256: 'a'.repeat(64), budget: BUDGET });
    await pollUntil(() => keyStatus().budget !== undefined);
    expect(keyStatus().budget).to.deep.equal(state);
    put(KEY, 'mine', { sha256: 'a'.repeat(64), budget: { ...BUDGET, amount: 'much' } });
    await pollUntil(() => readyReason(keyStatus()) === 'InvalidSpec');
    expect(keyStatus().budget).to.deep.equal(state);
    put(KEY, 'mine', { sha256: 'a'.repeat(64) });
    await pollUntil(() => keyStatus().budget === undefined, 'a key without a budget');
  });

  it('are those of owners, and stay while the spec of the workspace is invalid', async () => {
    put(WORKSPACE, WORKSPACE_NAME, { owners: [{ name: 'search', budget: BUDGET }, { name: 'free' }] });
    await pollUntil(() => ownersStatus().owners !== undefined);
    expect(ownersStatus().owners).to.deep.equal([{ ...state, name: 'search' }]);
    put(WORKSPACE, WORKSPACE_NAME, { owners: [{ name: 'search', budget: { ...BUDGET, amount: 'much' } }] });
    await pollUntil(() => readyReason(ownersStatus()) === 'InvalidSpec');
    expect(ownersStatus().owners).to.deep.equal([{ ...state, name: 'search' }]);
  });
});
