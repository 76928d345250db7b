import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { Agent, request as send } from 'undici';
import { parse, parseAllDocuments } from 'yaml';
import { API_VERSION } from '../../api/kubernetes-types.ts';
import { modelDeployment } from '../../api/model-deployment.ts';
import { ensureBinary } from '../../cluster/binaries.ts';
import { listPodFields } from '../../operator/resources/pod-fields.ts';
import { POD_FIELD_GROUPS } from '../../operator/resources/settings.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { createKubeRequest, type KubeAnswer, type KubeRequest } from '../support/kube-request.ts';
import { IMAGES } from './render.ts';

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  // biome-ignore lint/suspicious/noExplicitAny: manifests of many kinds
  spec?: any;
}

async function render(...args: string[]): Promise<Manifest[]> {
  const whole = ['template', 'berth', 'charts/berth', '--namespace', 'berth', '--set', IMAGES, ...args];
  const { stdout } = await promisify(execFile)(await ensureBinary('helm'), whole, {
    maxBuffer: 64 * 1024 * 1024,
  });
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Manifest)
    .filter(Boolean);
}

const TEAM = 'team';
const PATHS: Record<string, string> = {
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ValidatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
};
const modelsOf = (namespace: string) => `/apis/${API_VERSION}/namespaces/${namespace}/modeldeployments`;

const engine = (more: object) => ({ engine: { preset: 'simulator', ...more } });
const template = (more: object) => ({ template: more });
const source = (more: object) => ({ model: { id: 'm', source: more } });
const variable = (valueFrom: object) => engine({ env: [{ name: 'A', valueFrom }] });

const PRIORITY = { 'kueue.x-k8s.io/priority-class': 'high' };

