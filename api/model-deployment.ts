/** The ModelDeployment resource: one model, served by one endpoint. */
import { z } from 'zod';
import { MODEL_KINDS, PRESETS_BY_KIND } from './engine-presets.ts';
import {
  cel,
  conditions,
  customObject,
  immutableId,
  objectMeta,
  observedGeneration,
  type ResourceDefinition,
} from './kubernetes-types.ts';
import { modelAdapter } from './model-adapter.ts';
import { modelLimits } from './model-limits.ts';
import { imageModel, videoModel } from './model-media.ts';
import { modelEngine, modelGPU, modelResources, modelTemplate } from './model-pod.ts';
import { modelRoute } from './model-route.ts';
import { modelRollout, modelScaling } from './model-scaling.ts';
import { modelSLO } from './model-slo.ts';
import { modelSource } from './model-source.ts';
import { modelStartup } from './model-startup.ts';
import { modelStorage } from './model-storage.ts';
import { modelTraffic } from './model-traffic.ts';
import { amount } from './quantity.ts';

const PRESET_LIST = MODEL_KINDS.map((kind) => `${kind}: ${PRESETS_BY_KIND[kind].join(', ')}`).join('; ');
/** As a CEL map. */
const PRESETS_IN_CEL = JSON.stringify(PRESETS_BY_KIND).replaceAll('"', "'");

const model = z
  .object({
    id: z
      .string()
      .min(1)
      .max(200)
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/,
        'must start with a letter or digit and contain only letters, digits, . _ : / @ -',
      )
      .describe('Value of the `model` parameter.'),
    displayName: z.string().max(200).optional().describe('Human-readable name; the id if absent.'),
    ownedBy: z.string().max(100).default('berth').describe('Owner label in GET /v1/models.'),
    source: modelSource.default({ none: {} }),
  })
  .describe('The model as callers name it, and its weights.');

const pricing = z
  .object({
    perImage: amount('Price of one image.').optional(),
    perVideoSecond: amount('Price of one second of video.').optional(),
    perAudioMinute: amount('Price of one minute of transcribed or translated audio.').optional(),
    perMillionCharacters: amount('Price of a million characters of synthesized speech.').optional(),
    perMillionInputTokens: amount('Price of a million prompt tokens.').optional(),
    perMillionOutputTokens: amount('Price of a million completion tokens.').optional(),
    perMillionCachedInputTokens: amount(
      'Price of a million prompt tokens that the engine had in its cache; perMillionInputTokens if absent.',
    ).optional(),
    batchPercent: z
      .int()
      .min(0)
      .max(100)
      .optional()
      .describe('Percent of these prices that lines of batches cost; 100 if absent.'),
  })
  .prefault({})
  .describe("Charged to the workspace's credit; free if absent.");

/** What belongs to pods. */
const ADAPTERS_LACK = ['engine', 'gpu', 'resources', 'replicas', 'scaling', 'concurrency'] as const;

/** In place of the engine that an adapter does not have: nothing is started with it. */
const NO_ENGINE = modelEngine.parse({ preset: 'custom', image: 'none' });

