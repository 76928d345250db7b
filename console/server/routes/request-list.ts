/** Lists of asynchronous requests, across deployments: pages, and searches by status, time and API key. */
import { z } from 'zod';
import { PERSONAL_KEY_PREFIX } from '../../../api/redis-keys.ts';
import {
  DEFAULT_LIST_LIMIT,
  MAX_LIST_LIMIT,
  REQUEST_ID,
  REQUEST_STATUSES,
  type RequestStatus,
} from '../../../api/request.ts';
import { readDeploymentNames } from '../../../redis/console/console-reads.ts';
import { type ChargedRecord, readRequest } from '../../../redis/requests/request-record.ts';
import { MAX_SUBMITTERS } from '../../../redis/requests/request-search.ts';
import type { RequestsView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { check } from '../http/bodies.ts';
import { ConsoleError } from '../http/error.ts';
import { readTimeSpan, type TimeSpan, timeFilters } from '../http/time-range.ts';
import type { KnownKey } from '../views/key.ts';
import { mergeNewest } from '../views/newest.ts';
import { describeCharge, describeRecord } from '../views/request.ts';
import { readKnownKeys } from './known-keys.ts';
import { openSource, shareBudget } from './request-source.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

/** Enough for some hundred deployments. */
const MAX_CURSOR = 16 * 1024;
const MAX_KEY_TEXT = 253;
const query = z.object({
  deployment: z.string().optional(),
  status: z.enum(['', ...REQUEST_STATUSES]).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LIST_LIMIT).default(DEFAULT_LIST_LIMIT),
  /** `older` of the previous page. */
  after: z.string().max(MAX_CURSOR).optional(),
  /** Only this request. */
  id: z.string().optional(),
  key: z.string().max(MAX_KEY_TEXT).optional(),
  ...timeFilters,
});
type Query = z.infer<typeof query>;

/** The end of a page: the ID of the last request by deployment name. */
type Position = Record<string, string>;

const position = z.record(z.string(), z.string().regex(REQUEST_ID));

/** Throws invalid_request_error. */
function readCursor(cursor: string): Position {
  try {
    return position.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw new ConsoleError('invalid_request_error', '`after` must be the `older` of a page.', {
      param: 'after',
    });
  }
}

const writeCursor = (end: Position): string => Buffer.from(JSON.stringify(end)).toString('base64url');

export function addRequestListRoutes(serve: ServeRoute, services: Services): void {
  const { access, redis } = services;

  serve(routes.listRequests, async ({ ctx, session, namespace }) => {
    const asked = check(ctx.query, query);
    await access.require(session, namespace, 'readRequests');
    const span = readTimeSpan(asked, Date.now());
    const [names, keys] = await Promise.all([
      asked.deployment ? [asked.deployment] : readDeploymentNames(redis, namespace),
      // Records have their own key names: only searches by key pay for reading many keys.
      asked.key ? readKnownKeys(services, session.token, namespace) : new Map<string, KnownKey>(),
    ]);
    const submitters = asked.key ? findSubmitters(asked.key, keys) : null;
    const { records, ...ends } = asked.id
      ? await findOne({ ...asked, namespace, names, span, submitters, id: asked.id })
      : await listPage({ ...asked, namespace, names, span, submitters });
    return {
      requests: records.map((record) => ({
        ...describeRecord(record),
        ...describeCharge(record.charge, keys),
      })),
      ...ends,
    };
  });

  interface Wanted extends Pick<Query, 'limit' | 'after'> {
    namespace: string;
    names: readonly string[];
    status?: RequestStatus | '' | undefined;
    span: TimeSpan;
    /** null: everyone's. */
    submitters: string[] | null;
  }
  type Found = Omit<RequestsView, 'requests'> & { records: ChargedRecord[] };

  const findOne = async ({ id, ...wanted }: Wanted & { id: string }): Promise<Found> => {
    const record = REQUEST_ID.test(id) ? await readRequest(redis, wanted.namespace, id) : null;
    const { names, status, span, submitters } = wanted;
    const fits =
      record &&
      names.includes(record.deployment) &&
      (!status || record.status === status) &&
      record.queuedAt >= (span.since ?? Number.NEGATIVE_INFINITY) &&
      record.queuedAt < (span.before ?? Number.POSITIVE_INFINITY) &&
      (submitters === null || isBy(record, submitters));
    return { records: fits ? [record] : [], older: null, searchedTo: null };
  };

  const listPage = async (wanted: Wanted): Promise<Found> => {
    const { names, namespace, status, span, submitters, limit, after } = wanted;
    const begin = after === undefined ? {} : readCursor(after);
    const sources = names.map((deployment) =>
      openSource(redis, {
        query: { namespace, deployment, ...span, ...(status && { status }) },
        after: begin[deployment],
        submitters,
        budget: shareBudget(names.length),
      }),
    );
    const { items, stoppedAt } = await mergeNewest(sources, { limit, timeOf: ({ queuedAt }) => queuedAt });
    const isWhole = items.length === limit || stoppedAt !== null;
    const end = { ...begin };
    for (const source of sources) {
      const reached = source.endAfter(items.findLast((record) => record.deployment === source.deployment));
      if (reached) end[source.deployment] = reached;
    }
    return {
      records: items,
      older: isWhole ? writeCursor(end) : null,
      searchedTo: stoppedAt === null ? null : new Date(stoppedAt).toISOString(),
    };
  };
}

/** Names and hashes in records that match a text: a key's name or part of it, part of its hint, or a user. */
function findSubmitters(text: string, keys: ReadonlyMap<string, KnownKey>): string[] {
  const words = text.toLowerCase();
  const isMeant = ({ name, hint }: KnownKey) =>
    name.toLowerCase().includes(words) || hint?.toLowerCase().includes(words);
  const exact = [...keys].filter(([, { name }]) => name === text);
  const meant = exact.length > 0 ? exact : [...keys].filter(([, key]) => isMeant(key));
  // Deleted keys are known only by the names in records.
  const names = new Set([text, PERSONAL_KEY_PREFIX + text, ...meant.map(([, { name }]) => name)]);
  const submitters = [...names, ...meant.map(([hash]) => hash)];
  if (submitters.length <= MAX_SUBMITTERS) return submitters;
  throw new ConsoleError('invalid_request_error', 'Too many keys match. Enter more of the name.', {
    param: 'key',
  });
}

const isBy = ({ charge }: ChargedRecord, submitters: readonly string[]): boolean =>
  charge !== null && [charge.keyHash, charge.keyName ?? ''].some((each) => submitters.includes(each));
