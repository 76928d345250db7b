/** What the builders return, applied to a real API server: strict fields, its own validation, pod security. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parseAllDocuments, parseDocument } from 'yaml';
import { ENGINE_PRESETS } from '../../../api/engine-presets.ts';
import { type ModelDeployment, modelDeployment } from '../../../api/model-deployment.ts';
import { findGatewayDefinitions } from '../../../cluster/addons.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { buildChildren } from '../../../operator/resources/children.ts';
import { KUBERNETES_VERSIONS } from '../../support/kubernetes-versions.ts';
import { pollUntil } from '../../support/poll.ts';
import { SETTINGS } from '../../unit/operator/resources/fixtures.ts';
import { useApi } from '../kube/api.ts';

const FOLDER = 'examples';
const examples: [string, object][] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) =>
    parseAllDocuments(readFileSync(`${FOLDER}/${file}`, 'utf8'))
      .map((document) => document.toJS())
      .filter(({ kind }) => kind === 'ModelDeployment')
      .map((object): [string, object] => [file, object.spec]),
  );

const hub = {
  huggingFace: { repo: 'a/b', tokenSecret: { name: 'hf', key: 'token' }, cache: { claimName: 'c' } },
};
const llm = (more: object = {}) => ({
  kind: 'LLM',
  model: { id: 'm', source: hub },
  engine: { preset: 'vllm' },
  ...more,
});
const httpRoute = { type: 'HTTPRoute', gateway: { name: 'public', namespace: 'edge', sectionName: 'https' } };
const fromSource = (source: object) => llm({ model: { id: 'm', source } });

const DEFINITIONS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

/** Everything that a spec can say about the pods and the route, at least once. */
const SPECS: [string, object][] = [
  ...examples,
  ['weights in an image', fromSource({ image: { reference: 'registry.example.com/w:1', path: 'w' } })],
  ['weights copied out of an image', fromSource({ image: { reference: 'w:1', path: 'w', mode: 'Copy' } })],
  ['weights copied from S3', fromSource({ s3: { uri: 's3://models/m', secret: 'keys', size: '1Gi' } })],
  ['weights on a claim', fromSource({ pvc: { claimName: 'weights', path: 'm' } })],
  [
    'every override of the pod',
    llm({
      gpu: {
        count: 1,
        resourceName: 'nvidia.com/mig-1g.10gb',
        runtimeClassName: 'nvidia',
        sharedMemory: '1Gi',
      },
      resources: { requests: { cpu: 2, memory: '1Gi' }, limits: { memory: '4Gi' } },
      engine: {
        preset: 'vllm',
        image: 'x:1',
        command: ['serve'],
        args: ['a'],
        imagePullPolicy: 'Always',
        port: 9000,
        env: [
          { name: 'A', value: 'b' },
          { name: 'HF_HOME', value: '/lora' },
          { name: 'S', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
        ],
        envFrom: [{ secretRef: { name: 's' } }],
      },
      rollout: { maxSurge: 1, drainTimeout: '90s', revision: '2' },
      template: {
        labels: { a: 'b' },
        annotations: { a: 'b' },
        nodeSelector: { zone: 'a' },
        imagePullSecrets: ['pull'],
        tolerations: [{ key: 'spot', operator: 'Exists' }],
        affinity: { nodeAffinity: {} },
        serviceAccountName: 'models',
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
        volumes: [{ name: 'lora', emptyDir: {} }],
        volumeMounts: [{ name: 'lora', mountPath: '/lora' }],
        podSecurityContext: { fsGroup: 7 },
        securityContext: { runAsUser: 7 },
        schedulerName: 'volcano',
      },
    }),
  ],
  [
    'a claimed device',
    llm({ template: { resourceClaims: [{ name: 'card', resourceClaimTemplateName: 'h100' }] } }),
  ],
  [
    'a route with class, certificate, annotations and the preset of nginx',
    llm({
      route: {
        host: 'llm.example.com',
        className: 'nginx',
        tlsSecretName: 'cert',
        preset: 'nginx',
        annotations: { 'cert-manager.io/cluster-issuer': 'x' },
      },
    }),
  ],
  ['a route of Gateway API', llm({ route: { ...httpRoute, preset: 'gateway-api' } })],
  ['a route of Gateway API without a preset', llm({ route: httpRoute })],
  ['a paused deployment', llm({ paused: true })],
];
/** What the oldest version does not know, as docs/install.md says. */
const LATER = ['weights in an image', 'a claimed device'];

for (const { age, version, program } of KUBERNETES_VERSIONS)
  describe(`what is built for a ModelDeployment, on the API server of Kubernetes ${version}`, () => {
    const api = useApi({ program });

    const settings = { ...SETTINGS, routePreset: 'alb' as const, redisUsers: 'external' as const };
    const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' };

    function parse(spec: object, namespace: string): ModelDeployment {
      const metadata = { name: 'sample', namespace, uid: crypto.randomUUID() };
      return modelDeployment.parse({
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ModelDeployment',
        metadata,
        spec,
      });
    }

    /** Gateway API's definitions are not part of Kubernetes. */
    before(async () => {
      const file = join(await findGatewayDefinitions(), 'gateway.networking.k8s.io_httproutes.yaml');
      const client = api.connect();
      await client.create(DEFINITIONS, parseDocument(readFileSync(file, 'utf8')).toJS());
      const at = { name: 'httproutes.gateway.networking.k8s.io' };
      await pollUntil(async () => {
        const { status } = await client.get(DEFINITIONS, at);
        const { conditions } = (status ?? {}) as { conditions?: { type: string; status: string }[] | null };
        return conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false;
      });
    });

    const resourceOf = ({ kind }: KubeObject) => RESOURCES[kind as keyof typeof RESOURCES];

    const apply = async (spec: object) => {
      const client = api.connect();
      const namespace = await api.makeNamespace();
      const built = buildChildren(parse(spec, namespace), settings);
      expect(built.problems).to.deep.equal([]);
      for (const object of built.objects)
        await client.apply(resourceOf(object), object, { fieldManager: 'test', force: true });
    };
    const isLater = (name: string) => age === 'oldest' && LATER.includes(name);

    for (const [name, spec] of SPECS.filter(([name]) => !isLater(name)))
      it(`is accepted with nothing unknown in it: ${name}`, () => apply(spec));

    for (const [name, spec] of SPECS.filter(([name]) => isLater(name)))
      it(`is refused instead of taken in part: ${name}`, async () => {
        const error = await apply(spec).catch((reason: Error) => reason);
        expect(error?.message).to.match(/field not declared in schema|unknown field/);
      });

    for (const preset of ENGINE_PRESETS.filter((one) => one !== 'custom'))
      it(`makes pods that meet the restricted standard: ${preset}`, async () => {
        const client = api.connect();
        const namespace = await api.makeNamespace();
        await client.mergePatch(RESOURCES.Namespace, {
          at: { name: namespace },
          patch: { metadata: { labels: RESTRICTED } },
        });
        const kind = preset === 'tei' ? 'Embedding' : /omni|diffusion/.test(preset) ? 'Image' : 'LLM';
        const model = parse(llm({ kind, engine: { preset } }), namespace);
        const deployment = buildChildren(model, settings).objects.find(
          (object) => object.kind === 'Deployment',
        )!;
        const { template } = deployment.spec as { template: { metadata: object; spec: object } };
        const pod: KubeObject = await client.create(RESOURCES.Pod, {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { ...template.metadata, name: 'sample', namespace },
          spec: template.spec,
        });
        expect(pod.metadata.uid).to.be.a('string');
      });

    it('is refused by that standard without it, so the check above checks something', async () => {
      const client = api.connect();
      const namespace = await api.makeNamespace();
      await client.mergePatch(RESOURCES.Namespace, {
        at: { name: namespace },
        patch: { metadata: { labels: RESTRICTED } },
      });
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'plain', namespace },
        spec: { containers: [{ name: 'a', image: 'a' }] },
      };
      const error = await client.create(RESOURCES.Pod, pod).then(
        () => undefined,
        (reason: Error) => reason,
      );
      expect(error?.message).to.include('violates PodSecurity');
    });

    it('is written once: the same children again change nothing', async () => {
      const client = api.connect();
      const namespace = await api.makeNamespace();
      const model = parse(llm(), namespace);
      for (const object of buildChildren(model, settings).objects) {
        const options = { fieldManager: 'test', force: true };
        const first = await client.apply(resourceOf(object), object, options);
        const second = await client.apply(resourceOf(object), object, options);
        expect(second.metadata.resourceVersion, object.kind).to.equal(first.metadata.resourceVersion);
      }
    });
  });