export const modelDeploymentSpec = z
  .object({
    id: immutableId('Registration id; derived from the name if absent.'),
    kind: z.enum(MODEL_KINDS).describe('Vision-language models are LLM.'),
    model,
    adapterOf: modelAdapter.optional(),
    engine: modelEngine.optional().transform((engine) => engine ?? NO_ENGINE),
    gpu: modelGPU.optional(),
    resources: modelResources.optional(),
    replicas: z.int().min(0).max(1000).optional().describe('Pods; 1 if absent. Not together with scaling.'),
    scaling: modelScaling.optional(),
    concurrency: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe(
        'Requests that a replica handles at the same time. If absent: 1 for Image and Video, unlimited for text.',
      ),
    paused: z.boolean().default(false).describe('Scales to zero; requests get 503.'),
    rollout: modelRollout,
    image: imageModel.optional(),
    video: videoModel.optional(),
    storage: modelStorage,
    route: modelRoute,
    pricing,
    limits: modelLimits,
    resilience: z
      .object({
        continueStreams: z
          .boolean()
          .default(false)
          .describe(
            'A streamed plain chat whose engine dies continues on another replica, or on its own engine once it is back. The engine must know continue_final_message.',
          ),
      })
      .prefault({})
      .describe('Failures that responses survive.'),
    slo: modelSLO.optional(),
    traffic: modelTraffic.optional(),
    template: modelTemplate,
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
      {
        rule: "!has(self.resilience) || !self.resilience.continueStreams || self.kind == 'LLM'",
        message: 'resilience.continueStreams is allowed with kind LLM only',
        fieldPath: '.resilience.continueStreams',
      },
      {
        rule: "!has(self.route) || !has(self.route.balance) || self.route.balance != 'Prefix' || self.kind == 'LLM'",
        message: 'route.balance Prefix is allowed with kind LLM only',
        fieldPath: '.route.balance',
      },
      {
        rule: "!has(self.traffic) || !has(self.adapterOf) && !(self.kind in ['Image', 'Video', 'Embedding'])",
        message:
          'traffic is not allowed for an adapter, nor with kind Image or Video, whose requests are queued, nor with kind Embedding, whose versions have different vectors',
        fieldPath: '.traffic',
      },
      { rule: 'has(self.id) == has(oldSelf.id)', message: 'id is immutable', fieldPath: '.id' },
      {
        rule: 'has(self.adapterOf) == has(oldSelf.adapterOf)',
        message: 'adapterOf is immutable',
        fieldPath: '.adapterOf',
      },
      {
        rule: 'has(self.engine) || has(self.adapterOf)',
        message: 'engine is required, except for an adapter',
        fieldPath: '.engine',
      },
      {
        rule: `!has(self.adapterOf) || !(${ADAPTERS_LACK.map((field) => `has(self.${field})`).join(' || ')})`,
        message: `an adapter is served by the pods of its base: ${ADAPTERS_LACK.join(', ')} are not allowed with adapterOf`,
        fieldPath: '.adapterOf',
      },
      {
        rule: "!has(self.adapterOf) || self.kind == 'LLM'",
        message: 'adapterOf is allowed with kind LLM only',
        fieldPath: '.adapterOf',
      },
      {
        rule: '!has(self.adapterOf) || (has(self.model.source) && (has(self.model.source.s3) || has(self.model.source.huggingFace) && !has(self.model.source.huggingFace.cache)) && !has(self.model.source.cache))',
        message:
          'an adapter needs huggingFace or s3, without a cache: it is kept in the claim of engine.adapters of its base',
        fieldPath: '.model.source',
      },
      {
        rule: `!has(self.engine) || self.engine.preset in ${PRESETS_IN_CEL}[self.kind]`,
        message: `engine.preset must serve the kind; ${PRESET_LIST}`,
        messageExpression: `'engine.preset ' + self.engine.preset + ' does not serve kind ' + self.kind + '; ${PRESET_LIST}'`,
        fieldPath: '.engine.preset',
      },
    ),
  });
export type ModelDeploymentSpec = z.infer<typeof modelDeploymentSpec>;

