/** The chart and the operator on the API servers of the oldest and the newest supported Kubernetes: all is taken, nothing dropped. */
import { readdirSync, readFileSync } from 'node:fs';
import type { V1Deployment } from '@kubernetes/client-node';
import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';
import { API_VERSION, type Condition } from '../../../api/kubernetes-types.ts';
import type { KubeObject, Wire } from '../../../kube/object.ts';
import { RESOURCES, resourcePath } from '../../../kube/resource.ts';
import { type OperatorSettings, parseSettings } from '../../../operator/environment.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { SYSTEM_NAMESPACE } from '../../integration/operator/operator-settings.ts';
import { listExamples } from '../../support/examples.ts';
import { createKubeRequest, type KubeRequest } from '../../support/kube-request.ts';
import { KUBERNETES_VERSIONS, type KubernetesVersion } from '../../support/kubernetes-versions.ts';
import { WARNING_CASES } from '../../support/model-warnings.ts';
import { pollUntil } from '../../support/poll.ts';
import { connectAccount } from '../operator/account-client.ts';
import { live } from '../operator/object-life.ts';
import { useHarness } from '../operator/operator-harness.ts';
import { EVERYTHING, OTHERWISE } from './chart-values.ts';
import {
  DEFINITIONS,
  type Helm,
  installForeignDefinitions,
  isEstablished,
  prepareHelm,
} from './installation.ts';
import { type RecordingRelay, startRecordingRelay } from './recording-relay.ts';

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
type Age = KubernetesVersion['age'];
const TEAM = 'team';

/** A feature that is off there: see api/model-deployment.ts. */
const LOST: Record<Age, RegExp[]> = {
  oldest: [/modeldeployments\.berth\.dev.*optionalOldSelf$/],
  newest: [],
};

/** Examples that need what is not there: a Secret, or the consent of the chart's `podFields.everyone`. */
const REFUSED: Record<Age, string[]> = {
  oldest: ['bge-m3: PodFieldNotAllowed', 'chat-only: PodFieldNotAllowed', 'my-engine: SecretNotFound'],
  newest: ['my-engine: SecretNotFound'],
};

/** Kinds of the hooks. */
const HOOK_RESOURCES: Record<string, { plural: string; namespaced: boolean }> = {
  ServiceAccount: { plural: 'serviceaccounts', namespaced: true },
  ClusterRole: { plural: 'clusterroles', namespaced: false },
  ClusterRoleBinding: { plural: 'clusterrolebindings', namespaced: false },
  Job: { plural: 'jobs', namespaced: true },
};

const model = (spec: object) => ({
  apiVersion: API_VERSION,
  kind: 'ModelDeployment',
  metadata: { generateName: 'model-' },
  spec: { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'simulator' }, ...spec },
});

