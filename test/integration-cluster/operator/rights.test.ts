import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { ANNOTATIONS } from '../../../api/names.ts';
import { ensureBinary } from '../../../cluster/binaries.ts';
import type { KubeClient, RequestSample } from '../../../kube/client.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES, type Resource } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { readStopFile, writeStopFile } from '../../../operator/sidecar/stop-file.ts';
import { readDeployment } from '../../../redis/publication/published.ts';
import { makeSettings, SYSTEM_NAMESPACE } from '../../integration/operator/operator-settings.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectAccount } from './account-client.ts';
import { live } from './object-life.ts';
import { useHarness } from './operator-harness.ts';

const CHART = join(import.meta.dirname, '../../../charts/berth');
const KINDS: Record<string, string> = {
  Role: 'roles',
  RoleBinding: 'rolebindings',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  ServiceAccount: 'serviceaccounts',
};

const ROLE_BINDINGS: Resource = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
};

describe("the operator with the chart's rights", () => {
  const harness = useHarness();
  const clients: KubeClient[] = [];
  const calls: RequestSample[] = [];

  afterEach(async () => {
    calls.length = 0;
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.close()));
  });

  /** Applies what the chart renders of rights; answers the operator's service account. */
  async function grant(release: string, values: string[]): Promise<string> {
    const helm = await ensureBinary('helm');
    const sets = ['image.repository=registry.example.com/berth', ...values].flatMap((value) => [
      '--set',
      value,
    ]);
    const args = ['template', release, CHART, '--namespace', SYSTEM_NAMESPACE, ...sets];
    const { stdout } = await promisify(execFile)(helm, args, { maxBuffer: 64 * 1024 * 1024 });
    const objects = parseAllDocuments(stdout)
      .map((document) => document.toJS() as KubeObject | null)
      .filter((object) => object !== null && object.kind in KINDS) as KubeObject[];
    for (const object of objects) {
      const { apiVersion, kind } = object;
      const resource: Resource = {
        apiVersion,
        kind,
        plural: KINDS[kind]!,
        namespaced: !kind.startsWith('Cluster'),
      };
      await harness.cluster.client.apply(resource, object, { fieldManager: 'test', force: true });
    }
    return objects.find(
      ({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name.endsWith('-operator'),
    )!.metadata.name;
  }

  async function connectAs(account: string): Promise<KubeClient> {
    const client = await connectAccount(harness.api.controlPlane, account, {
      onRequest: (sample) => calls.push(sample),
    });
    clients.push(client);
    return client;
  }

  const refused = () =>
    calls.filter(({ code }) => code === 403).map(({ verb, resource }) => `${verb} ${resource}`);

  it('does all of its work in the whole cluster', async () => {
    const client = await connectAs(await grant('whole', []));
    harness.startOperator({ client, leaseClient: client });
    await live(harness.cluster, await harness.cluster.makeNamespace());
    expect(refused()).to.deep.equal([]);
  });

  it('does all of its work in two namespaces, and sees no other', async () => {
    const { cluster } = harness;
    const namespaces = [await cluster.makeNamespace(), await cluster.makeNamespace()];
    const other = await cluster.makeNamespace();
    await cluster.createModel(other, 'unseen');
    const client = await connectAs(await grant('confined', [`watchNamespaces={${namespaces.join(',')}}`]));
    const settings = makeSettings({ watchNamespaces: namespaces });
    const operator = harness.startOperator({ client, leaseClient: client, settings });
    for (const namespace of namespaces) await live(cluster, namespace);
    expect(refused()).to.deep.equal([]);
    // The watch shows a moment later that its own namespaces are empty; it never shows the other's object.
    await pollUntil(() => operator.program.view.models.list().length === 0);
    const attempt = await client
      .get(RESOURCES.Secret, { namespace: other, name: 'x' })
      .catch((error) => error.code);
    expect(attempt).to.equal(403);
  });

  it('continues in one namespace when the other and its rights are deleted, and resumes there once they are back', async () => {
    const { cluster, redis } = harness;
    const [kept, lost] = [await cluster.makeNamespace(), await cluster.makeNamespace()];
    const values = [`watchNamespaces={${kept},${lost}}`];
    const client = await connectAs(await grant('halved', values));
    const settings = makeSettings({ watchNamespaces: [kept, lost] });
    const start = () => harness.startOperator({ client, leaseClient: client, settings });
    const isPublished = async (namespace: string, name: string) =>
      (await readDeployment(redis.redis, namespace, name)) !== null;
    const first = start();
    await cluster.createModel(lost, 'chat');
    await pollUntil(() => isPublished(lost, 'chat'));
    await first.stop();

    for (const { metadata } of await cluster.list(ROLE_BINDINGS, lost))
      await cluster.delete(ROLE_BINDINGS, lost, metadata.name);
    const isRefused = () =>
      client.list(RESOURCES.Pod, { namespace: lost }).then(
        () => false,
        () => true,
      );
    await pollUntil(isRefused);
    const second = start();
    await harness.settle(second);
    await cluster.createModel(kept, 'chat');
    await pollUntil(() => isPublished(kept, 'chat'));
    await harness.settle(second);
    expect(await isPublished(lost, 'chat')).to.equal(true);
    expect(second.program.isReady()).to.equal(true);
    expect(second.program.healthError()).to.equal(undefined);

    await grant('halved', values);
    await cluster.createModel(lost, 'later');
    await pollUntil(() => isPublished(lost, 'later'), undefined, 60_000);
  });

  it('takes the finalizers off in a deleted namespace whose RoleBinding went first', async () => {
    const { cluster } = harness;
    const [namespace, other] = [await cluster.makeNamespace(), await cluster.makeNamespace()];
    const client = await connectAs(await grant('ending', [`watchNamespaces={${namespace},${other}}`]));
    const settings = makeSettings({ watchNamespaces: [namespace, other] });
    harness.startOperator({ client, leaseClient: client, settings });
    await cluster.createModel(namespace, 'chat');
    const find = () => cluster.find(BERTH_RESOURCES.ModelDeployment, namespace, 'chat');
    await pollUntil(async () => (await cluster.find(RESOURCES.Deployment, namespace, 'chat')) !== undefined);
    await pollUntil(async () => (await find())?.metadata.finalizers?.length === 1);
    // As the namespace's controller does it: everything is deleted, in no order.
    await cluster.client.delete(RESOURCES.Namespace, { name: namespace });
    for (const { metadata } of await cluster.list(ROLE_BINDINGS, namespace))
      await cluster.delete(ROLE_BINDINGS, namespace, metadata.name);
    await cluster.delete(BERTH_RESOURCES.ModelDeployment, namespace, 'chat');
    await pollUntil(async () => (await find()) === undefined);
  });

  it('reads and writes why the rollout of sidecars stopped, where there is one, and no other ConfigMap', async () => {
    const client = await connectAs(await grant('rolling', ['sidecarRollout.enabled=true']));
    const signal = AbortSignal.timeout(60_000);
    const at = { namespace: SYSTEM_NAMESPACE, name: 'rolling-berth-sidecar-rollout' };
    expect(await readStopFile(client, at, signal)).to.equal(undefined);
    const metadata = { ...at, annotations: { [ANNOTATIONS.resume]: 'true' } };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
    await harness.cluster.client.create(RESOURCES.ConfigMap, object);
    expect(await readStopFile(client, at, signal)).to.include({ isResumeWanted: true });
    const record = { isStopped: true, revision: 'r2', reason: 'one failed', resumedAt: 0 };
    await writeStopFile(client, at, { record, now: Date.now(), signal });
    expect(await readStopFile(client, at, signal)).to.deep.include({ record, isResumeWanted: false });
    const attempt = await readStopFile(client, { ...at, name: 'other' }, signal).catch((error) => error.code);
    expect(attempt).to.equal(403);
  });

  it('lists and watches Secrets by their metadata alone, and of them only its own', async () => {
    const { cluster } = harness;
    const client = await connectAs(await grant('whole', []));
    const operator = harness.startOperator({ client, leaseClient: client });
    const namespace = await cluster.makeNamespace();
    const foreign = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: 'foreign' } };
    await cluster.client.create(RESOURCES.Secret, { ...foreign, stringData: { password: 'hunter2' } });
    await cluster.create(BERTH_RESOURCES.APIKey, { namespace, name: 'key' }, {});
    await cluster.createModel(namespace, 'chat');
    const { secrets } = operator.program.view;
    const names = () => secrets.list().filter(({ metadata }) => metadata.namespace === namespace);
    await pollUntil(() => names().length === 2);
    const listed = await client.list(RESOURCES.Secret, { namespace });
    expect(listed.items).to.have.length(3);
    for (const secret of [...listed.items, ...secrets.list()])
      expect(secret).to.have.all.keys('apiVersion', 'kind', 'metadata');
  });
});
