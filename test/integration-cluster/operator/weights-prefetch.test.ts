import type { V1Job } from '@kubernetes/client-node';
import { expect } from 'chai';
import { ANNOTATIONS } from '../../../api/names.ts';
import { controllerOf, type Wire } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { pollUntil } from '../../support/poll.ts';
import { useHarness } from './operator-harness.ts';

const { ModelDeployment } = BERTH_RESOURCES;
const CACHE = { claimName: 'models' };
const source = (repo: string, cache: object = CACHE) => ({
  model: { id: 'tiny', source: { huggingFace: { repo }, cache } },
});

describe('prefetching weights', () => {
  const harness = useHarness();
  let namespace: string;
  beforeEach(async () => {
    namespace = await harness.cluster.makeNamespace();
  });
  const findJob = () => harness.cluster.find<Wire<V1Job>>(RESOURCES.Job, namespace, 'chat-prefetch');
  const repositoryOf = (job: Wire<V1Job> | undefined) =>
    job?.spec?.template.spec?.containers[0]?.env?.find(({ name }) => name === 'WEIGHTS_REPOSITORY')?.value;

  it('is a Job as soon as the deployment is there, also with no replica, and once', async () => {
    const operator = harness.startOperator();
    await harness.cluster.createModel(namespace, 'chat', { ...source('org/one'), replicas: 0 });
    await pollUntil(async () => (await findJob()) !== undefined, 'the Job');
    const job = (await findJob())!;
    const model = await harness.cluster.find(ModelDeployment, namespace, 'chat');
    expect(controllerOf(job)?.uid).to.equal(model?.metadata.uid);
    expect(repositoryOf(job)).to.equal('org/one');
    await harness.settle(operator);
    await operator.stop();
    const second = harness.startOperator();
    await harness.settle(second);
    expect(second.writes().filter((write) => write.endsWith(' jobs'))).to.deep.equal([]);
    expect((await findJob())?.metadata.uid).to.equal(job.metadata.uid);
  });

  it('is done again for another source, and not for another limit of requests', async () => {
    const operator = harness.startOperator();
    await harness.cluster.createModel(namespace, 'chat', source('org/one'));
    await pollUntil(async () => repositoryOf(await findJob()) === 'org/one', 'the Job');
    const { uid } = (await findJob())!.metadata;
    const at = { namespace, name: 'chat' };
    const { client } = harness.cluster;
    await client.mergePatch(ModelDeployment, { at, patch: { spec: { limits: { maxQueued: 7 } } } });
    await harness.settle(operator);
    expect((await findJob())?.metadata.uid).to.equal(uid);
    await client.mergePatch(ModelDeployment, { at, patch: { spec: source('org/two') } });
    // Nobody collects garbage here, so the Job stays until its finalizers are taken.
    await pollUntil(async () => {
      const job = await findJob();
      if (job?.metadata.deletionTimestamp)
        await client.mergePatch(RESOURCES.Job, {
          at: { namespace, name: 'chat-prefetch' },
          patch: { metadata: { finalizers: null } },
        });
      return repositoryOf(job) === 'org/two';
    }, 'the new Job');
    expect((await findJob())?.metadata.annotations?.[ANNOTATIONS.prefetched]).to.be.a('string');
  });

  it('is left out where the cache says so, and a cache is refused without a source that it could keep', async () => {
    const operator = harness.startOperator();
    await harness.cluster.createModel(namespace, 'chat', source('org/one', { ...CACHE, prefetch: false }));
    await pollUntil(
      async () => (await harness.cluster.condition(namespace, 'chat', 'Accepted'))?.status === 'True',
      'the deployment',
    );
    await harness.settle(operator);
    expect(await findJob()).to.equal(undefined);
    for (const wrong of [
      { none: {}, cache: CACHE },
      { pvc: { claimName: 'a' }, cache: CACHE },
      { huggingFace: { repo: 'a/b', cache: { size: '1Gi' } }, cache: CACHE },
    ]) {
      const error = await harness.cluster
        .createModel(namespace, 'wrong', { model: { id: 'tiny', source: wrong } })
        .then(
          () => undefined,
          (thrown: Error) => thrown,
        );
      expect(error?.message).to.contain('cache is for s3');
    }
  });
});