for (const { age, version, program } of KUBERNETES_VERSIONS)
  describe(`on Kubernetes ${version}, the ${age} of those supported`, () => {
    const harness = useHarness({ program, isBare: true });
    let request: KubeRequest;
    let relay: RecordingRelay;
    let helm: Helm;
    before(async () => {
      request = createKubeRequest(harness.api.controlPlane);
      await installForeignDefinitions(request);
      relay = await startRecordingRelay(harness.api.controlPlane);
      helm = await prepareHelm(relay.url);
    });
    beforeEach(() => {
      relay.answers.length = 0;
    });
    after(() => {
      helm?.close();
      relay?.close();
    });

    const post = async (path: string, object: object, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${relay.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(object),
      });
      const { message = '' } = (await answer.json()) as { message?: string };
      return { status: answer.status, message, warning: answer.headers.get('warning') ?? '' };
    };
    const postAs = (user: string, path: string, object: object, group = 'system:authenticated') =>
      post(path, object, { 'impersonate-user': user, 'impersonate-group': group });
    const expectAllTaken = () => {
      expect(relay.refused()).to.deep.equal([]);
      expect(relay.warnings()).to.deep.equal([]);
      expect(relay.answers).to.have.length.above(40);
    };

    const readOperator = () =>
      harness.api.connect().get<Wire<V1Deployment>>(RESOURCES.Deployment, {
        namespace: SYSTEM_NAMESPACE,
        name: 'berth-operator',
      });
    const bindMember = () =>
      request('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${TEAM}/rolebindings`, {
        metadata: { name: 'anna' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'berth-member' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'anna' }],
      });

    it('is that version', async () => {
      const { body } = await request('GET', '/version');
      expect(body.gitVersion).to.equal(version);
    });

    if (age === 'oldest')
      it('is the lowest version of the chart', () => {
        const { kubeVersion } = parse(readFileSync('charts/berth/Chart.yaml', 'utf8'));
        expect(kubeVersion).to.equal(`>=${version.slice(1).replace(/\d+$/, '0')}-0`);
      });

    it('refuses, warns of and loses what these tests would then tell', async () => {
      const service = { metadata: { name: 'x' }, spec: { ports: [{ port: 1 }], of: 1 } };
      const path = '/api/v1/namespaces/default/services';
      expect((await post(`${path}?fieldValidation=Strict`, service)).message).to.include('"spec.of"');
      await post(`${path}?fieldValidation=Warn`, service);
      expect(relay.refused().join()).to.match(/unknown field/);
      expect(relay.warnings().join()).to.match(/unknown field/);
      expect(relay.lost()).to.deep.equal([`POST ${path}: spec.of`]);
    });

    it(`${age === 'oldest' ? 'refuses' : 'takes'} a rule that compares whole objects, for its cost`, async () => {
      const definition = parse(readFileSync('charts/berth/files/crds/modeldeployments.yaml', 'utf8'));
      const [rule] = definition.spec.versions[0].schema.openAPIV3Schema['x-kubernetes-validations'];
      rule.rule = `dyn(optional.none()) != dyn(oldSelf) || ${rule.rule.split('||')[1]}`;
      const { status, message } = await post(`${DEFINITIONS}?dryRun=All`, definition);
      expect(status, message).to.equal(age === 'oldest' ? 422 : 201);
      if (age === 'oldest') expect(message).to.match(/estimated rule cost exceeds budget/);
    });

    it('takes all parts of the chart from Helm, without a warning', async () => {
      await helm.install(EVERYTHING);
      expectAllTaken();
      const lost = relay.lost();
      expect(lost, lost.join('\n')).to.have.length(LOST[age].length);
      for (const [index, path] of LOST[age].entries()) expect(lost[index]).to.match(path);
    });

    it('establishes its definitions', async () => {
      const names = readdirSync('charts/berth/files/crds').map(
        (file) => parse(readFileSync(`charts/berth/files/crds/${file}`, 'utf8')).metadata.name,
      );
      expect(names).to.have.length(5);
      for (const name of names)
        await request.until('GET', `${DEFINITIONS}/${name}`, ({ body }) => isEstablished(body));
    });

    if (age === 'oldest')
      it('has no admission policies, in whose place the operator refuses', async () => {
        expect((await request('GET', POLICIES)).status).to.equal(404);
        const { groups } = readSettings(await readOperator()).podFields;
        expect(groups).to.deep.equal(['placement']);
      });
    else
      it('enforces the admission policies', async () => {
        await request('POST', '/api/v1/namespaces', { metadata: { name: TEAM } });
        await bindMember();
        const models = `/apis/${API_VERSION}/namespaces/${TEAM}/modeldeployments?dryRun=All`;
        const secrets = `/api/v1/namespaces/${TEAM}/secrets?dryRun=All`;
        const isRefused = async (call: () => ReturnType<typeof post>, words: RegExp) => {
          const { status, message } = await call();
          return status >= 400 && words.test(message);
        };
        // A policy takes effect some time after its creation.
        const guarded = model({ template: { serviceAccountName: 'admin' } });
        await pollUntil(() => isRefused(() => postAs('anna', models, guarded), /podfields/));
        expect((await postAs('anna', models, model({}))).status).to.equal(201);
        const console = `system:serviceaccount:${SYSTEM_NAMESPACE}:berth-console`;
        const postSecret = (type: string) =>
          postAs(console, secrets, { metadata: { generateName: 'x' }, type }, 'system:masters');
        await pollUntil(() => isRefused(() => postSecret('example.com/other'), /Opaque only/));
        expect((await postSecret('Opaque')).status).to.equal(201);
        const { spec } = WARNING_CASES.find(({ warning }) => warning)!;
        await pollUntil(async () => /spec\./.test((await post(models, model(spec))).warning));
      });

    it('takes all that the operator writes, with the rights and settings of the chart', async () => {
      const { api, cluster } = harness;
      const client = await connectAccount(api.controlPlane, 'berth-operator', { server: relay.url });
      const settings = readSettings(await readOperator());
      const operator = harness.startOperator({ client, leaseClient: client, settings });
      const namespace = await cluster.makeNamespace();
      const objects = readExamples(namespace);
      for (const object of objects)
        await cluster.client.apply(resourceOf(object), object, { fieldManager: 'user', force: true });
      await live(cluster, await cluster.makeNamespace(), 'WaitingForGateway');
      await harness.settle(operator);
      await operator.stop();
      await client.close();
      expectAllTaken();
      expect(relay.lost()).to.deep.equal([]);

      const models = await cluster.list(BERTH_RESOURCES.ModelDeployment, namespace);
      expect(models).to.have.length.above(15);
      const refused = models.flatMap(({ metadata, status }) => {
        const { conditions } = status as { conditions: Condition[] };
        const { reason } = conditions.find(({ type }) => type === 'Accepted')!;
        return reason === 'Accepted' ? [] : [`${metadata.name}: ${reason}`];
      });
      expect(refused.sort()).to.deep.equal(REFUSED[age]);
    });

    if (age === 'oldest')
      it('has the status of a deployment say which of its fields are unknown there', async () => {
        const { cluster } = harness;
        harness.startOperator({ settings: readSettings(await readOperator()) });
        const namespace = await cluster.makeNamespace();
        const source = { image: { reference: 'registry.example.com/weights:1' } };
        await cluster.createModel(namespace, 'chat', { model: { id: 'm', source } });
        const findProblem = () => cluster.condition(namespace, 'chat', 'Accepted');
        await pollUntil(async () => (await findProblem())?.reason === 'Rejected');
        expect((await findProblem())!.message).to.match(/volumes.*image/);
      });

    it('takes the hooks, and an upgrade to the other ways to set up Berth', async () => {
      const hooks = parseAllDocuments(await helm.readHooks()).map(
        (document) => document.toJS() as KubeObject,
      );
      expect(hooks).to.have.length(4);
      for (const { apiVersion, kind, metadata, ...rest } of hooks) {
        const resource = HOOK_RESOURCES[kind]!;
        const path = resourcePath({ ...resource, apiVersion, kind }, { namespace: SYSTEM_NAMESPACE });
        await post(`${path}?dryRun=All&fieldValidation=Strict`, { apiVersion, kind, metadata, ...rest });
      }
      await helm.upgrade(OTHERWISE);
      expectAllTaken();
      expect(relay.lost().filter((path) => !LOST[age].some((known) => known.test(path)))).to.deep.equal([]);
    });
  });

const resourceOf = ({ kind }: KubeObject) =>
  ({ ...RESOURCES, ...BERTH_RESOURCES })[kind as keyof typeof RESOURCES];

const readExamples = (namespace: string): KubeObject[] =>
  listExamples()
    .flatMap(({ file }) => parseAllDocuments(readFileSync(file, 'utf8')))
    .map((document) => document.toJS() as KubeObject)
    .map((object) => ({ ...object, metadata: { ...object.metadata, namespace } }));

/** As the installed operator would read them. */
function readSettings({ spec }: Wire<V1Deployment>): OperatorSettings {
  const { env = [] } = spec!.template.spec!.containers[0]!;
  return parseSettings(Object.fromEntries(env.map(({ name, value }) => [name, value])), {
    masterKey: 'master',
    redisUsername: undefined,
    redisPassword: undefined,
    redisCAFile: '/nowhere/redis-ca.crt',
    readRedisCA: () => undefined,
  });
}
