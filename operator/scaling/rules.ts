/** The scaling rules of a deployment at a time: from its spec and schedules. */
import { sleepsWhenIdle } from '../../api/engine-traits.ts';
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import type { ModelScaling } from '../../api/model-scaling.ts';
import { parseDuration } from '../../api/quantity.ts';
import type { Calendar } from '../resources/schedules.ts';
import type { ScalingRules } from './scale-question.ts';

/** Default for text, whose concurrency is unlimited unless set. */
const DEFAULT_TARGET = 16;

export function decideTargetLoad({ kind, concurrency, scaling }: ModelDeploymentSpec): number {
  const isMedia = kind === 'Image' || kind === 'Video';
  return scaling?.targetConcurrency ?? concurrency ?? (isMedia ? 1 : DEFAULT_TARGET);
}

/** Schedules raise the minimum a load time early. `now`: Unix milliseconds. */
export function resolveRules(
  spec: ModelDeploymentSpec & { scaling: ModelScaling },
  { calendar, loadTimeMs, now }: { calendar: Calendar; loadTimeMs: number | null; now: number },
): ScalingRules {
  const { scaling } = spec;
  const current = calendar.at(now);
  const soon = calendar.at(now + (loadTimeMs ?? 0));
  const min = Math.max(current?.min ?? scaling.min, soon?.min ?? scaling.min);
  const max = Math.max(current?.max ?? scaling.max, soon?.max ?? scaling.max);
  return {
    min: Math.min(min, max),
    max,
    target: decideTargetLoad(spec),
    stableMs: parseDuration(scaling.stableWindow),
    panicMs: Math.min(parseDuration(scaling.panicWindow), parseDuration(scaling.stableWindow)),
    idleMs: parseDuration(scaling.idleTimeout),
    sleeps: sleepsWhenIdle(spec),
    targetWaitMs: parseDuration(scaling.targetWait),
  };
}
