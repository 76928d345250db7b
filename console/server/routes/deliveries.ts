/** The log of webhook deliveries, and resending. */
import { z } from 'zod';
import {
  DELIVERY_PAGE,
  type DeliveryRecord,
  readDelivery,
  readDeliveryDetail,
  readDeliveryLog,
} from '../../../redis/deliveries/delivery-log.ts';
import { type Resend, type ResendAnswer, resendDeliveries } from '../../../redis/deliveries/resend.ts';
import { routes } from '../../routes.ts';
import { check } from '../http/bodies.ts';
import { ConsoleError } from '../http/error.ts';
import { readTimeSpan, type TimeSpan, timeFilters } from '../http/time-range.ts';
import type { Session } from '../sessions/session.ts';
import { describeAttempt, describeDelivery } from '../views/webhook.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';
import { readDeliveryURL, readDeliveryURLs } from './webhook-target.ts';

const DELIVERY_ID = /^dlv_[0-9a-f]{32}$/;
const filters = z.object({
  endpoint: z.string().optional(),
  request: z.string().optional(),
  state: z.enum(['', 'pending', 'delivered', 'failed']).optional(),
  ...timeFilters,
});
type Filters = Pick<z.infer<typeof filters>, 'endpoint' | 'request' | 'state'> & TimeSpan;
const query = filters.extend({
  after: z.string().regex(DELIVERY_ID).optional(),
  limit: z.coerce.number().int().min(1).max(DELIVERY_PAGE).default(DELIVERY_PAGE),
});
/** Instead of an endpoint's name: inline callbacks. */
const INLINE = '-';

const REFUSALS: Record<Exclude<ResendAnswer, 'done'>, string> = {
  unknown: 'This delivery is no longer in the log.',
  pending: 'This delivery is still pending.',
  expired: 'The event has expired. Events can be resent for up to 3 days.',
  full: 'Too many deliveries are pending. Try again later.',
};

export function addDeliveryRoutes(serve: ServeRoute, services: Services): void {
  const { access, kubernetes, redis } = services;

  serve(routes.listDeliveries, async ({ ctx, session, namespace }) => {
    const { after, limit, endpoint, request, state, ...times } = check(ctx.query, query);
    await access.require(session, namespace, 'readDeliveries');
    const wanted = { endpoint, request, state, ...readTimeSpan(times, Date.now()) };
    return (await collect(namespace, wanted, { after, limit })).map(describeDelivery);
  });

  serve(routes.readDelivery, async ({ session, namespace, id }) => {
    await access.require(session, namespace, 'readDeliveries');
    const record = await find(namespace, id);
    const { body, attempts } = await readDeliveryDetail(redis, namespace, record);
    return {
      ...describeDelivery(record),
      body,
      history: attempts.map((attempt) => describeAttempt(record, attempt)),
    };
  });

  serve(routes.resendDelivery, async ({ session, namespace, id }) => {
    await access.require(session, namespace, 'resendDeliveries');
    const record = await find(namespace, id);
    const url = await locate(session, namespace, record);
    const [answer = 'unknown'] = await resendDeliveries(redis, namespace, [{ ...record, url }]);
    if (answer !== 'done') throw new ConsoleError('conflict', REFUSALS[answer]);
    return { resent: 1, expired: 0, unreachable: 0 };
  });

  serve(routes.resendDeliveries, async ({ session, namespace, readBody }) => {
    await access.require(session, namespace, 'resendDeliveries');
    const { endpoint, since } = await readBody();
    // For a single endpoint, returns the reason why it cannot receive deliveries.
    if (endpoint && endpoint !== INLINE)
      await readDeliveryURL(kubernetes, session.token, { namespace, endpoint });
    const wanted = { endpoint, state: 'failed', since: Date.parse(since) } as const;
    const all = await collect(namespace, wanted, { limit: Number.POSITIVE_INFINITY });
    const failed = all.filter(({ isTest }) => !isTest);
    // Oldest first, in the original order.
    const resends = await locateAll(session, namespace, failed.reverse());
    const answers = await resendDeliveries(redis, namespace, resends);
    return {
      resent: answers.filter((answer) => answer === 'done').length,
      expired: answers.filter((answer) => answer === 'expired').length,
      unreachable: failed.length - resends.length,
    };
  });

  /** Reads the log page by page until enough entries are found. */
  const collect = async (
    namespace: string,
    wanted: Filters,
    { after, limit }: { after?: string | undefined; limit: number },
  ): Promise<DeliveryRecord[]> => {
    const found: DeliveryRecord[] = [];
    for (let from = after; ; ) {
      const page = await readDeliveryLog(redis, namespace, from === undefined ? {} : { after: from });
      found.push(...page.filter((record) => matches(record, wanted)));
      const last = page.at(-1);
      const isEnd = page.length < DELIVERY_PAGE || last!.createdAt < (wanted.since ?? 0);
      if (isEnd || found.length >= limit) return found.slice(0, limit);
      from = last!.id;
    }
  };

  const find = async (namespace: string, id: string): Promise<DeliveryRecord> => {
    const record = DELIVERY_ID.test(id) ? await readDelivery(redis, namespace, id) : null;
    if (record) return record;
    throw new ConsoleError('not_found', REFUSALS.unknown);
  };

  /** The current URL of its endpoint; for inline callbacks, the original URL. */
  const locate = async (session: Session, namespace: string, record: DeliveryRecord): Promise<string> =>
    record.endpoint === ''
      ? record.url
      : readDeliveryURL(kubernetes, session.token, { namespace, endpoint: record.endpoint });

  /** The same for many, except those whose endpoint cannot receive deliveries. */
  const locateAll = async (
    session: Session,
    namespace: string,
    records: readonly DeliveryRecord[],
  ): Promise<Resend[]> => {
    const urls = await readDeliveryURLs(kubernetes, session.token, namespace);
    return records.flatMap((record) => {
      const url = record.endpoint === '' ? record.url : urls.get(record.endpoint);
      return url === undefined ? [] : [{ ...record, url }];
    });
  };
}

function matches(record: DeliveryRecord, { endpoint, request, state, since, before }: Filters): boolean {
  return (
    (!endpoint || record.endpoint === (endpoint === INLINE ? '' : endpoint)) &&
    (!request || record.requestId === request || record.eventId === request) &&
    (!state || record.state === state) &&
    (since === undefined || record.createdAt >= since) &&
    (before === undefined || record.createdAt < before)
  );
}
