import { expect } from 'chai';
import type { KubeClient } from '../../../kube/client.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { pollUntil } from '../../support/poll.ts';
import { useHarness } from './operator-harness.ts';

const { ModelDeployment } = BERTH_RESOURCES;
const LATE_MS = 3_000;

describe('the operator behind an API server whose watches lag', () => {
  const harness = useHarness();

  /** Its events of ModelDeployments come long after the answers to writes, as where objects are large and many. */
  const lagging = (client: KubeClient): KubeClient => ({
    ...client,
    async *watch(resource, options) {
      for await (const event of client.watch(resource, options)) {
        if (resource.plural === ModelDeployment.plural)
          await new Promise((resolve) => setTimeout(resolve, LATE_MS));
        yield event as never;
      }
    },
  });

  it('makes no conflict by its own writes, from a deployment’s first to its last', async () => {
    const { api, cluster, startOperator, settle } = harness;
    const namespace = await cluster.makeNamespace();
    const client = api.connect();
    const operator = startOperator({ client: lagging(client) });
    await settle(operator);
    await cluster.createModel(namespace, 'chat', {});
    // Each pod makes its deployment due again while the first writes have not come back.
    await pollUntil(async () => (await cluster.status(namespace, 'chat')).phase !== undefined, 'a status');
    const pod = await cluster.makeReadyPod(namespace, 'chat');
    await pollUntil(async () => (await cluster.status(namespace, 'chat')).phase === 'Ready', 'ready');
    await cluster.delete(ModelDeployment, namespace, 'chat');
    await pollUntil(
      async () => (await cluster.find(RESOURCES.Deployment, namespace, 'chat')) === undefined,
      'the end of its Deployment',
    );
    await cluster.removePod(namespace, pod);
    await pollUntil(
      async () => (await cluster.find(ModelDeployment, namespace, 'chat')) === undefined,
      'the end',
      60_000,
    );
    const conflicts = client.calls.filter(
      ({ resource, code }) => resource === ModelDeployment.plural && code === 409,
    );
    expect(conflicts).to.deep.equal([]);
  });
});
