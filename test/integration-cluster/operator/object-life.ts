/** Everything that the operator is there for, on an API server without controllers. */
import { expect } from 'chai';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import type { Cluster } from '../../integration/operator/cluster-player.ts';
import { SYSTEM_NAMESPACE } from '../../integration/operator/operator-settings.ts';
import { pollUntil } from '../../support/poll.ts';

/**
 * Walks an object of each kind through its life, so that every call is made once. `routeReason`: what becomes of an HTTPRoute that no
 * Gateway serves.
 */
export async function live(
  cluster: Cluster,
  namespace: string,
  routeReason: 'NoHTTPRoute' | 'WaitingForGateway' = 'NoHTTPRoute',
): Promise<void> {
  const inSystem = async () => (await cluster.list(RESOURCES.Ingress, SYSTEM_NAMESPACE)).length;
  const ingressesBefore = await inSystem();
  const spec = {
    engine: { preset: 'vllm' },
    model: { id: 'a', source: { huggingFace: { repo: 'a/b', cache: { size: '1Gi' } } } },
  };
  await cluster.create(BERTH_RESOURCES.Workspace, { namespace, name: 'workspace' }, { credit: '1' });
  await cluster.create(BERTH_RESOURCES.APIKey, { namespace, name: 'key' }, {});
  await cluster.create(
    BERTH_RESOURCES.StorageCredential,
    { namespace, name: 'bucket' },
    { bucket: 'results', secret: 'nowhere' },
  );
  await pollUntil(
    async () =>
      (await cluster.find(BERTH_RESOURCES.StorageCredential, namespace, 'bucket'))?.status !== undefined,
  );
  const { WebhookEndpoint } = BERTH_RESOURCES;
  await cluster.create(WebhookEndpoint, { namespace, name: 'hook' }, { url: 'https://hooks.example.com/' });
  await pollUntil(async () => (await cluster.find(WebhookEndpoint, namespace, 'hook'))?.status !== undefined);
  await cluster.createModel(namespace, 'chat', spec);
  await pollUntil(async () => (await cluster.find(RESOURCES.Deployment, namespace, 'chat')) !== undefined);
  const pod = await cluster.makeReadyPod(namespace, 'chat');
  await pollUntil(async () => (await cluster.status(namespace, 'chat')).phase === 'Ready');
  await cluster.change(namespace, 'chat', { route: { via: 'Front' } });
  await pollUntil(async () => (await inSystem()) === ingressesBefore + 1);
  await pollUntil(async () => (await cluster.list(RESOURCES.Ingress, namespace)).length === 0);
  await cluster.change(namespace, 'chat', { route: { via: 'Direct' } });
  await pollUntil(async () => (await inSystem()) === ingressesBefore);
  await cluster.change(namespace, 'chat', { route: { type: 'HTTPRoute', gateway: { name: 'g' } } });
  await pollUntil(
    async () => (await cluster.condition(namespace, 'chat', 'RouteReady'))?.reason === routeReason,
  );
  expect((await cluster.condition(namespace, 'chat', 'Accepted'))?.status).to.equal('True');
  await cluster.client.mergePatch(BERTH_RESOURCES.APIKey, {
    at: { namespace, name: 'key' },
    patch: { spec: { sha256: 'a'.repeat(64) } },
  });
  await pollUntil(async () => (await cluster.find(RESOURCES.Secret, namespace, 'key-api-key')) === undefined);
  await pollUntil(async () => (await cluster.events(namespace, 'chat')).includes('Ready'));
  await cluster.removePod(namespace, pod);
  await cluster.delete(BERTH_RESOURCES.ModelDeployment, namespace, 'chat');
  await pollUntil(
    async () => (await cluster.find(BERTH_RESOURCES.ModelDeployment, namespace, 'chat')) === undefined,
  );
}
