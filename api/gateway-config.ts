/**
 * The configuration of a gateway for one deployment. One pure function creates it, in the cluster and in `make run`,
 * so the two cannot drift. Everything in it can change live; nothing of it is part of the pod template.
 */
import { z } from 'zod';
import { parseAmount } from './amount.ts';
import { MODEL_KINDS } from './engine-presets.ts';
import { enginePriorityOf } from './engine-priority.ts';
import { listEngineRoutes } from './engine-routes.ts';
import { ENGINE_PRIORITIES, ENGINE_TRAITS, servedModelName, sleepsWhenIdle } from './engine-traits.ts';
import { deriveId } from './identity.ts';
import type { ModelDeployment } from './model-deployment.ts';
import { type ResolvedLimits, resolveLimits } from './model-limits.ts';
import { imageModel, videoModel } from './model-media.ts';
import { decideBalance, ROUTE_BALANCES } from './model-route.ts';
import type { ModelSLO } from './model-slo.ts';
import { RESULT_LINKS } from './model-storage.ts';
import { parseDuration } from './quantity.ts';

const limits = z.record(z.string(), z.number()) as unknown as z.ZodType<ResolvedLimits>;

const deploymentConfig = z.object({
  v: z.literal(1),
  namespace: z.string(),
  name: z.string(),
  registrationId: z.int(),
  modelId: z.string(),
  /** The engine's own model name, used in its requests. */
  servedModelName: z.string(),
  displayName: z.string(),
  ownedBy: z.string(),
  /** Unix seconds. */
  created: z.int(),
  kind: z.enum(MODEL_KINDS),
  /** Slots of a replica; null = unlimited. */
  concurrency: z.int().nullable(),
  paused: z.boolean(),
  /** Desired pods; absent while `scaling` decides. */
  replicas: z.int().optional(),
  /** Absent: `replicas` are. */
  scaling: z
    .object({
      coldStart: z.enum(['Reject', 'Hold']),
      /** The longest hold. */
      holdForMs: z.number(),
      /** From the creation of a pod to its readiness, as last measured; null before the first. */
      loadTimeMs: z.number().nullable(),
    })
    .optional(),
  /** Names of cordoned pods: they stay ready, but leave new work to their peers. */
  cordoned: z.array(z.string()).default([]),
  /** Names of pods whose engines should sleep until a request arrives; absent: they cannot. */
  sleeping: z.array(z.string()).optional(),
  /** What keeps all replicas from becoming ready, as a phase of the status or its reason; absent: nothing known. */
  obstacle: z.enum(['Invalid', 'Failed', 'Unhealthy', 'WaitingForQuota']).optional(),
  /** True while the object has a deletion timestamp: new work gets 503. */
  deleting: z.boolean(),
  enginePreset: z.string(),
  /** Text routes that the engine serves. */
  routes: z.array(z.string()),
  /** Which numbers of a request's `priority` the engine serves first; absent: no priorities. */
  enginePriority: z.enum(ENGINE_PRIORITIES).optional(),
  /** Absent: the gateway's own rule. */
  engineStalledMs: z.number().optional(),
  /** How a request is routed to a replica; absent: where it arrived while there is a slot, else the least loaded one. */
  balance: z.enum(ROUTE_BALANCES).optional(),
  /** Whether streams broken by their engine continue elsewhere; absent = no. */
  continueStreams: z.boolean().optional(),
  /** Objectives to measure; absent: none. */
  slo: z
    .object({
      /** Share of requests. */
      availability: z.number().optional(),
      timeToFirstToken: z.object({ withinMs: z.number() }).optional(),
    })
    .optional(),
  /** Versions that answer a share of the conversations; absent: none. */
  traffic: z
    .array(
      z.object({
        deployment: z.string(),
        /** Percent. */
        weight: z.number(),
        /** It cannot answer: its share stays here, and those of the others are the same. */
        excluded: z.literal(true).optional(),
      }),
    )
    .optional(),
  /** Deployments whose traffic names this one: their gateways may use its engine; absent: none. */
  trafficFrom: z.array(z.string()).optional(),
  limits,
  /** What a repeated idempotency key with other fields gets; absent: the original request. */
  idempotency: z.literal('Strict').optional(),
  /** What a request with parameters gets that the engine ignores; absent: the answer without them. */
  unsupported: z.literal('Reject').optional(),
  image: imageModel.nullable(),
  video: videoModel.nullable(),
  /** Millionths; null = free. */
  pricing: z.object({
    perImage: z.int().nullable(),
    perVideoSecond: z.int().nullable(),
    /** Absent: of an older operator. */
    perAudioMinute: z.int().nullable().optional(),
    perMillionCharacters: z.int().nullable().optional(),
    perMillionInputTokens: z.int().nullable(),
    perMillionOutputTokens: z.int().nullable(),
    /** Absent or null: the same as other input tokens. */
    perMillionCachedInputTokens: z.int().nullish(),
    /** Percent of the other prices that lines of batches cost; absent: 100. */
    batchPercent: z.int().optional(),
  }),
  storageCredential: z.string().nullable(),
  /** Where links to results lead; absent: here where managed storage is not public. */
  links: z.enum(RESULT_LINKS).optional(),
  /** Base URL for clients, which ends in `/v1`; absent: unknown. */
  baseURL: z.string().optional(),
  /** Origins whose pages may call the endpoint; absent = none, `*` = any. */
  corsOrigins: z.array(z.string()).optional(),
  /** Base URL of the published documentation, to which errors link; absent = none. */
  documentationURL: z.string().optional(),
  /** Absent: it has pods of its own. */
  adapter: z
    .object({
      /** The deployment whose pods serve it. */
      base: z.string(),
      /** Where their gateways serve it. */
      port: z.int(),
      /** Where their engines find it. */
      path: z.string(),
    })
    .optional(),
});

