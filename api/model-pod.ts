/** What runs in a replica's pod: the engine, its accelerators, overrides of the pod. */
import { z } from 'zod';
import { ENGINE_PRESETS } from './engine-presets.ts';
import { ENGINE_ROUTES } from './engine-routes.ts';
import { ENGINE_TRAITS } from './engine-traits.ts';
import { cel, environmentVariable, objectName, passthrough, stringMap } from './kubernetes-types.ts';
import { engineAdapters } from './model-adapter.ts';
import { MODEL_FAMILIES } from './model-families.ts';
import { duration, quantity, quantityBetween } from './quantity.ts';

const withAdapters = ENGINE_PRESETS.filter((preset) => ENGINE_TRAITS[preset].takesAdapters);

const kvCacheSize = (describe: string) => quantityBetween('1Gi', '64Ti', describe);

const kvCache = z
  .object({
    cpu: kvCacheSize(
      "Memory of the replica for it, shared by its GPUs. Added to the engine's memory request and limit, to that of sglang with 10Gi more.",
    ),
    disk: kvCacheSize(
      "Disk of the node for what memory does not hold, in a volume of the pod; sglang only. Added to the engine's request and limit of ephemeral-storage.",
    ).optional(),
  })
  .describe(
    'KV cache of language models beyond the memory of the GPU, with vllm (0.30 or later) and sglang: prompts that begin alike are read once, also when the GPU no longer holds them. Lost with the pod.',
  );

export const modelEngine = z
  .object({
    preset: z.enum(ENGINE_PRESETS).describe('The engine that serves the model.'),
    image: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe("Engine image; the preset's default if absent. Required for custom."),
    version: z
      .string()
      .max(32)
      .regex(/^[0-9]+(\.[0-9]+){1,3}$/, 'must be a version such as 0.33.0')
      .optional()
      .describe(
        "Version of vLLM or SGLang in the image, which decides the preset's flags. If absent: by the image's tag. Unknown: no flag that only some supported versions have.",
      ),
    command: z.array(z.string().max(4096)).max(64).optional().describe("Replaces the preset's command."),
    args: z
      .array(z.string().max(4096))
      .max(256)
      .default([])
      .describe("Added after the preset's arguments; replace those with the same flag."),
    env: z.array(environmentVariable).max(256).default([]).describe('Environment variables of the engine.'),
    envFrom: z.array(passthrough('A container envFrom source.')).max(32).default([]),
    servedModelName: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("The engine's own name of the model; model.id if absent."),
    family: z
      .enum(MODEL_FAMILIES)
      .optional()
      .describe(
        'Family of the language model, which decides how vllm and sglang read tool calls and reasoning. If absent: by the name of ' +
          'the source or model.id; none for no parsers. Flags in args go before.',
      ),
    kvCache: kvCache.optional(),
    adapters: engineAdapters.optional(),
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
      .describe('Path that returns 200 once the engine is ready.'),
    startupTimeout: duration('Longest startup of the engine, including downloads.').default('30m'),
    stallTimeout: duration(
      'How long requests may wait, with no output from any of them, before the engine counts as hung and is restarted. ' +
        'If absent: 10m, or twice limits.requestTimeout (of images imageJobTimeout, of videos videoTimeout) if that is longer.',
    ).optional(),
    routes: z
      .array(z.enum(ENGINE_ROUTES))
      .max(ENGINE_ROUTES.length)
      .optional()
      .describe(
        'Text routes that the engine serves, instead of those of the preset: more for a custom engine, fewer for a model without a chat template.',
      ),
    imagePullPolicy: z
      .enum(['Always', 'IfNotPresent', 'Never'])
      .optional()
      .describe("When the kubelet pulls the engine's image; as Kubernetes decides if absent."),
  })
  .meta({
    description: 'The engine that runs the model.',
    ...cel(
      {
        rule: "self.preset != 'custom' || has(self.image)",
        message: 'engine.image is required with preset custom',
        fieldPath: '.image',
      },
      {
        rule: `!has(self.adapters) || self.preset in [${withAdapters.map((preset) => `'${preset}'`).join(', ')}]`,
        message: 'engine.adapters is allowed with preset vllm only',
        fieldPath: '.adapters',
      },
    ),
  });

