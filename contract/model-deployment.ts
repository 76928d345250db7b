/** The ModelDeployment resource: one model, served by one endpoint. */
import { z } from 'zod';
import {
  API_VERSION,
  cel,
  conditions,
  objectMeta,
  objectName,
  passthrough,
  type ResourceDefinition,
  stringMap,
} from './kubernetes-types.ts';
import { modelLimits } from './model-limits.ts';
import { imageModel, videoModel } from './model-media.ts';
import { modelSource } from './model-source.ts';
import { amount, duration, quantity } from './quantity.ts';

export const MODEL_KINDS = ['LLM', 'Embedding', 'Image', 'Video'] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

export const ENGINE_PRESETS = [
  'vllm',
  'sglang',
  'vllm-omni',
  'sglang-diffusion',
  'tei',
  'llama-cpp',
  'simulator',
  'custom',
] as const;
export type EnginePreset = (typeof ENGINE_PRESETS)[number];

const model = z.object({
  id: z
    .string()
    .min(1)
    .max(200)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/,
      'must start with a letter or digit and hold letters, digits, . _ : / @ - only',
    )
    .describe('Value of the `model` parameter.'),
  displayName: z.string().max(200).optional().describe('Human-readable name; the id if absent.'),
  ownedBy: z.string().max(100).default('berth').describe('Owner label in GET /v1/models.'),
  source: modelSource.default({ none: {} }),
});

