/** The log of webhook deliveries. */
import type Router from '@koa/router';
import { z } from 'zod';
import { readDeliveryLog } from '../../../redis/delivery-log.ts';
import { check } from '../bodies.ts';
import type { Services } from '../services.ts';
import { type ConsoleState, sessionOf } from '../state.ts';
import { describeDelivery } from '../webhook-view.ts';

const query = z.object({
  endpoint: z.string().optional(),
  request: z.string().optional(),
  state: z.enum(['', 'pending', 'delivered', 'failed']).optional(),
});
/** In place of an endpoint's name: the requests' own callbacks. */
const INLINE = '-';

export function addDeliveryRoutes(router: Router<ConsoleState>, { access, redis }: Services): void {
  router.get('/deliveries', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const { endpoint, request, state } = check(ctx.query, query);
    await access.require(sessionOf(ctx), namespace, 'readDeliveries');
    const deliveries = await readDeliveryLog(redis, namespace);
    ctx.body = deliveries
      .filter((record) => !endpoint || record.endpoint === (endpoint === INLINE ? '' : endpoint))
      .filter((record) => !request || record.requestId === request)
      .filter((record) => !state || record.state === state)
      .map(describeDelivery);
  });
}