export const modelGPU = z
  .object({
    count: z.int().min(0).max(64).default(1).describe('GPUs of each replica.'),
    resourceName: z
      .string()
      .max(253)
      .regex(
        /^[a-z0-9.-]+\/[A-Za-z0-9._-]+$/,
        'must be a resource name such as nvidia.com/gpu or nvidia.com/mig-1g.10gb',
      )
      .default('nvidia.com/gpu')
      .describe('Extended resource by which the GPUs are requested.'),
    deviceClass: objectName(
      'Device class by which the GPUs are claimed instead (dynamic resource allocation, Kubernetes 1.34), such as gpu.nvidia.com.',
    ).optional(),
    deviceSelectors: z
      .array(z.string().min(1).max(10_240))
      .max(32)
      .optional()
      .describe(
        "CEL expressions that each GPU of deviceClass must satisfy, such as device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H100 80GB HBM3'.",
      ),
    memory: z
      .string()
      .regex(/^[1-9][0-9]{0,3}Gi$/, 'must be whole GiB such as 24Gi')
      .optional()
      .describe(
        "Memory of one GPU, such as 80Gi, for the condition Fits and warnings. If absent: that of the MIG slice, or by the nodes' labels nvidia.com/gpu.memory and amd.com/gpu.vram.",
      ),
    runtimeClassName: objectName('Runtime class of the pod, such as nvidia.').optional(),
    sharedMemory: quantity(
      'Size of /dev/shm. If absent 2Gi; with more than one GPU half the memory limit, or 8Gi.',
    ).optional(),
  })
  .meta({
    description:
      'Accelerators of each replica. If absent: what the preset needs (1 for vllm, sglang, tei and the diffusion engines, else 0).',
    ...cel({
      rule: '!has(self.deviceSelectors) || has(self.deviceClass)',
      message: 'gpu.deviceSelectors needs gpu.deviceClass',
      fieldPath: '.deviceSelectors',
    }),
  });

/** Kubernetes accepts `cpu: 2` as well as `cpu: "2"`. */
const resourceMap = z.record(z.string(), z.union([z.string(), z.number()]).transform(String));
export const modelResources = z
  .object({
    requests: resourceMap.optional().describe('Resources that are reserved.'),
    limits: resourceMap.optional().describe('Resources that are not exceeded.'),
  })
  .describe('CPU and memory of the engine container.');

export const modelTemplate = z
  .object({
    labels: stringMap('Further labels of the pods.').optional(),
    annotations: stringMap('Further annotations of the pods.').optional(),
    nodeSelector: stringMap('Labels that a node must have.').optional(),
    tolerations: z.array(passthrough('A toleration.')).max(64).optional(),
    affinity: passthrough('Affinity of the pods.').optional(),
    topologySpreadConstraints: z
      .array(passthrough("A constraint; its labelSelector is the deployment's if absent."))
      .max(16)
      .optional(),
    schedulerName: z
      .string()
      .max(253)
      .optional()
      .describe("Scheduler of the pods; the cluster's default if absent."),
    resourceClaims: z
      .array(
        passthrough(
          'A resource claim of the pod (dynamic resource allocation) for the engine; with gpu.count 0.',
        ),
      )
      .max(16)
      .optional(),
    priorityClassName: z.string().max(253).optional().describe('Priority class of the pods.'),
    serviceAccountName: objectName('Service account of the pods.').optional(),
    imagePullSecrets: z.array(objectName('Name of a pull secret.')).max(16).optional(),
    volumes: z.array(passthrough('A volume of the pod.')).max(64).optional(),
    volumeMounts: z.array(passthrough('A mount of the engine container.')).max(64).optional(),
    podSecurityContext: passthrough('Security context of the pod.').optional(),
    securityContext: passthrough('Security context of the engine container.').optional(),
  })
  .prefault({})
  .describe('Overrides of the pods.');
