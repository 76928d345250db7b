/** Composes the autoscaler: sampling of demand, decisions and writes, and history. */
import type { RedisConnection } from '../../redis/client.ts';
import { appendScaling } from '../../redis/demand/scaling-history.ts';
import { DemandSampler, type DemandSamplerOptions } from './demand-sampler.ts';
import { ScalingHistory } from './history.ts';
import { Scaler, type ScalerOptions } from './scaler.ts';

export interface AutoscalerOptions extends Omit<ScalerOptions, 'isRedisAway' | 'models'> {
  models: ScalerOptions['models'] & DemandSamplerOptions['models'];
  redis: RedisConnection;
  /** Between two samples of the demand. */
  intervalMs: number | undefined;
}

export function createAutoscaler(options: AutoscalerOptions): {
  scaler: Scaler;
  demandSampler: DemandSampler;
} {
  const { models, redis, now, log, intervalMs, onWritten } = options;
  const history = new ScalingHistory({ append: (entries) => appendScaling(redis.redis, entries), now });
  const scaler = new Scaler({
    ...options,
    isRedisAway: () => redis.state === 'away',
    onWritten: (key, change) => {
      onWritten?.(key, change);
      history.note(key, change);
    },
  });
  const demandSampler = new DemandSampler({
    scaler,
    history,
    models,
    connection: redis,
    now,
    log,
    intervalMs,
  });
  return { scaler, demandSampler };
}
