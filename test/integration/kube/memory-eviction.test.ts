/** Evictions by the API server of `make run`, as Kubernetes' own decides them. */
import { expect } from 'chai';
import { buildEviction, evictPod, isBudgetSpent } from '../../../kube/eviction.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { type MemoryTarget, startMemoryTarget } from '../cli/memory-target.ts';

describe('an eviction in memory', () => {
  let target: MemoryTarget;
  beforeEach(async () => {
    target = await startMemoryTarget();
  });
  afterEach(() => target.close());

  const addPod = (name: string, isReady: boolean, more: { owner?: string; phase?: string } = {}) => {
    const { owner, phase = 'Running' } = more;
    const ownerReferences = owner
      ? [{ apiVersion: 'apps/v1', kind: 'Deployment', name: owner, uid: owner, controller: true }]
      : [];
    target.api.store.put('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'team', uid: name, labels: { app: 'chat' }, ownerReferences },
      spec: { nodeName: 'node' },
      status: { phase, conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
    });
  };
  const addBudget = (spec: object) =>
    target.api.create('poddisruptionbudgets.policy', {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'chat', namespace: 'team' },
      spec,
    });
  const selector = { matchLabels: { app: 'chat' } };
  const podOf = (name: string): KubeObject => target.api.get('pods', { namespace: 'team', name });
  const evict = (name: string) =>
    evictPod(target.client, podOf(name)).then(
      () => 'evicted',
      (error: unknown) => (isBudgetSpent(error) ? 'refused' : String(error)),
    );

  it('counts the replicas that the controller wants, not those that there are', async () => {
    target.api.store.put('deployments.apps', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'chat', namespace: 'team', uid: 'chat' },
      spec: { replicas: 3 },
    });
    addPod('one', true, { owner: 'chat' });
    addPod('two', true, { owner: 'chat' });
    addBudget({ maxUnavailable: 1, selector });
    expect(await evict('one')).to.equal('refused');
    addPod('three', true, { owner: 'chat' });
    expect(await evict('one')).to.equal('evicted');
    expect(await evict('two')).to.equal('refused');
  });

  it('keeps by default what is not ready while its budget is not healthy', async () => {
    addPod('ready', true);
    addPod('broken', false);
    addPod('pending', false, { phase: 'Pending' });
    addBudget({ minAvailable: 2, selector });
    expect(await evict('broken')).to.equal('refused');
    expect(await evict('pending')).to.equal('evicted');
    addPod('other', true);
    expect(await evict('broken')).to.equal('evicted');
    expect(await evict('ready')).to.equal('refused');
  });

  it('selects nothing by a selector that is missing, and everything by an empty one', async () => {
    addPod('one', true);
    addBudget({ maxUnavailable: 0 });
    const dryRun = { ...buildEviction(podOf('one')), deleteOptions: { dryRun: ['All'] } };
    await target.client.create<KubeObject>(RESOURCES.Pod, dryRun, { subresource: 'eviction' });
    expect(podOf('one').metadata.deletionTimestamp).to.equal(undefined);
    target.api.delete('poddisruptionbudgets.policy', { namespace: 'team', name: 'chat' });
    addBudget({ maxUnavailable: 0, selector: {} });
    expect(await evict('one')).to.equal('refused');
  });
});
