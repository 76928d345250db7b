/** What a spec asks for that cannot work, seen without a look at the cluster. */
import type { ModelDeployment } from '../../contract/model-deployment.ts';
import { PORTS } from '../../contract/names.ts';
import { PRESETS } from '../engines/presets.ts';
import type { OperatorSettings } from '../settings.ts';
import type { Problem } from '../status/problem.ts';
import { engineInput } from './engine-container.ts';
import { findHostProblem } from './route-host.ts';
import { findAnnotationProblem } from './route-target.ts';
import { buildWeights } from './weights.ts';

export function findSpecProblems(model: ModelDeployment, settings: OperatorSettings): Problem[] {
  return [
    ...findPortProblem(model),
    ...findSourceProblems(model, settings),
    ...findClaimProblem(model),
    ...(model.spec.route.enabled
      ? [...findHostProblem(model, settings), ...findAnnotationProblem(model, settings)]
      : []),
  ];
}

/** Containers of a pod share its ports. */
function findPortProblem({ spec }: ModelDeployment): Problem[] {
  const taken: number[] = Object.values(PORTS);
  if (!taken.includes(spec.engine.port)) return [];
  const message = `spec.engine.port ${spec.engine.port} is the gateway's, as are ${taken.join(', ')}; the default is 8000`;
  return [{ reason: 'PortTaken', message }];
}

function findSourceProblems(model: ModelDeployment, settings: OperatorSettings): Problem[] {
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
  const refusal = preset.refuse?.(engineInput(model, weights));
  return refusal === undefined ? [] : [{ reason: 'SourceNotSupported', message: refusal }];
}

/** A claim that the operator makes is mounted by every replica. */
function findClaimProblem({ spec }: ModelDeployment): Problem[] {
  const cache = spec.model.source.huggingFace?.cache;
  const most = spec.scaling ? spec.scaling.max : (spec.replicas ?? 1);
  const sharesNode = spec.template.nodeSelector?.['kubernetes.io/hostname'] !== undefined;
  if (!cache?.size || cache.accessMode === 'ReadWriteMany' || most <= 1 || sharesNode) return [];
  const message =
    'spec.model.source.huggingFace.cache.accessMode: ReadWriteOnce is mounted on one node only; use ReadWriteMany or one replica';
  return [{ reason: 'ClaimNotShared', message }];
}
