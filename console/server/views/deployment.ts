/** A ModelDeployment as the page shows it, without its queue. Pure. */
import type { ModelDeployment } from '../../../api/model-deployment.ts';
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
    replicas: { ready: readyReplicas, wanted: desiredReplicas },
    size: spec.scaling ? { min: spec.scaling.min, max: spec.scaling.max } : { replicas: spec.replicas ?? 1 },
    scaling: describeScaling(deployment),
    startup: describeStartup(status),
    queue: null,
    createdAt: String(metadata.creationTimestamp ?? ''),
    engine: { preset: spec.engine.preset, ...status.engine },
    continuesStreams: spec.resilience.continueStreams,
    prices: describePrices(spec.pricing),
    media: describeMedia(spec),
  };
}

/** What an earlier spec left in the status counts for nothing. */
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

const PRICED: [field: keyof ModelDeployment['spec']['pricing'], of: string][] = [
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
  if (spec.kind === 'Image') {
    const { sizes = ['1024x1024'], tasks = ['txt2img'], steps = null } = spec.image ?? {};
    const media = { sizes, native: null, steps };
    return { ...media, imageInput: tasks.includes('img2img'), textInput: tasks.includes('txt2img') };
  }
  if (spec.kind === 'Video') {
    const { resolutions = ['720x1280'], tasks = ['t2v'], native = null, steps = null } = spec.video ?? {};
    const media = { sizes: resolutions, native, steps };
    return { ...media, imageInput: tasks.includes('i2v'), textInput: tasks.includes('t2v') };
  }
  return null;
}
