/** What in a spec cannot work, without reading the cluster. */

import type { ModelDeployment, ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { PORTS } from '../../api/names.ts';
import { parseDuration } from '../../api/quantity.ts';
import { refuseKVCache } from '../engines/kv-cache.ts';
import { PRESETS } from '../engines/presets.ts';
import type { Problem } from '../status/problem.ts';
import { decideAccelerators, isSlice } from './accelerators.ts';
import { maxReplicas } from './deployment.ts';
import { engineInput } from './engine-container.ts';
import { engineImage } from './images.ts';
import { findMediaProblems } from './media-problems.ts';
import { findPodFieldProblems } from './pod-fields.ts';
import {
  findAnnotationProblem,
  findCertificateProblem,
  findGatewayProblem,
  findHostProblem,
} from './route.ts';
import { findScheduleError } from './schedules.ts';
import type { BuildSettings } from './settings.ts';
import { buildWeights } from './weights.ts';

export function findSpecProblems(model: ModelDeployment, settings: BuildSettings): Problem[] {
  return [
    ...findPodFieldProblems(model, settings),
    ...findPortProblem(model),
    ...findAcceleratorProblems(model, settings),
    ...findSourceProblems(model, settings),
    ...findCacheProblem(model, settings),
    ...findClaimProblem(model),
    ...findDrainProblem(model),
    ...findScheduleProblems(model),
    ...findMediaProblems(model),
    ...(model.spec.route.enabled ? findRouteProblems(model, settings) : []),
  ];
}

export const findRouteProblems = (model: ModelDeployment, settings: BuildSettings): Problem[] => [
  ...findHostProblem(model, settings),
  ...findAnnotationProblem(model, settings),
  ...findCertificateProblem(model, settings),
  ...findGatewayProblem(model, settings),
];

/** Containers of a pod share its ports. */
function findPortProblem({ spec }: ModelDeployment): Problem[] {
  const taken: number[] = Object.values(PORTS);
  if (!taken.includes(spec.engine.port)) return [];
  const message = `spec.engine.port ${spec.engine.port} is reserved for the gateway (${taken.join(', ')}): use another, such as the default 8000`;
  return [{ reason: 'PortTaken', message }];
}

const NO_SIMULATOR: Problem = {
  reason: 'ImageMissing',
  message:
    'spec.engine.preset simulator: this installation has no image of it: build images/simulator.Dockerfile, push it, and set engines.simulator.repository of the chart, or spec.engine.image',
};

/** What the engine's image cannot run on, or one process cannot use. */
function findAcceleratorProblems({ spec }: ModelDeployment, settings: BuildSettings): Problem[] {
  const { preset } = spec.engine;
  const { count, resourceName } = decideAccelerators(spec);
  const problems: Problem[] = [];
  if (engineImage(spec, settings) === undefined)
    problems.push(
      preset === 'simulator'
        ? NO_SIMULATOR
        : {
            reason: 'AcceleratorNotSupported',
            message: `spec.gpu.${spec.gpu?.deviceClass ? `deviceClass ${spec.gpu.deviceClass}` : `resourceName ${resourceName}`}: engine.preset ${preset} has no image for these accelerators: set spec.engine.image${listVendors(spec)}`,
          },
    );
  const isOwn = preset === 'custom' || preset === 'simulator';
  if (isSlice(resourceName) && count > 1 && !isOwn)
    problems.push({
      reason: 'SlicesNotJoined',
      message: `spec.gpu.count ${count} of ${resourceName}: a model cannot be split across MIG slices: use one larger slice, or more replicas`,
    });
  return problems;
}

/** Empty if no image of the preset supports accelerators. */
function listVendors({ engine, kind }: ModelDeploymentSpec): string {
  const { image } = PRESETS[engine.preset];
  const known = [image('nvidia', kind) && 'nvidia.com', image('amd', kind) && 'amd.com'].filter(Boolean);
  return known.length > 0 ? `, or use ${known.join(' or ')} ones` : '';
}

function findSourceProblems(model: ModelDeployment, settings: BuildSettings): Problem[] {
  const { engine, model: served } = model.spec;
  const preset = PRESETS[engine.preset];
  const weights = buildWeights(model, settings);
  const hasOwnCommand = engine.command !== undefined || engine.args.length > 0;
  if (preset.needsModel && weights.location.kind === 'none' && !hasOwnCommand)
    return [{ reason: 'SourceMissing', message: `engine.preset ${engine.preset} needs a spec.model.source` }];
  if (served.source.image?.mode === 'Copy' && served.source.image.path === '')
    return [
      {
        reason: 'SourceIncomplete',
        message: 'spec.model.source.image.path is required with mode Copy: the folder or file to copy',
      },
    ];
  const withoutIdentity = findIdentityProblem(model);
  if (withoutIdentity.length > 0) return withoutIdentity;
  const refusal = preset.refuse?.(engineInput(model, { weights, settings }));
  return refusal === undefined ? [] : [{ reason: 'SourceNotSupported', message: refusal }];
}

function findCacheProblem(model: ModelDeployment, settings: BuildSettings): Problem[] {
  const refusal = refuseKVCache(engineInput(model, { weights: buildWeights(model, settings), settings }));
  return refusal === undefined ? [] : [{ reason: 'KVCacheNotSupported', message: refusal }];
}

export function findIdentityProblem({ spec }: ModelDeployment): Problem[] {
  if (!spec.model.source.s3?.workloadIdentity || spec.template.serviceAccountName) return [];
  const message =
    'spec.model.source.s3.workloadIdentity needs spec.template.serviceAccountName: the service account that has the identity';
  return [{ reason: 'SourceIncomplete', message }];
}

/** Longest wait for a terminating pod: what is still running by then will never end. */
const MAX_DRAIN_MS = 24 * 3_600_000;

function findDrainProblem({ spec }: ModelDeployment): Problem[] {
  const { drainTimeout } = spec.rollout;
  if (drainTimeout === undefined || parseDuration(drainTimeout) <= MAX_DRAIN_MS) return [];
  const message = `spec.rollout.drainTimeout ${drainTimeout} is too long: at most 24h, since draining a node waits for the pod that long`;
  return [{ reason: 'DrainTimeoutTooLong', message }];
}

function findScheduleProblems({ spec }: ModelDeployment): Problem[] {
  return (spec.scaling?.schedules ?? []).flatMap((schedule, index) => {
    const error = findScheduleError(schedule);
    if (error === undefined) return [];
    const message = `spec.scaling.schedules[${index}] ${schedule.cron} in ${schedule.timezone}: ${error}`;
    return [{ reason: 'ScheduleInvalid', message }];
  });
}

/** A claim created by the operator is mounted by every replica. */
function findClaimProblem({ spec }: ModelDeployment): Problem[] {
  const cache = spec.model.source.huggingFace?.cache;
  const most = maxReplicas(spec);
  const sharesNode = spec.template.nodeSelector?.['kubernetes.io/hostname'] !== undefined;
  if (!cache?.size || cache.accessMode === 'ReadWriteMany' || most <= 1 || sharesNode) return [];
  const message =
    'spec.model.source.huggingFace.cache.accessMode: ReadWriteOnce can be mounted on one node only: use ReadWriteMany or one replica';
  return [{ reason: 'ClaimNotShared', message }];
}
