import { expect } from 'chai';
import { configKeys } from '../../../api/redis-keys.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { readDeployment, readEpoch, readHosts, readReplicas } from '../../../redis/publication/published.ts';
import { submitRequest } from '../../../redis/requests/request-calls.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { sweepRequests } from '../../../redis/requests/request-sweep.ts';
import { makeSettings } from '../../integration/operator/operator-settings.ts';
import { pollUntil } from '../../support/poll.ts';
import { submissionOf } from '../../support/request-fixture.ts';
import { type RunningOperator, useHarness } from './operator-harness.ts';

const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

describe('objects that the API server took and the operator cannot read', () => {
  const harness = useHarness();
  let namespace: string;

  beforeEach(async () => {
    namespace = await harness.cluster.makeNamespace();
  });

  /** A newer version's definition, as it stays after a rollback of the release. */
  async function installNewer(): Promise<void> {
    const { client } = harness.cluster;
    const definition = await client.get(CRD, { name: `${BERTH_RESOURCES.ModelDeployment.plural}.berth.dev` });
    const schema = JSON.stringify(definition.spec)
      .replaceAll('["LLM",', '["Teapot","LLM",')
      .replaceAll("{'LLM':", "{'Teapot':['simulator'],'LLM':");
    await client.update(CRD, { ...definition, spec: JSON.parse(schema) });
  }

  const published = async () => ({
    model: (await readDeployment(harness.redis.redis, namespace, 'chat'))?.modelId,
    hasLimits: (await harness.redis.redis.hexists(configKeys(namespace).limits, 'chat')) === 1,
    host: (await readHosts(harness.redis.redis)).get(`chat--${namespace}.example.test`)?.name,
  });

  async function publishAgain(operator: RunningOperator): Promise<void> {
    operator.program.publisher.mark({ what: 'deployment', namespace, name: 'chat' });
    await harness.settle(operator);
  }

  it('leaves what is published of a deployment as it was, over a restart too, until it is deleted', async () => {
    const { cluster, startOperator, settle, redis } = harness;
    const settings = makeSettings({ allowVolatileQueue: true });
    const first = startOperator({ settings });
    await cluster.createModel(namespace, 'chat', { kind: 'Video' });
    await pollUntil(async () => (await cluster.find(RESOURCES.Deployment, namespace, 'chat')) !== undefined);
    const pod = await cluster.makeReadyPod(namespace, 'chat');
    await pollUntil(async () => (await cluster.status(namespace, 'chat')).phase === 'Ready');
    await pollUntil(async () => (await published()).host !== undefined);
    await pollUntil(async () => (await readEpoch(redis.redis)) !== null);
    const before = await published();
    const waiting = submissionOf({ namespace, deployment: 'chat' });
    expect(await submitRequest(redis.redis, waiting)).to.include({ verdict: 'accepted' });
    const sweep = async () => {
      await sweepRequests(redis.redis, namespace, { expireUntil: 0 });
      return (await readRequest(redis.redis, namespace, waiting.id))?.status;
    };
    expect(before).to.deep.equal({ model: 'tiny', hasLimits: true, host: 'chat' });
    await installNewer();
    // The API server takes up a changed definition in its own time.
    await pollUntil(() =>
      cluster.change(namespace, 'chat', { kind: 'Teapot' }).then(
        () => true,
        () => false,
      ),
    );
    await pollUntil(
      async () => (await cluster.condition(namespace, 'chat', 'Accepted'))?.reason === 'InvalidSpec',
    );
    await publishAgain(first);
    expect(await published()).to.deep.equal(before);
    await first.stop();

    const second = startOperator({ settings });
    await settle(second);
    await publishAgain(second);
    expect(await published()).to.deep.equal(before);
    expect(await sweep()).to.equal('queued');
    expect(await readReplicas(redis.redis, namespace, 'chat')).to.deep.equal(['10.1.0.1']);
    await cluster.removePod(namespace, pod);
    await pollUntil(async () => (await readReplicas(redis.redis, namespace, 'chat')).length === 0);
    await cluster.delete(BERTH_RESOURCES.ModelDeployment, namespace, 'chat');
    await pollUntil(async () => (await published()).model === undefined);
    await pollUntil(async () => (await published()).host === undefined);
    expect((await published()).hasLimits).to.equal(false);
    expect(await sweep()).to.equal('canceled');
  });

  it('does not make the credit of a Workspace unlimited', async () => {
    const { cluster, startOperator, redis } = harness;
    startOperator();
    const spec = { credit: '2', ownerEmail: 'a@example.com' };
    await cluster.create(BERTH_RESOURCES.Workspace, { namespace, name: 'workspace' }, spec);
    const read = () => redis.redis.hmget(configKeys(namespace).workspace, 'creditMicros', 'ownerEmail');
    await pollUntil(async () => (await read())[0] === '2000000');
    const patch = { spec: { credit: '3', ownerEmail: 'b@example.com\u00a0' } };
    await cluster.client.mergePatch(BERTH_RESOURCES.Workspace, {
      at: { namespace, name: 'workspace' },
      patch,
    });
    await pollUntil(async () => (await read())[0] !== '2000000');
    expect(await read()).to.deep.equal(['3000000', 'a@example.com']);
  });
});
