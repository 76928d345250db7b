/** Usage and cost per API key, model and day: as JSON, or as CSV for spreadsheets. */
import { Readable } from 'node:stream';
import { z } from 'zod';
import { formatAmount } from '../../../api/amount.ts';
import { readCurrency, readDeploymentNames } from '../../../redis/console/console-reads.ts';
import { readDeployment } from '../../../redis/publication/published.ts';
import { type KeyUsageRow, readKeyUsageRows } from '../../../redis/usage/key-usage.ts';
import type { KeyTotalView, KeyUsageView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { check } from '../http/bodies.ts';
import { ConsoleError } from '../http/error.ts';
import { StreamSlots } from '../http/stream-slots.ts';
import type { KnownKey } from '../views/key.ts';
import { readKnownKeys } from './known-keys.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
/** Some 200 bytes each, all in memory at once; CSV is written as it is read. */
const MAX_JSON_ROWS = 10_000;
/** In one piece of CSV. */
const ROWS_AT_ONCE = 100;
/** `each`: of a workspace. */
const MAX_TABLES = { each: 2, all: 8 };
const MAX_TABLE_MS = 5 * 60_000;

const day = z.iso.date('must be a day such as 2026-11-23');
const rangeQuery = z.object({ from: day.optional(), to: day.optional() });
const query = rangeQuery.extend({
  deployment: z.string().max(63).optional(),
  format: z.enum(['json', 'csv']).default('json'),
});

/** Unix milliseconds, within both days. */
function readRange(range: z.infer<typeof rangeQuery>): { from: number; to: number } {
  const to = range.to === undefined ? Date.now() : Date.parse(range.to);
  return { from: range.from === undefined ? to - (DEFAULT_DAYS - 1) * DAY_MS : Date.parse(range.from), to };
}

export function addKeyUsageRoutes(serve: ServeRoute, services: Services): void {
  const { access, redis, largeAnswers } = services;
  const slots = new StreamSlots(MAX_TABLES);

  serve(routes.listKeyTotals, async ({ ctx, session, namespace }) => {
    const range = readRange(check(ctx.query, rangeQuery));
    await access.require(session, namespace, 'readUsage');
    return largeAnswers.answer(ctx.res, namespace, async () => {
      const deployments = await readDeploymentNames(redis, namespace);
      const [sums, keys] = await Promise.all([
        addUp(readKeyUsageRows(redis, { namespace, deployments, ...range })),
        readKnownKeys(services, session.token, namespace),
      ]);
      return sums.map((sum) => describeTotal(sum, keys.get(sum.keyHash)));
    });
  });

  serve(routes.listKeyUsage, async ({ ctx, session, namespace }) => {
    const { deployment, format, ...range } = check(ctx.query, query);
    await access.require(session, namespace, 'readUsage');
    const readTable = async () => {
      const deployments = deployment ? [deployment] : await readDeploymentNames(redis, namespace);
      const [keys, models] = await Promise.all([
        readKnownKeys(services, session.token, namespace),
        readModels(namespace, deployments),
      ]);
      const describe = (row: KeyUsageRow) =>
        describeRow(row, { key: keys.get(row.keyHash), model: models.get(row.deployment) });
      return { describe, rows: readKeyUsageRows(redis, { namespace, deployments, ...readRange(range) }) };
    };
    if (format === 'json')
      return largeAnswers.answer(ctx.res, namespace, async () => {
        const { rows, describe } = await readTable();
        return (await collect(rows)).map(describe);
      });
    slots.takeFor(ctx.res, namespace);
    const currency = (await readCurrency(redis, namespace)) ?? '';
    const { rows, describe } = await readTable();
    const signal = AbortSignal.timeout(MAX_TABLE_MS);
    const table = Readable.from(
      formatTable(rows, (row) => addCharge(describe(row), currency)),
      { objectMode: false, signal },
    );
    // A truncated table must not look complete.
    table.once('error', () => ctx.res.destroy());
    ctx.type = 'text/csv; charset=utf-8';
    ctx.attachment(`usage-${namespace}.csv`);
    return table;
  });

  /** Reads the models of existing deployments. */
  async function readModels(namespace: string, deployments: readonly string[]): Promise<Map<string, string>> {
    const models = new Map<string, string>();
    for (const name of deployments) {
      const config = await readDeployment(redis, namespace, name).catch(() => null);
      if (config) models.set(name, config.modelId);
    }
    return models;
  }
}

type KeyTotal = Omit<KeyUsageRow, 'day' | 'deployment'>;

/** All days and deployments of each key. */
async function addUp(parts: AsyncIterable<KeyUsageRow[]>): Promise<KeyTotal[]> {
  const totals = new Map<string, KeyTotal>();
  for await (const rows of parts) {
    for (const { keyHash, requests, inputTokens, outputTokens, micros } of rows) {
      const sum = totals.get(keyHash);
      totals.set(keyHash, {
        keyHash,
        requests: requests + (sum?.requests ?? 0),
        inputTokens: inputTokens + (sum?.inputTokens ?? 0),
        outputTokens: outputTokens + (sum?.outputTokens ?? 0),
        micros: micros + (sum?.micros ?? 0),
      });
    }
    checkRows(totals.size, 'Ask for a shorter period (`from`, `to`).');
  }
  return [...totals.values()];
}

const describeTotal = ({ micros, ...used }: KeyTotal, key: KnownKey | undefined): KeyTotalView => ({
  ...used,
  key: key?.name ?? null,
  owner: key?.owner ?? null,
  cost: formatAmount(micros),
});

const describeRow = (
  { day, deployment, ...used }: KeyUsageRow,
  { key, model }: { key: KnownKey | undefined; model: string | undefined },
): KeyUsageView => ({ day, deployment, model: model ?? null, ...describeTotal(used, key) });

const COLUMNS = [
  ['day', 'day'],
  ['deployment', 'deployment'],
  ['model', 'model'],
  ['key', 'key'],
  ['key_hash', 'keyHash'],
  ['requests', 'requests'],
  ['input_tokens', 'inputTokens'],
  ['output_tokens', 'outputTokens'],
  ['cost', 'cost'],
  ['owner', 'owner'],
  // Those after it are of FOCUS, the format of cost reports (https://focus.finops.org).
  ['ResourceName', 'deployment'],
  ['ChargePeriodStart', 'periodStart'],
  ['ChargePeriodEnd', 'periodEnd'],
  ['BilledCost', 'cost'],
  ['BillingCurrency', 'currency'],
] as const satisfies readonly [string, keyof ChargeRow][];

type ChargeRow = ReturnType<typeof addCharge>;

const formatTime = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z');

const addCharge = (view: KeyUsageView, currency: string) => ({
  ...view,
  currency,
  periodStart: formatTime(Date.parse(view.day)),
  periodEnd: formatTime(Date.parse(view.day) + DAY_MS),
});

/** RFC 4180. Names and ids contain no commas, quotes or line breaks, and start with a letter or digit: no formula injection. */
async function* formatTable(
  parts: AsyncIterable<KeyUsageRow[]>,
  describe: (row: KeyUsageRow) => ChargeRow,
): AsyncGenerator<string> {
  yield `${COLUMNS.map(([title]) => title).join(',')}\r\n`;
  const formatRow = (row: KeyUsageRow) => {
    const view = describe(row);
    return `${COLUMNS.map(([, field]) => view[field] ?? '').join(',')}\r\n`;
  };
  for await (const rows of parts)
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
      yield rows
        .slice(at, at + ROWS_AT_ONCE)
        .map(formatRow)
        .join('');
}

async function collect(parts: AsyncIterable<KeyUsageRow[]>): Promise<KeyUsageRow[]> {
  const all: KeyUsageRow[] = [];
  for await (const rows of parts) {
    all.push(...rows);
    checkRows(
      all.length,
      'Ask for a shorter period (`from`, `to`), for one `deployment`, or with `format=csv`.',
    );
  }
  return all;
}

function checkRows(count: number, advice: string): void {
  if (count > MAX_JSON_ROWS)
    throw new ConsoleError('answer_too_large', `There are more than 10,000 rows. ${advice}`);
}