export const gatewayConfig = deploymentConfig.extend({
  /** LoRA adapters that the deployment's pods serve as well; absent: none. */
  adapters: z.array(deploymentConfig).optional(),
});
export type GatewayConfig = z.infer<typeof gatewayConfig>;

const price = (text: string | undefined): number | null => (text === undefined ? null : parseAmount(text));

/** What the installation adds to a deployment's own settings. */
export interface InstallationSettings {
  baseURL?: string | undefined;
  documentationURL?: string | undefined;
}

/** What the autoscaler reports to the gateways. */
export interface LiveScaling {
  /** null before the first measurement. */
  loadTimeMs: number | null;
  /** Names of pods; so below. */
  cordoned: string[];
  sleeping: string[];
}

/** vLLM cannot continue a message of gpt-oss, which it does not render with a chat template. */
const speaksHarmony = ({ engine, model: { id, source } }: ModelDeployment['spec']): boolean =>
  !ENGINE_TRAITS[engine.preset].continuesHarmony &&
  (engine.family === undefined ? /gpt-oss/i.test(JSON.stringify([id, source])) : engine.family === 'gpt-oss');

/** The configuration of a deployment's gateways. */
export function buildGatewayConfig(
  deployment: ModelDeployment,
  { baseURL, documentationURL }: InstallationSettings = {},
  { loadTimeMs, cordoned, sleeping }: LiveScaling = { loadTimeMs: null, cordoned: [], sleeping: [] },
): GatewayConfig {
  const { metadata, spec } = deployment;
  const isQueued = spec.kind === 'Image' || spec.kind === 'Video';
  const enginePriority = enginePriorityOf(spec);
  return {
    v: 1,
    namespace: metadata.namespace,
    name: metadata.name,
    registrationId: spec.id ?? deriveId('ModelDeployment', metadata.namespace, metadata.name),
    modelId: spec.model.id,
    servedModelName: servedModelName(spec),
    displayName: spec.model.displayName ?? spec.model.id,
    ownedBy: spec.model.ownedBy,
    created: toUnixSeconds(metadata.creationTimestamp),
    kind: spec.kind,
    concurrency: spec.concurrency ?? (isQueued ? 1 : null),
    paused: spec.paused,
    ...(spec.scaling === undefined
      ? { replicas: spec.replicas ?? 1 }
      : { scaling: { ...describeColdStart(spec.scaling.coldStart), loadTimeMs } }),
    cordoned,
    ...(sleepsWhenIdle(spec) && { sleeping }),
    deleting: metadata.deletionTimestamp !== undefined,
    enginePreset: spec.engine.preset,
    routes: [...(spec.engine.routes ?? listEngineRoutes(spec.engine.preset, spec.kind))],
    ...(enginePriority && { enginePriority }),
    ...(spec.engine.stallTimeout !== undefined && {
      engineStalledMs: parseDuration(spec.engine.stallTimeout),
    }),
    ...(spec.resilience.continueStreams && !speaksHarmony(spec) && { continueStreams: true }),
    ...(spec.slo && { slo: describeSLO(spec.slo) }),
    ...(decideBalance(spec) === 'Prefix' && { balance: 'Prefix' as const }),
    limits: resolveLimits(spec.limits, spec.kind),
    ...(spec.limits.idempotency === 'Strict' && { idempotency: 'Strict' as const }),
    ...(spec.limits.unsupported === 'Reject' && { unsupported: 'Reject' as const }),
    image: spec.kind === 'Image' ? imageModel.parse(spec.image ?? {}) : null,
    video: spec.kind === 'Video' ? videoModel.parse(spec.video ?? {}) : null,
    pricing: {
      perImage: price(spec.pricing.perImage),
      perVideoSecond: price(spec.pricing.perVideoSecond),
      perAudioMinute: price(spec.pricing.perAudioMinute),
      perMillionCharacters: price(spec.pricing.perMillionCharacters),
      perMillionInputTokens: price(spec.pricing.perMillionInputTokens),
      perMillionOutputTokens: price(spec.pricing.perMillionOutputTokens),
      perMillionCachedInputTokens: price(spec.pricing.perMillionCachedInputTokens),
      ...(spec.pricing.batchPercent !== undefined && { batchPercent: spec.pricing.batchPercent }),
    },
    storageCredential: spec.storage.credential ?? null,
    ...(spec.storage.links && { links: spec.storage.links }),
    ...(baseURL && { baseURL }),
    ...(spec.route.cors && { corsOrigins: spec.route.cors.origins }),
    ...(documentationURL && { documentationURL }),
  };
}

const describeColdStart = ({ mode, holdFor }: { mode: 'Reject' | 'Hold'; holdFor: string }) => ({
  coldStart: mode,
  holdForMs: parseDuration(holdFor),
});

const describeSLO = ({ availability, timeToFirstToken }: ModelSLO) => ({
  ...(availability !== undefined && { availability: availability / 100 }),
  ...(timeToFirstToken && { timeToFirstToken: { withinMs: parseDuration(timeToFirstToken.within) } }),
});

const toUnixSeconds = (time: string | Date | undefined): number =>
  time === undefined ? 0 : Math.floor(new Date(time).getTime() / 1000);