/** A spec, or labels, for each field that a group protects. */
const GUARDED: [group: (typeof POD_FIELD_GROUPS)[number], spec: object][] = [
  ['images', engine({ image: 'own:1' })],
  ['images', engine({ command: ['sh'] })],
  ['images', { engine: { preset: 'custom', image: 'own:1' } }],
  ['images', source({ image: { reference: 'own:1', mode: 'Copy', path: 'w' } })],
  ['secrets', engine({ envFrom: [{ secretRef: { name: 'theirs' } }] })],
  ['secrets', engine({ envFrom: [{ configMapRef: { name: 'theirs' } }] })],
  ['secrets', variable({ secretKeyRef: { name: 'theirs', key: 'k' } })],
  ['secrets', variable({ configMapKeyRef: { name: 'theirs', key: 'k' } })],
  ['secrets', source({ huggingFace: { repo: 'a/b', tokenSecret: { name: 'theirs', key: 'k' } } })],
  ['secrets', template({ imagePullSecrets: ['theirs'] })],
  ['serviceAccounts', template({ serviceAccountName: 'admin' })],
  ['volumes', template({ volumes: [{ name: 'a', hostPath: { path: '/' } }] })],
  ['volumes', template({ volumes: [{ name: 'a', secret: { secretName: 'theirs' } }] })],
  [
    'volumes',
    template({ volumes: [{ name: 'a', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] }),
  ],
  ['security', template({ securityContext: { privileged: true } })],
  ['security', template({ podSecurityContext: { runAsUser: 0 } })],
  ['metadata', template({ annotations: { 'iam.example.com/role': 'admin' } })],
  ['metadata', template({ labels: { app: 'billing' } })],
  ['priority', template({ priorityClassName: 'system-node-critical' })],
  ['priority', { labels: PRIORITY }],
  ['runtime', { gpu: { runtimeClassName: 'other' } }],
];
/** Fields that every member may write. */
const FREE: [what: string, spec: object][] = [
  ['the least', {}],
  ['plain environment and arguments', engine({ args: ['--a'], env: [{ name: 'A', value: 'b' }] })],
  ['what the pod tells of itself', variable({ fieldRef: { fieldPath: 'spec.nodeName' } })],
  ['GPUs and resources', { gpu: { count: 2 }, resources: { limits: { memory: '8Gi' } } }],
  ['a claim of weights', source({ pvc: { claimName: 'weights' } })],
  ['weights of the hub with a cache', source({ huggingFace: { repo: 'a/b', cache: { size: '1Gi' } } })],
  [
    'keys of a bucket, as a StorageCredential names them',
    source({ s3: { uri: 's3://bucket', secret: 'keys' } }),
  ],
  ['weights in an image', source({ image: { reference: 'weights:1' } })],
  ['a volume of its own', template({ volumes: [{ name: 'a', emptyDir: {} }] })],
  ['a queue', { labels: { 'kueue.x-k8s.io/queue-name': 'gpus' } }],
  ['a place', template({ nodeSelector: { a: 'b' }, tolerations: [{ operator: 'Exists' }] })],
  ['a Secret that they may use', variable({ secretKeyRef: { name: 'mine', key: 'k' } })],
];

describe('pod fields on a real API server with the chart', () => {
  let controlPlane: ControlPlane;
  let request: KubeRequest;
  let dispatcher: Agent;
  let created = 0;

  const as = async (
    user: string,
    method: 'POST' | 'PATCH',
    path: string,
    body: object,
  ): Promise<KubeAnswer> => {
    const answer = await send(`${controlPlane.url}${path}`, {
      method,
      dispatcher,
      headers: {
        authorization: `Bearer ${controlPlane.token}`,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        'impersonate-user': user,
      },
      body: JSON.stringify(body),
    });
    return { status: answer.statusCode, body: await answer.body.json() };
  };
  const makeModel = ({ labels, ...spec }: { labels?: object } & object) => ({
    apiVersion: API_VERSION,
    kind: 'ModelDeployment',
    metadata: { name: `model-${created++}`, labels },
    spec: { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'simulator' }, ...spec },
  });
  const create = (user: string, spec: object, namespace = TEAM) =>
    as(user, 'POST', modelsOf(namespace), makeModel(spec));
  const bind = async (user: string, role: object, namespace = TEAM) => {
    const { status, body } = await request(
      'POST',
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
      {
        metadata: { name: `binding-${created++}` },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...role },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
      },
    );
    expect(status, JSON.stringify(body)).to.equal(201);
  };

  before(async () => {
    controlPlane = await startControlPlane();
    request = createKubeRequest(controlPlane);
    dispatcher = new Agent({ connect: { ca: controlPlane.authority } });
    const post = async (path: string, body: object) => {
      const answer = await request('POST', path, body);
      expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    };
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    await post(crds, parse(readFileSync('charts/berth/files/crds/modeldeployments.yaml', 'utf8')));
    for (const name of [TEAM, 'berth']) await post('/api/v1/namespaces', { metadata: { name } });
    for (const manifest of await render('--kube-version', '1.35.0'))
      if (
        PATHS[manifest.kind] &&
        !(manifest.kind.startsWith('Validating') && !manifest.metadata.name.endsWith('pod-fields'))
      )
        await post(PATHS[manifest.kind]!, manifest);
    await post(`/apis/rbac.authorization.k8s.io/v1/namespaces/${TEAM}/roles`, {
      metadata: { name: 'mine' },
      rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['use'] }],
    });
    for (const namespace of [TEAM, 'berth'])
      await bind('anna', { kind: 'ClusterRole', name: 'berth-member' }, namespace);
    await bind('anna', { kind: 'Role', name: 'mine' });
    await bind('ben', { kind: 'ClusterRole', name: 'berth-member' });
    await bind('ben', { kind: 'ClusterRole', name: 'berth-pod-fields' });
    await bind('eve', { kind: 'ClusterRole', name: 'berth-edit' });
    // A policy takes effect some time after its creation.
    const probe = makeModel(template({ priorityClassName: 'a' }));
    const deadline = Date.now() + 60_000;
    for (;;) {
      const { status, body } = await as('anna', 'POST', `${modelsOf(TEAM)}?dryRun=All`, probe);
      if (status === 422 || (status === 403 && /priorityClassName/.test(body.message))) break;
      expect(Date.now(), JSON.stringify(body)).to.be.lessThan(deadline);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  });
  after(async () => {
    await dispatcher?.close();
    await controlPlane?.close();
  });

  for (const [group, spec] of GUARDED)
    it(`are denied to members, with the missing permission named: ${group} by ${JSON.stringify(spec)}`, async () => {
      const { status, body } = await create('anna', spec);
      expect(status, JSON.stringify(body)).to.equal(422);
      expect(body.message).to.include('modeldeployments/podfields');
      const made = makeModel(spec);
      const parsed = modelDeployment.parse({ ...made, metadata: { ...made.metadata, namespace: TEAM } });
      expect(Object.keys(listPodFields(parsed)), 'as the operator sees them').to.deep.equal([group]);
    });

  for (const [group, spec] of GUARDED)
    it(`are for those with the right, and with Kubernetes' edit: ${group} by ${JSON.stringify(spec)}`, async () => {
      for (const user of ['ben', 'eve']) {
        const { status, body } = await create(user, spec);
        expect(status, JSON.stringify(body)).to.equal(201);
      }
    });

  for (const [what, spec] of FREE)
    it(`leave members ${what}`, async () => {
      const { status, body } = await create('anna', spec);
      expect(status, JSON.stringify(body)).to.equal(201);
    });

  it("let a member change what makes no pods of another's object, and nothing that rides on its rights", async () => {
    const { body } = await create('ben', template({ serviceAccountName: 'models' }));
    const path = `${modelsOf(TEAM)}/${body.metadata.name}`;
    const change = (spec: object) => as('anna', 'PATCH', path, { spec });
    expect((await change({ replicas: 2, pricing: { perImage: '1' } })).status).to.equal(200);
    expect((await change({ engine: { args: ['--x'] } })).status).to.equal(422);
    expect((await change({ model: { source: { s3: { uri: 's3://mine' }, none: null } } })).status).to.equal(
      422,
    );
    expect((await as('anna', 'PATCH', path, { metadata: { labels: PRIORITY } })).status).to.equal(422);
    expect((await change({ template: null, engine: { args: ['--x'] } })).status).to.equal(200);
  });

  it("let no member run models in Berth's own namespace", async () => {
    const { status, body } = await create('anna', {}, 'berth');
    expect(status).to.equal(422);
    expect(body.message).to.match(/the namespace of Berth itself/);
  });

  const readOperator = (manifests: Manifest[]) =>
    Object.fromEntries(
      manifests
        .find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'berth-operator')!
        .spec.template.spec.containers[0].env.map(({ name, value }: { name: string; value: string }) => [
          name,
          value,
        ]),
    );

  it('are taken by the operator where a policy guards them, and from nobody on Kubernetes 1.29', async () => {
    const old = await render('--kube-version', '1.29.0');
    expect(old.filter(({ kind }) => kind.startsWith('ValidatingAdmission'))).to.deep.equal([]);
    expect(readOperator(old).OPERATOR_POD_FIELDS).to.equal('placement');
    expect(readOperator(await render('--kube-version', '1.30.0'))).not.to.have.property(
      'OPERATOR_POD_FIELDS',
    );
  });

  it('are for all where the chart says so', async () => {
    const values = ['--set', `podFields.everyone={${POD_FIELD_GROUPS.join(',')}}`];
    const policy = (await render(...values)).find(
      ({ kind, metadata }) => kind === 'ValidatingAdmissionPolicy' && metadata.name === 'berth-pod-fields',
    )!;
    expect(policy.spec.validations).to.have.length(1);
  });

  it("name the installation's own Secrets to the operator", async () => {
    const env = readOperator(await render('--set', 'storage.bucket=results,storage.secretName=s3-keys'));
    expect(env.OPERATOR_OWN_SECRETS).to.equal('berth-master-key,berth-redis,berth-redis-tls,s3-keys');
  });
});
