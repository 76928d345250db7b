/** A deployment's load, and its scaling history. */
import { z } from 'zod';
import { modelDeployment, modelDeploymentResource } from '../../../api/model-deployment.ts';
import { readLoad } from '../../../redis/console/console-reads.ts';
import { readScaling, type ScalingPoint } from '../../../redis/demand/scaling-history.ts';
import { SCALING_RANGES, type ScalingRange } from '../../api.ts';
import { routes } from '../../routes.ts';
import { check } from '../http/bodies.ts';
import { describeDeployment } from '../views/deployment.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const { plural } = modelDeploymentResource;

const HOUR_MS = 3_600_000;
const RANGES_MS: Record<ScalingRange, number> = { '1h': HOUR_MS, '6h': 6 * HOUR_MS, '24h': 24 * HOUR_MS };
const query = z.object({ range: z.enum(SCALING_RANGES).default('1h') });

export function addScalingRoutes(serve: ServeRoute, { kubernetes, access, redis }: Services): void {
  serve(routes.readLoad, async ({ session, namespace, name }) => {
    await access.require(session, namespace, 'readUsage');
    const object = await kubernetes.get(session.token, { plural, namespace }, name);
    const { replicas } = describeDeployment(modelDeployment.parse(object));
    return readLoad(redis, { namespace, deployment: name, replicas: replicas.wanted });
  });

  serve(routes.readScaling, async ({ ctx, session, namespace, name }) => {
    const { range } = check(ctx.query, query);
    await access.require(session, namespace, 'readUsage');
    const object = await kubernetes.get(session.token, { plural, namespace }, name);
    const { createdAt, scaling, replicas } = describeDeployment(modelDeployment.parse(object));
    const to = Date.now();
    const from = to - RANGES_MS[range];
    const known = await readScaling(redis, { namespace, name, since: from });
    // An earlier one may have had the same name.
    const points = known.filter(({ at }) => at >= (Date.parse(createdAt) || 0));
    const demand = points.at(-1)?.demand ?? scaling?.demand ?? 0;
    const current = { at: to, demand, wanted: replicas.wanted, ready: replicas.ready };
    return {
      from: formatTime(from),
      to: formatTime(to),
      points: [...points.filter(({ at }) => at < to), current].map(
        ({ at, demand, wanted, ready }: ScalingPoint) => ({ at: formatTime(at), demand, wanted, ready }),
      ),
      changes: points
        .flatMap(({ at, wanted, change }) => (change ? [{ at: formatTime(at), to: wanted, ...change }] : []))
        .reverse(),
    };
  });
}

const formatTime = (at: number): string => new Date(at).toISOString();