export const modelDeploymentStatus = z.object({
  observedGeneration,
  phase: z.string().optional().describe('One word for kubectl get: Ready, Starting, Paused, Failed …'),
  replicas: z.int().optional().describe('Pods that exist.'),
  readyReplicas: z.int().optional().describe('Pods that are ready.'),
  updatedReplicas: z.int().optional().describe('Pods of the current spec.'),
  desiredReplicas: z.int().optional().describe('Pods that the spec or the autoscaler asks for.'),
  selector: z.string().optional().describe('Label selector of the pods, for kubectl scale and autoscalers.'),
  url: z.string().optional().describe('Base URL of the endpoint; ends in /v1.'),
  registrationId: z.int().optional().describe('Registration id in use: spec.id, or the derived one.'),
  sidecarVersion: z.string().optional().describe('Version of Berth whose sidecar the pods run.'),
  engine: z
    .object({
      family: z.string().optional().describe('Family of the language model; absent where it is unknown.'),
      toolCallParser: z.string().optional().describe('How the engine reads tool calls.'),
      reasoningParser: z.string().optional().describe('How the engine separates reasoning from the answer.'),
      chatTemplate: z
        .string()
        .optional()
        .describe("File of the chat template; absent where it is the model's own."),
      message: z.string().optional().describe('What the engine cannot do as it was started.'),
    })
    .optional()
    .describe('What the engine was started with.'),
  scaling: z
    .object({
      demand: z
        .number()
        .describe('Requests under way, waiting and held, on average; renewed each minute at most.'),
      wanted: z.int().describe('Replicas that the autoscaler currently requests.'),
      needed: z
        .int()
        .describe('Replicas that the demand requires; more than wanted if the cluster lacks capacity.'),
      reason: z.string().describe('Why that many.'),
      short: z.boolean().optional().describe('The cluster lacks capacity for all that are needed.'),
      asleep: z
        .boolean()
        .optional()
        .describe('The engine of its only replica is asleep: the next request wakes it.'),
      abandoned: z
        .int()
        .optional()
        .describe('Requests that timed out but still occupy the engines: their GPUs are busy.'),
      loadTime: z
        .string()
        .optional()
        .describe('Measured time from the scheduling of a pod to its readiness; absent before the first.'),
      lastChange: z
        .object({
          at: z.string().describe('When it changed.'),
          from: z.int().describe('Replicas before.'),
          to: z.int().describe('Replicas after.'),
          reason: z.string().describe('Why it changed.'),
        })
        .optional()
        .describe('When the number of replicas wanted last changed.'),
    })
    .optional()
    .describe('What the autoscaler sees and does; absent without spec.scaling.'),
  startup: modelStartup.optional(),
  adapter: z
    .object({
      claimName: z.string().describe('The claim.'),
      entry: z.string().describe('Its folder there.'),
    })
    .optional()
    .describe('What was downloaded last of a LoRA adapter: its base serves that.'),
  conditions,
});
export type ModelDeploymentStatus = z.infer<typeof modelDeploymentStatus>;

/** Children have its name, including a Service, and the host starts with it: one DNS label. */
const NAME = '^[a-z]([-a-z0-9]*[a-z0-9])?$';
const MAX_NAME = 45;
const NAME_RULE = `must be one DNS label of at most ${MAX_NAME} characters: lowercase letters, digits and -, beginning with a letter and ending with a letter or digit`;

/** A ModelDeployment with all defaults filled in. */
export const modelDeployment = customObject(
  'ModelDeployment',
  modelDeploymentSpec,
  modelDeploymentStatus,
).extend({
  metadata: objectMeta.extend({
    name: z.string().max(MAX_NAME, NAME_RULE).regex(new RegExp(NAME), NAME_RULE),
  }),
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
    {
      // Only new objects: status and finalizers of those that predate the rule must stay writable. `.?` selects from an
      // optional and from an object alike: Kubernetes 1.29 ignores optionalOldSelf, and oldSelf is the object itself there.
      // Comparing oldSelf as a whole would exceed the cost that Kubernetes 1.32 and earlier allow a rule.
      optionalOldSelf: true,
      rule: `oldSelf.?metadata.?name.hasValue() || self.metadata.name.size() <= ${MAX_NAME} && self.metadata.name.matches('${NAME}')`,
      message: `metadata.name ${NAME_RULE}`,
      messageExpression: `'metadata.name ' + self.metadata.name + ' ${NAME_RULE}' + (self.metadata.name.contains('.') ? '; write ' + self.metadata.name.replace('.', '-') : '')`,
    },
  ],
  columns: [
    { name: 'Model', type: 'string', jsonPath: '.spec.model.id' },
    { name: 'Kind', type: 'string', jsonPath: '.spec.kind' },
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Wanted', type: 'integer', jsonPath: '.status.desiredReplicas' },
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