const engine = z
  .object({
    preset: z.enum(ENGINE_PRESETS).describe('The engine that serves the model.'),
    image: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe("Engine image; the preset's default if absent. Required for custom."),
    command: z.array(z.string().max(4096)).max(64).optional().describe("Replaces the preset's command."),
    args: z.array(z.string().max(4096)).max(256).default([]).describe("Added after the preset's arguments."),
    env: z
      .array(passthrough('A container environment variable (name and value or valueFrom).'))
      .max(256)
      .default([]),
    envFrom: z.array(passthrough('A container envFrom source.')).max(32).default([]),
    servedModelName: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("The engine's own name of the model; model.id if absent."),
    port: z
      .int()
      .min(1024)
      .max(65535)
      .default(8000)
      .describe('Port on which the engine listens, on 127.0.0.1.'),
    healthPath: z
      .string()
      .max(200)
      .regex(/^\//, 'must start with /')
      .default('/health')
      .describe('Path that answers 200 once the engine serves.'),
    startupTimeout: duration('Longest start of the engine, downloads included.').default('30m'),
    imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional(),
  })
  .meta({
    ...cel({
      rule: "self.preset != 'custom' || has(self.image)",
      message: 'engine.image is required with preset custom',
      fieldPath: '.image',
    }),
  });

const gpu = z
  .object({
    count: z.int().min(0).max(64).default(1),
    resourceName: z
      .string()
      .max(253)
      .regex(
        /^[a-z0-9.-]+\/[A-Za-z0-9._-]+$/,
        'must be a resource name such as nvidia.com/gpu or nvidia.com/mig-1g.10gb',
      )
      .default('nvidia.com/gpu'),
    runtimeClassName: objectName('Runtime class of the pod, such as nvidia.').optional(),
    sharedMemory: quantity(
      'Size of /dev/shm; half the memory limit, or 8Gi, if absent and more than one GPU is used.',
    ).optional(),
  })
  .describe(
    'Accelerators of each replica. If absent: what the preset needs (1 for vllm, sglang, tei and the diffusion engines, else 0).',
  );

/** Kubernetes takes `cpu: 2` as well as `cpu: "2"`. */
const resourceMap = z.record(z.string(), z.union([z.string(), z.number()]).transform(String));
const resources = z
  .object({ requests: resourceMap.optional(), limits: resourceMap.optional() })
  .describe('CPU and memory of the engine container.');

const scaling = z
  .object({
    min: z.int().min(0).max(1000).default(1).describe('0 lets the deployment scale to zero.'),
    max: z.int().min(1).max(1000).default(1),
    targetConcurrency: z
      .number()
      .gt(0)
      .lte(10_000)
      .optional()
      .describe('Requests in flight and queued per replica; the concurrency if absent.'),
    stableWindow: duration('Averaging window.').default('60s'),
    panicWindow: duration('Short window that reacts to bursts.').default('6s'),
    idleTimeout: duration('Quiet time before the last replica goes.').default('10m'),
    coldStart: z
      .object({
        mode: z
          .enum(['Reject', 'Hold'])
          .default('Reject')
          .describe('Answer 503 while starting, or hold the request.'),
        holdFor: duration('Longest hold.').default('60s'),
      })
      .prefault({}),
  })
  .meta({
    description: 'Autoscaling. Not together with replicas.',
    ...cel({
      rule: 'self.min <= self.max',
      message: 'scaling.min must not exceed scaling.max',
      fieldPath: '.min',
    }),
  });

const rollout = z
  .object({
    maxSurge: z
      .int()
      .min(0)
      .max(100)
      .default(0)
      .describe('Extra pods during a rollout. 0 needs no spare GPU.'),
    drainTimeout: duration(
      'Longest wait for work in flight when a pod goes; text 3m, image 5m, video 35m if absent.',
    ).optional(),
    revision: z
      .string()
      .max(63)
      .optional()
      .describe("Any change rolls the pods, with the operator's present sidecar version."),
  })
  .prefault({});

const route = z
  .object({
    enabled: z.boolean().default(true),
    host: z
      .string()
      .max(253)
      .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be a DNS name')
      .optional()
      .describe('Host name; <name>--<namespace>.<domain> if absent.'),
    type: z.enum(['Ingress', 'HTTPRoute']).default('Ingress'),
    className: z
      .string()
      .max(253)
      .optional()
      .describe("Ingress class; the operator's, or the cluster's default, if absent."),
    gateway: z
      .object({
        name: objectName('Name of the Gateway.'),
        namespace: objectName('Namespace of the Gateway.').optional(),
        sectionName: z.string().max(253).optional(),
      })
      .optional()
      .describe('Gateway of an HTTPRoute.'),
    tlsSecretName: objectName(
      "Secret with the host's certificate; plain http or the controller's own certificate if absent.",
    ).optional(),
    preset: z
      .enum(['traefik', 'nginx', 'alb', 'gateway-api', 'none'])
      .optional()
      .describe("Annotations that the contract's long and large answers need; the operator's if absent."),
    annotations: stringMap('Further annotations, of those that the operator allows.').optional(),
    via: z
      .enum(['Direct', 'Front'])
      .optional()
      .describe("Direct to the pods, or through the front; the operator's if absent."),
  })
  .meta({
    ...cel({
      rule: "!has(self.type) || self.type != 'HTTPRoute' || has(self.gateway)",
      message: 'route.gateway is required with type HTTPRoute',
      fieldPath: '.gateway',
    }),
  })
  .prefault({});

const pricing = z
  .object({
    perImage: amount('Price of one image.').optional(),
    perVideoSecond: amount('Price of one second of video.').optional(),
    perMillionInputTokens: amount('Price of a million prompt tokens.').optional(),
    perMillionOutputTokens: amount('Price of a million completion tokens.').optional(),
  })
  .prefault({})
  .describe("What is taken from the workspace's credit; free where absent.");

const template = z
  .object({
    labels: stringMap('Further labels of the pods.').optional(),
    annotations: stringMap('Further annotations of the pods.').optional(),
    nodeSelector: stringMap('').optional(),
    tolerations: z.array(passthrough('A toleration.')).max(64).optional(),
    affinity: passthrough('Affinity of the pods.').optional(),
    topologySpreadConstraints: z
      .array(passthrough("A constraint; its labelSelector is the deployment's if absent."))
      .max(16)
      .optional(),
    priorityClassName: z.string().max(253).optional(),
    serviceAccountName: objectName('Service account of the pods.').optional(),
    imagePullSecrets: z.array(objectName('Name of a pull secret.')).max(16).optional(),
    volumes: z.array(passthrough('A volume of the pod.')).max(64).optional(),
    volumeMounts: z.array(passthrough('A mount of the engine container.')).max(64).optional(),
    podSecurityContext: passthrough('Security context of the pod.').optional(),
    securityContext: passthrough('Security context of the engine container.').optional(),
  })
  .prefault({})
  .describe('Overrides of the pods.');

export const modelDeploymentSpec = z
  .object({
    id: z
      .int()
      .min(1)
      .max(281_474_976_710_655)
      .optional()
      .meta({
        description: 'Registration id; derived from the name if absent.',
        ...cel({ rule: 'self == oldSelf', message: 'id is immutable' }),
      }),
    kind: z.enum(MODEL_KINDS).describe('Vision-language models are LLM.'),
    model,
    engine,
    gpu: gpu.optional(),
    resources: resources.optional(),
    replicas: z.int().min(0).max(1000).optional().describe('Pods; 1 if absent. Not together with scaling.'),
    scaling: scaling.optional(),
    concurrency: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe('Requests that a replica works on at once. Image and Video 1, text unlimited if absent.'),
    paused: z.boolean().default(false).describe('Scales to zero and answers 503.'),
    rollout,
    image: imageModel.optional(),
    video: videoModel.optional(),
    storage: z
      .object({
        credential: objectName('StorageCredential of this namespace to which results go.').optional(),
      })
      .prefault({}),
    route,
    pricing,
    limits: modelLimits,
    template,
  })
  .meta({
    ...cel(
      {
        rule: '!(has(self.scaling) && has(self.replicas))',
        message: 'replicas and scaling cannot be given together',
        fieldPath: '.replicas',
      },
      {
        rule: "!has(self.image) || self.kind == 'Image'",
        message: 'spec.image is allowed with kind Image only',
        fieldPath: '.image',
      },
      {
        rule: "!has(self.video) || self.kind == 'Video'",
        message: 'spec.video is allowed with kind Video only',
        fieldPath: '.video',
      },
      { rule: 'has(self.id) == has(oldSelf.id)', message: 'id is immutable', fieldPath: '.id' },
      {
        rule: "self.kind == 'LLM' ? self.engine.preset in ['vllm','sglang','llama-cpp','simulator','custom'] : self.kind == 'Embedding' ? self.engine.preset in ['vllm','sglang','tei','llama-cpp','simulator','custom'] : self.engine.preset in ['vllm-omni','sglang-diffusion','simulator','custom']",
        messageExpression:
          "'engine.preset ' + self.engine.preset + ' does not serve kind ' + self.kind + '; LLM: vllm, sglang, llama-cpp, simulator, custom; Embedding: also tei; Image and Video: vllm-omni, sglang-diffusion, simulator, custom'",
        fieldPath: '.engine.preset',
      },
    ),
  });
export type ModelDeploymentSpec = z.infer<typeof modelDeploymentSpec>;

export const modelDeploymentStatus = z.object({
  observedGeneration: z.int().optional(),
  phase: z.string().optional().describe('One word for kubectl get: Ready, Starting, Paused, Failed …'),
  replicas: z.int().optional(),
  readyReplicas: z.int().optional(),
  updatedReplicas: z.int().optional(),
  desiredReplicas: z.int().optional(),
  selector: z.string().optional(),
  url: z.string().optional(),
  registrationId: z.int().optional(),
  sidecarVersion: z.string().optional(),
  conditions,
});
export type ModelDeploymentStatus = z.infer<typeof modelDeploymentStatus>;

/** A ModelDeployment with all defaults filled in. */
export const modelDeployment = z.object({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('ModelDeployment'),
  metadata: objectMeta,
  spec: modelDeploymentSpec,
  status: modelDeploymentStatus.prefault({}),
});
export type ModelDeployment = z.infer<typeof modelDeployment>;

export const modelDeploymentResource: ResourceDefinition = {
  kind: 'ModelDeployment',
  plural: 'modeldeployments',
  singular: 'modeldeployment',
  shortNames: ['md'],
  spec: modelDeploymentSpec,
  status: modelDeploymentStatus,
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
  rules: [
    { rule: 'self.metadata.name.size() <= 45', message: 'metadata.name must have at most 45 characters' },
  ],
  columns: [
    { name: 'Model', type: 'string', jsonPath: '.spec.model.id' },
    { name: 'Kind', type: 'string', jsonPath: '.spec.kind' },
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas' },
    { name: 'URL', type: 'string', jsonPath: '.status.url' },
    {
      name: 'Reason',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].message',
      priority: 1,
    },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
