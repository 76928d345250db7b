/** Follows a workspace's delivery log through the console's API. */
import type { DeliveryDetail, DeliveryView } from '../../console/api.ts';
import { type Clock, sleep } from '../../kit/clock.ts';
import { type ConsoleClient, ConsoleRefusal } from './console-client.ts';
import { toWord } from './inbox.ts';

export interface FeedOptions {
  client: Pick<ConsoleClient, 'get'>;
  namespace: string;
  /** Name of a WebhookEndpoint; null: all deliveries. */
  endpoint: string | null;
  /** Each delivery that was created since the start, oldest first. */
  take: (delivery: DeliveryDetail) => Promise<void>;
  print: (line: string) => void;
  clock: Clock;
  signal: AbortSignal;
}

const POLL_INTERVAL_MS = 2_000;
const PAGE = 100;
/** Deliveries appear in the log in nearly, but not exactly, the order of their times. */
const OVERLAP_MS = 10_000;

/** Reads existing entries; `follow` then resolves when the signal aborts, and rejects if the console refuses permanently. */
export async function openFeed(options: FeedOptions): Promise<{ follow(): Promise<void> }> {
  const { client, namespace, endpoint, take, print, clock, signal } = options;
  const path = `/api/namespaces/${encodeURIComponent(namespace)}/deliveries`;
  const list = (since: string | null, after: string | null) => {
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (endpoint !== null) query.set('endpoint', endpoint);
    if (since !== null) query.set('since', since);
    if (after !== null) query.set('after', after);
    return client.get<DeliveryView[]>(`${path}?${query}`);
  };

  const first = await list(null, null);
  let since = startOf(first, null);
  let known = new Set(first.map(({ id }) => id));

  const readSince = async (): Promise<DeliveryView[]> => {
    const found: DeliveryView[] = [];
    for (;;) {
      const page = await list(since, found.at(-1)?.id ?? null);
      found.push(...page);
      if (page.length < PAGE) return found;
    }
  };
  /** null: dropped from the log meanwhile. */
  const read = (id: string) =>
    client.get<DeliveryDetail>(`${path}/${id}`).catch((error: unknown) => {
      if (error instanceof ConsoleRefusal && error.status === 404) return null;
      throw error;
    });
  const poll = async () => {
    const found = await readSince();
    for (const { id } of found.toReversed()) {
      if (known.has(id)) continue;
      if (signal.aborted) return;
      const detail = await read(id);
      known.add(id);
      if (detail) await take(detail);
    }
    since = startOf(found, since);
    known = new Set(found.map(({ id }) => id));
  };
  const follow = async () => {
    let isAway = false;
    while (!signal.aborted) {
      try {
        await poll();
        if (isAway) print('Reconnected to the console.');
        isAway = false;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ConsoleRefusal && !error.isPassing) throw error;
        if (!isAway) print(`Cannot reach the console, retrying: ${describe(error as Error)}`);
        isAway = true;
      }
      await sleep(clock, POLL_INTERVAL_MS, signal);
    }
  };
  return { follow };
}

/** Start time of the next read. */
function startOf(deliveries: DeliveryView[], before: string | null): string | null {
  const newest = Math.max(...deliveries.map(({ createdAt }) => Date.parse(createdAt)));
  return deliveries.length === 0 ? before : new Date(newest - OVERLAP_MS).toISOString();
}

const describe = ({ message, cause }: Error): string =>
  toWord(cause instanceof Error && cause.message ? cause.message : message);
