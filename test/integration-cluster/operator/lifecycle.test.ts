import type { V1Deployment } from '@kubernetes/client-node';
import { expect } from 'chai';
import type { KubeObject, Wire } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { readDeployment, readEpoch, readHost, readReplicas } from '../../../redis/publication/published.ts';
import { claimRequest, type NewRequest, submitRequest } from '../../../redis/requests/request-calls.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { sweepRequests } from '../../../redis/requests/request-sweep.ts';
import { makeSettings } from '../../integration/operator/operator-settings.ts';
import { pollUntil } from '../../support/poll.ts';
import { newToken, submissionOf } from '../../support/request-fixture.ts';
import { useHarness } from './operator-harness.ts';

const MODEL = BERTH_RESOURCES.ModelDeployment;

describe('the life of the operator and of what it runs', function () {
  this.timeout(240_000);
  const harness = useHarness();
  let namespace: string;

  beforeEach(async () => {
    namespace = await harness.cluster.makeNamespace();
    await harness.cluster.setFronts(['10.9.0.1']);
  });

  const deploymentOf = (name: string) =>
    harness.cluster.find<Wire<V1Deployment>>(RESOURCES.Deployment, namespace, name);
  const isGone = async (name: string) => (await harness.cluster.find(MODEL, namespace, name)) === undefined;
  const makeReady = async (name: string) => {
    await harness.cluster.createModel(namespace, name);
    await pollUntil(async () => (await deploymentOf(name)) !== undefined);
    const pod = await harness.cluster.makeReadyPod(namespace, name);
    await pollUntil(async () => (await harness.cluster.status(namespace, name)).phase === 'Ready');
    await pollUntil(async () => (await harness.cluster.frontAddresses(namespace, name)) === undefined);
    return pod;
  };

  describe('deletion', () => {
    it('puts the front in, removes the pods, waits for the last, and then leaves Redis', async () => {
      const { cluster, redis, startOperator } = harness;
      startOperator();
      const pod = await makeReady('leaving');
      await cluster.delete(MODEL, namespace, 'leaving');
      await pollUntil(async () => (await cluster.frontAddresses(namespace, 'leaving'))?.length === 1);
      await pollUntil(async () => (await deploymentOf('leaving')) === undefined);
      await pollUntil(async () => (await cluster.status(namespace, 'leaving')).phase === 'Deleting');
      await pollUntil(
        async () => (await readDeployment(redis.redis, namespace, 'leaving'))?.deleting === true,
      );
      await cluster.deletePod(namespace, pod);
      expect(await isGone('leaving')).to.equal(false);
      await cluster.removePod(namespace, pod);
      await pollUntil(() => isGone('leaving'));
      expect(await readDeployment(redis.redis, namespace, 'leaving')).to.equal(null);
      expect(await readReplicas(redis.redis, namespace, 'leaving')).to.deep.equal([]);
      expect(await readHost(redis.redis, `leaving--${namespace}.example.test`)).to.equal(null);
    });

    it('cancels queued requests at once, and lets running ones finish until the pod is gone', async () => {
      const { cluster, redis, startOperator } = harness;
      startOperator({ settings: makeSettings({ allowVolatileQueue: true }) });
      await cluster.createModel(namespace, 'film', { kind: 'Video' });
      await pollUntil(async () => (await deploymentOf('film')) !== undefined);
      const pod = await cluster.makeReadyPod(namespace, 'film');
      await pollUntil(async () => (await readDeployment(redis.redis, namespace, 'film')) !== null);
      await pollUntil(async () => (await readEpoch(redis.redis)) !== null);
      const [runs, waits] = [1, 2].map(() => submissionOf({ namespace, deployment: 'film' })) as [
        NewRequest,
        NewRequest,
      ];
      for (const submission of [runs, waits])
        expect(await submitRequest(redis.redis, submission)).to.include({ verdict: 'accepted' });
      const token = newToken();
      const claimed = await claimRequest(redis.redis, { namespace, deployment: 'film', token, pod });
      expect(claimed?.claim.id).to.equal(runs.id);
      await cluster.delete(MODEL, namespace, 'film');
      await pollUntil(async () => (await readDeployment(redis.redis, namespace, 'film'))?.deleting === true);
      await sweepRequests(redis.redis, namespace, { expireUntil: 0 });
      const statusOf = async ({ id }: NewRequest) => (await readRequest(redis.redis, namespace, id))?.status;
      expect([await statusOf(runs), await statusOf(waits)]).to.deep.equal(['running', 'canceled']);
      expect(await isGone('film')).to.equal(false);
      await cluster.removePod(namespace, pod);
      await pollUntil(() => isGone('film'));
    });

    it('leaves the pods alone where they are to be orphaned', async () => {
      const { cluster, startOperator } = harness;
      startOperator();
      await makeReady('orphaning');
      await cluster.client.delete(MODEL, { namespace, name: 'orphaning' }, { propagation: 'Orphan' });
      await pollUntil(async () => {
        // The garbage collector, which no test runs, removes the last.
        const left = (await cluster.find(MODEL, namespace, 'orphaning'))?.metadata.finalizers;
        return left === undefined || JSON.stringify(left) === '["orphan"]';
      });
      expect((await deploymentOf('orphaning'))?.metadata).not.to.have.property('deletionTimestamp');
    });

    it('waits no longer than the drain time and two minutes', async () => {
      const { cluster, startOperator } = harness;
      const clock = { offset: 0 };
      startOperator({ now: () => Date.now() + clock.offset });
      const pod = await makeReady('slow');
      await cluster.delete(MODEL, namespace, 'slow');
      await pollUntil(async () => (await cluster.status(namespace, 'slow')).phase === 'Deleting');
      clock.offset = 3_600_000;
      await cluster.deletePod(namespace, pod);
      await pollUntil(() => isGone('slow'));
      await pollUntil(async () => (await cluster.events(namespace, 'slow')).includes('DrainTimeout'));
    });

    it('removes an object whose spec it cannot read', async () => {
      const { cluster, startOperator } = harness;
      startOperator();
      await makeReady('unread').then((pod) => cluster.removePod(namespace, pod));
      await withoutValidation(async () => {
        // The API server takes up a changed definition in its own time.
        await pollUntil(() =>
          cluster.change(namespace, 'unread', { kind: 'Teapot' }).then(
            () => true,
            () => false,
          ),
        );
        await pollUntil(
          async () => (await cluster.condition(namespace, 'unread', 'Accepted'))?.reason === 'InvalidSpec',
        );
        expect((await cluster.condition(namespace, 'unread', 'Accepted'))?.message).to.contain('spec.kind');
        await cluster.delete(MODEL, namespace, 'unread');
        await pollUntil(() => isGone('unread'));
      });
    });

    it('makes nothing in a namespace that is going, and does not wait for its pods', async () => {
      const { cluster, startOperator } = harness;
      startOperator();
      const pod = await makeReady('within');
      await cluster.client.delete(RESOURCES.Namespace, { name: namespace });
      await cluster.delete(MODEL, namespace, 'within');
      await pollUntil(() => isGone('within'));
      expect(await cluster.find(RESOURCES.Pod, namespace, pod)).to.not.equal(undefined);
    });

    it('leaves after five minutes without Redis, with a warning, and Redis is cleaned when it is back', async () => {
      const { cluster, redis, server, startOperator } = harness;
      const clock = { offset: 0 };
      const operator = startOperator({ now: () => Date.now() + clock.offset });
      const pod = await makeReady('alone');
      await pollUntil(async () => (await readDeployment(redis.redis, namespace, 'alone')) !== null);
      await cluster.removePod(namespace, pod);
      server.pause();
      try {
        await cluster.delete(MODEL, namespace, 'alone');
        await pollUntil(async () => (await deploymentOf('alone')) === undefined);
        const paused = performance.now();
        await pollUntil(async () => {
          expect(await isGone('alone')).to.equal(false);
          return operator.redis.state === 'away' && performance.now() - paused > 4_000;
        });
        // It counts from its first failure, which may come after a jump: one more every 10 s.
        const jumped = performance.now();
        await pollUntil(
          () => {
            clock.offset = 301_000 * Math.ceil((performance.now() - jumped) / 10_000);
            return isGone('alone');
          },
          undefined,
          40_000,
        );
        await pollUntil(async () =>
          (await cluster.events(namespace, 'alone')).includes('RedisCleanupPostponed'),
        );
      } finally {
        server.resume();
      }
      await redis.untilUp(60_000);
      await pollUntil(
        async () => (await readDeployment(redis.redis, namespace, 'alone').catch(() => 1)) === null,
      );
    });
  });

  describe('Redis', () => {
    it('is filled again after it lost everything', async () => {
      const { redis, startOperator } = harness;
      startOperator();
      await makeReady('lost');
      await pollUntil(async () => (await readDeployment(redis.redis, namespace, 'lost')) !== null);
      await redis.redis.flushall();
      await pollUntil(async () => (await readEpoch(redis.redis)) !== null);
      expect((await readReplicas(redis.redis, namespace, 'lost')).length).to.equal(1);
      expect((await readHost(redis.redis, `lost--${namespace}.example.test`))?.name).to.equal('lost');
    });

    it('may be unavailable: objects are created, and their route is reported as unpublished until it recovers', async () => {
      const { cluster, redis, server, startOperator } = harness;
      startOperator();
      await makeReady('before');
      await server.kill();
      try {
        await cluster.createModel(namespace, 'during');
        await pollUntil(async () => (await deploymentOf('during')) !== undefined);
        await pollUntil(
          async () => (await cluster.condition(namespace, 'during', 'RouteReady'))?.reason === 'NotPublished',
        );
        expect((await cluster.status(namespace, 'before')).phase).to.equal('Ready');
      } finally {
        await server.restart();
      }
      await redis.untilUp(60_000);
      await pollUntil(
        async () => (await cluster.condition(namespace, 'during', 'RouteReady'))?.status === 'True',
      );
      expect((await readDeployment(redis.redis, namespace, 'during'))?.name).to.equal('during');
    });
  });

  describe('the API server', () => {
    it('may be restarted: what changes afterwards is reconciled', async () => {
      const { api, cluster, startOperator } = harness;
      const operator = startOperator({
        lease: { name: 'berth-operator', durationMs: 60_000, renewDeadlineMs: 50_000, retryMs: 2_000 },
      });
      await makeReady('through');
      await api.controlPlane.restart();
      await cluster.change(namespace, 'through', { paused: true });
      await pollUntil(async () => (await deploymentOf('through'))?.spec?.replicas === 0);
      expect(operator.lost).to.deep.equal([]);
    });
  });

  describe('two operators', () => {
    it('work one at a time, and the second takes over when the first is killed', async () => {
      const { cluster, startOperator } = harness;
      const lease = { name: 'berth-operator', durationMs: 6_000, renewDeadlineMs: 4_000, retryMs: 500 };
      const first = startOperator({ lease });
      await pollUntil(() => first.program.isLeading());
      const second = startOperator({ lease, podName: 'operator-2' });
      await pollUntil(() => second.program.isReady());
      await makeReady('kept');
      expect(second.writes()).to.deep.equal([]);
      await first.kill();
      await cluster.createModel(namespace, 'after');
      await pollUntil(() => second.program.isLeading());
      await pollUntil(async () => (await deploymentOf('after')) !== undefined);
      await harness.settle(second);
      const objects = second.writes().filter((write) => !write.endsWith(' leases'));
      expect(objects.filter((write) => write === 'apply deployments').length).to.equal(1);
    });

    it('hand over at once on a clean stop', async () => {
      const { startOperator } = harness;
      const lease = { name: 'berth-operator', durationMs: 60_000, renewDeadlineMs: 50_000, retryMs: 2_000 };
      const first = startOperator({ lease });
      await pollUntil(() => first.program.isLeading());
      const second = startOperator({ lease, podName: 'operator-2' });
      await pollUntil(() => second.program.isReady());
      await first.stop();
      await pollUntil(() => second.program.isLeading());
    });
  });

  describe('scale', function () {
    // So many take long to reconcile when other tests run.
    this.timeout(300_000);
    const COUNT = 80;

    it('rewrites the slices of all deployments at zero when the fronts change', async () => {
      const { cluster, startOperator, settle } = harness;
      const operator = startOperator();
      const names = Array.from({ length: COUNT }, (_, index) => `zero-${index}`);
      for (let start = 0; start < names.length; start += 20)
        await Promise.all(
          names.slice(start, start + 20).map((name) => cluster.createModel(namespace, name, { replicas: 0 })),
        );
      const slices = async () =>
        (
          await cluster.list<KubeObject & { endpoints?: { addresses: string[] }[] }>(
            RESOURCES.EndpointSlice,
            namespace,
          )
        ).filter(({ metadata }) => metadata.name.endsWith('-front'));
      await pollUntil(async () => (await slices()).length === COUNT, undefined, 150_000);
      await settle(operator);
      await cluster.setFronts(['10.9.0.1', '10.9.0.2']);
      await pollUntil(
        async () => (await slices()).every(({ endpoints }) => endpoints?.length === 2),
        undefined,
        60_000,
      );
    });

    it('does no more work for one of many than for one of few', async () => {
      const { cluster, startOperator, settle } = harness;
      const operator = startOperator();
      await cluster.createModel(namespace, 'one');
      await pollUntil(async () => (await deploymentOf('one')) !== undefined);
      await settle(operator);
      operator.client.calls.length = 0;
      await cluster.change(namespace, 'one', { model: { displayName: 'Another name' } });
      await pollUntil(async () => (await cluster.status(namespace, 'one')).observedGeneration === 2);
      await settle(operator);
      const calls = operator.client.calls.filter(({ resource }) => resource !== 'leases');
      expect(calls.length).to.be.lessThan(10);
      await Promise.all(
        (await cluster.list(MODEL, namespace)).map(({ metadata }) =>
          cluster.delete(MODEL, namespace, metadata.name),
        ),
      );
    });
  });

  /** Lets an object in that the schema would refuse, as an older or newer version of it might have. */
  async function withoutValidation(work: () => Promise<void>): Promise<void> {
    const at = { name: `${MODEL.plural}.berth.dev` };
    const definition = await harness.cluster.client.get(CRD, at);
    const spec = definition.spec as { versions: { schema: object }[] };
    const open = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const loosened = { ...definition, spec: { ...spec, versions: [{ ...spec.versions[0], schema: open }] } };
    await harness.cluster.client.update(CRD, loosened);
    try {
      await work();
    } finally {
      const { metadata } = await harness.cluster.client.get(CRD, at);
      await harness.cluster.client.update(CRD, { ...definition, metadata });
    }
  }
});

const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
