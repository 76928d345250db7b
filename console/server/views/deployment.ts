/** A ModelDeployment as the page shows it, without its queue. Pure. */
import { listExtras } from '../../../api/media-parameters.ts';
import type { ModelDeployment } from '../../../api/model-deployment.ts';
import { imageModel, videoModel } from '../../../api/model-media.ts';
import { findSourceOfTruth } from '../../../api/source-of-truth.ts';
import type { DeploymentView } from '../../api.ts';
import { describeState } from './deployment-state.ts';

export function describeDeployment(deployment: ModelDeployment): DeploymentView {
  const { metadata, spec, status } = deployment;
  const { readyReplicas = 0, desiredReplicas = spec.replicas ?? 1 } = status;
  return {
    name: metadata.name,
    kind: spec.kind,
    modelId: spec.model.id,
    registrationId: status.registrationId ?? null,
    baseURL: status.url ? toBaseURL(status.url) : null,
    ...describeState(deployment),
    conditions: status.conditions,
    isPaused: spec.paused,
    source: findSourceOfTruth(metadata),
    replicas: { ready: readyReplicas, wanted: desiredReplicas },
    size: spec.scaling ? { min: spec.scaling.min, max: spec.scaling.max } : { replicas: spec.replicas ?? 1 },
    scaling: describeScaling(deployment),
    startup: describeStartup(status),
    queue: null,
    createdAt: String(metadata.creationTimestamp ?? ''),
    adapterOf: spec.adapterOf?.deployment ?? null,
    engine: { preset: spec.engine.preset, ...status.engine },
    continuesStreams: spec.resilience.continueStreams,
    prices: describePrices(spec.pricing),
    media: describeMedia(spec),
  };
}

/** Status of an earlier spec is ignored. */
function describeScaling({ spec, status }: ModelDeployment): DeploymentView['scaling'] {
  if (!spec.scaling || !status.scaling) return null;
  const {
    demand,
    needed,
    short: isShort = false,
    reason,
    loadTime = null,
    lastChange = null,
  } = status.scaling;
  return { demand, needed, isShort, reason, loadTime, lastChange };
}

function describeStartup({ startup }: ModelDeployment['status']): DeploymentView['startup'] {
  if (!startup) return null;
  const { current = null, took = null, expected = null } = startup;
  return { stages: startup.stages.map(({ stage, took }) => ({ stage, took })), current, took, expected };
}

const PRICED: [field: Exclude<keyof ModelDeployment['spec']['pricing'], 'batchPercent'>, of: string][] = [
  ['perImage', 'image'],
  ['perVideoSecond', 'second of video'],
  ['perMillionInputTokens', 'million input tokens'],
  ['perMillionCachedInputTokens', 'million cached input tokens'],
  ['perMillionOutputTokens', 'million output tokens'],
  ['perAudioMinute', 'minute of audio'],
  ['perMillionCharacters', 'million characters'],
];

const describePrices = (pricing: ModelDeployment['spec']['pricing']): DeploymentView['prices'] =>
  PRICED.flatMap(([field, of]) => (pricing[field] === undefined ? [] : [{ of, amount: pricing[field] }]));

/** Text models have no queue. */
export const isQueued = (kind: DeploymentView['kind']): boolean => kind === 'Image' || kind === 'Video';

/** The base URL for SDKs, from `status.url`. */
export const toBaseURL = (url: string): string => `${url.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;

function describeMedia(spec: ModelDeployment['spec']): DeploymentView['media'] {
  const enginePreset = spec.engine.preset;
  if (spec.kind === 'Image') {
    const image = spec.image ?? imageModel.parse({});
    const { sizes, tasks, steps = null } = image;
    return {
      sizes,
      imageInput: tasks.includes('img2img'),
      textInput: tasks.includes('txt2img'),
      native: null,
      steps,
      parameters: listExtras({ image, video: null, enginePreset }, tasks[0]!),
    };
  }
  if (spec.kind === 'Video') {
    const video = spec.video ?? videoModel.parse({});
    const { resolutions, tasks, native = null, steps = null } = video;
    return {
      sizes: resolutions,
      imageInput: tasks.includes('i2v'),
      textInput: tasks.includes('t2v'),
      native,
      steps,
      parameters: listExtras({ image: null, video, enginePreset }, tasks[0]!),
    };
  }
  return null;
}
