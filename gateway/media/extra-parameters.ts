/** Rejects parameters that an engine would refuse, before the request is queued or charged. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { type Bounds, findMediaEngine } from '../../api/media-engines.ts';
import type { ExtraParameters } from '../engine/job.ts';
import { classifyNumber, refuseParameter } from '../http/parameter-error.ts';

const UNPROCESSABLE = 422;

type Facts = Pick<GatewayConfig, 'modelId' | 'enginePreset' | 'image' | 'video'>;

/** Throws ApiError: 422 for what this engine does not support, 400 for members of `extra_params` that the deployment does not list (decision 0158). */
export function checkExtraParameters(parameters: ExtraParameters, facts: Facts): void {
  const { name, ...engine } = findMediaEngine(facts.enginePreset);
  const check = (param: string, value: number | undefined, { min, max }: Bounds) => {
    if (value === undefined || (value >= min && value <= max)) return;
    const allowed = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `at least ${min}`;
    const type = param === 'seed' ? 'integer' : 'number';
    throw refuseParameter(
      classifyNumber(value, { type, minimum: min, maximum: max }),
      param,
      `\`${param}\` must be ${allowed} for ${name}, not ${value}.`,
      { status: UNPROCESSABLE },
    );
  };
  check('seed', parameters.seed, engine.seed);
  check('guidance_scale', parameters.guidanceScale, engine.guidanceScale);
  check('true_cfg_scale', parameters.trueCfgScale, engine.trueCfgScale);
  check('flow_shift', parameters.flowShift, engine.flowShift);
  checkNames(parameters.extraParams, facts);
}

function checkNames(extraParams: ExtraParameters['extraParams'], { modelId, image, video }: Facts): void {
  const listed = (image ?? video)?.extraParams ?? [];
  const unknown = Object.keys(extraParams ?? {}).find((name) => !listed.includes(name));
  if (unknown === undefined) return;
  throw refuseParameter(
    'unknown_parameter',
    'extra_params',
    `\`extra_params.${unknown.slice(0, 64)}\` is not supported by ${modelId}: its members may be ${listed.join(', ')}.`,
  );
}
