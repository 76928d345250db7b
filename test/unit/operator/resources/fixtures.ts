/** A deployment and settings for tests of the builders, and readers of what is built. */
import type {
  V1Container,
  V1DeploymentSpec,
  V1EnvVar,
  V1IngressSpec,
  V1PodSpec,
  V1PodTemplateSpec,
} from '@kubernetes/client-node';
import { type ModelDeployment, modelDeployment } from '../../../../api/model-deployment.ts';
import type { KubeObject } from '../../../../kube/object.ts';
import type { OperatorSettings } from '../../../../operator/environment.ts';
import {
  type BuildContext,
  type BuiltChildren,
  buildChildren,
} from '../../../../operator/resources/children.ts';
import { POD_FIELD_GROUPS } from '../../../../operator/resources/settings.ts';

export const SETTINGS: OperatorSettings = {
  namespace: 'berth-system',
  version: '1.0.0',
  domain: 'models.example.com',
  urlScheme: 'https',
  urlPort: undefined,
  ingressClass: undefined,
  routePreset: 'none',
  routeVia: 'Direct',
  allowedHosts: ['llm.example.com', '*.llm.example.com'],
  consoleHost: 'console.models.example.com',
  documentationURL: undefined,
  allowedAnnotations: ['cert-manager.io/cluster-issuer'],
  gateway: undefined,
  frontTLSSecrets: [],
  frontService: 'berth-front',
  frontServicePort: 80,
  storageURL: 'http://berth-front-internal.berth-system.svc:8082',
  gatewayImage: 'berth/berth:1.0.0',
  gatewayResources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } },
  gatewayLogLevel: 'info',
  gatewayTracing: null,
  simulatorImage: 'berth/simulator:1.0.0',
  engineImages: {},
  s3CopyImage: 'docker.io/rclone/rclone:1',
  imagePullPolicy: 'IfNotPresent',
  imageRegistry: '',
  ownSecrets: ['berth-master-key'],
  podFields: { groups: POD_FIELD_GROUPS, host: false },
  imagePullSecrets: [],
  downloadEnv: [],
  platform: 'kubernetes',
  networkPolicies: true,
  egress: { allow: [], deny: [], plainHTTP: false },
  redisURL: 'redis://berth-redis.berth-system.svc:6379',
  redisUsers: 'managed',
  redisUsername: 'operator',
  redisPassword: 'operator-password',
  redisWorkspaceShare: 50,
  redisCAFile: '/nowhere/redis-ca.crt',
  readRedisCA: () => undefined,
  externalRedisSecret: 'berth-redis',
  allowVolatileQueue: false,
  sidecarRollout: undefined,
  modelHub: undefined,
  watchNamespaces: [],
  masterKey: 'master',
};

/** A vLLM deployment with weights from the hub, changed by `spec` and `metadata`. */
export function makeModel(spec: object = {}, metadata: object = {}): ModelDeployment {
  return modelDeployment.parse({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name: 'qwen', namespace: 'team-a', uid: 'uid-1', ...metadata },
    spec: {
      kind: 'LLM',
      model: { id: 'qwen/qwen3', source: { huggingFace: { repo: 'Qwen/Qwen3-8B' } } },
      engine: { preset: 'vllm' },
      ...spec,
    },
  });
}

export interface Built extends BuiltChildren {
  find: (kind: string) => KubeObject;
  has: (kind: string) => boolean;
  deployment: V1DeploymentSpec;
  deploymentObject: KubeObject;
  template: V1PodTemplateSpec;
  pod: V1PodSpec;
  gateway: V1Container;
  engine: V1Container;
  ingress: () => V1IngressSpec;
}

export function build(
  spec: object | ModelDeployment = {},
  settings: Partial<OperatorSettings> = {},
  context: BuildContext = {},
): Built {
  const model = 'apiVersion' in spec ? (spec as ModelDeployment) : makeModel(spec);
  const built = buildChildren(model, { ...SETTINGS, ...settings }, context);
  const find = (kind: string) => {
    const found = built.objects.find((object) => object.kind === kind);
    if (!found) throw new Error(`no ${kind} was built`);
    return found;
  };
  const deploymentObject = find('Deployment');
  const deployment = deploymentObject.spec as V1DeploymentSpec;
  const pod = deployment.template.spec!;
  return {
    ...built,
    find,
    has: (kind) => built.objects.some((object) => object.kind === kind),
    deployment,
    deploymentObject,
    template: deployment.template,
    pod,
    gateway: pod.initContainers![0]!,
    engine: pod.containers[0]!,
    ingress: () => find('Ingress').spec as V1IngressSpec,
  };
}

export function variable(container: V1Container, name: string): V1EnvVar | undefined {
  return container.env?.find((one) => one.name === name);
}
