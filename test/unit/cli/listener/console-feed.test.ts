import { expect } from 'chai';
import { ConsoleRefusal } from '../../../../cli/listener/console-client.ts';
import { openFeed } from '../../../../cli/listener/console-feed.ts';
import type { DeliveryDetail } from '../../../../console/api.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const START = Date.UTC(2026, 0, 1);

describe('the feed of deliveries by the console', () => {
  const log: DeliveryDetail[] = [];
  const taken: string[] = [];
  const lines: string[] = [];
  let failure: Error | null;
  let queries: URLSearchParams[];
  let clock: FakeClock;
  let ending: AbortController;

  beforeEach(() => {
    for (const list of [log, taken, lines]) list.length = 0;
    failure = null;
    queries = [];
    clock = new FakeClock();
    ending = new AbortController();
  });
  afterEach(() => ending.abort());

  /** `at`: seconds. */
  const add = (id: string, at: number) =>
    log.unshift({ id, createdAt: new Date(START + at * 1_000).toISOString() } as DeliveryDetail);

  /** Responds like the console. */
  const get = async <T>(path: string): Promise<T> => {
    if (failure) throw failure;
    const { pathname, searchParams } = new URL(path, 'http://console');
    const [, id] = /^\/api\/namespaces\/team\/deliveries\/(.+)$/.exec(pathname) ?? [];
    if (id !== undefined) {
      const found = log.find((each) => each.id === id);
      if (!found || id === 'dropped') throw new ConsoleRefusal(404, 'no longer in the log');
      return found as T;
    }
    queries.push(searchParams);
    const since = Date.parse(searchParams.get('since') ?? '1970-01-01T00:00:00Z');
    const from = log.findIndex((each) => each.id === searchParams.get('after')) + 1;
    const found = log.slice(from).filter(({ createdAt }) => Date.parse(createdAt) >= since);
    return found.slice(0, Number(searchParams.get('limit'))) as T;
  };

  const start = async (endpoint: string | null = null) => {
    const { follow } = await openFeed({
      client: { get },
      namespace: 'team',
      endpoint,
      take: async ({ id }) => {
        taken.push(id);
      },
      print: (line) => lines.push(line),
      clock,
      signal: ending.signal,
    });
    const ended = follow();
    ended.catch(() => {});
    return { ended };
  };

  it('takes what is new, oldest first and once', async () => {
    add('before', 0);
    await start();
    add('first', 1);
    add('second', 2);
    await clock.advance(2_000);
    add('third', 2);
    await clock.advance(20_000);
    expect(taken).to.deep.equal(['first', 'second', 'third']);
  });

  it('takes one that appears behind a newer one', async () => {
    await start();
    add('newer', 15);
    await clock.advance(2_000);
    log.push({ id: 'late', createdAt: new Date(START + 10_000).toISOString() } as DeliveryDetail);
    await clock.advance(2_000);
    expect(taken).to.deep.equal(['newer', 'late']);
  });

  it('reads all pages of a burst, and then only the latest seconds', async () => {
    await start('results');
    for (let index = 0; index < 250; index += 1) add(`d${index}`, 1 + index);
    await clock.advance(2_000);
    expect(taken).to.have.length(250);
    await clock.advance(2_000);
    expect(queries.at(-1)!.get('since')).to.equal(new Date(START + 240_000).toISOString());
    expect(queries.at(-1)!.get('endpoint')).to.equal('results');
  });

  it('goes on without one that was dropped meanwhile', async () => {
    await start();
    add('dropped', 1);
    add('kept', 2);
    await clock.advance(2_000);
    expect(taken).to.deep.equal(['kept']);
  });

  it('asks again while the console is away, and misses nothing', async () => {
    await start();
    failure = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });
    await clock.advance(2_000);
    add('meanwhile', 1);
    failure = new ConsoleRefusal(503, 'not ready');
    await clock.advance(6_000);
    failure = null;
    await clock.advance(2_000);
    expect(taken).to.deep.equal(['meanwhile']);
    expect(lines).to.deep.equal([
      'Cannot reach the console, retrying: connect ECONNREFUSED',
      'Reconnected to the console.',
    ]);
  });

  it('ends with the reason where the console refuses for good', async () => {
    const { ended } = await start();
    failure = new ConsoleRefusal(403, 'User "anna" cannot get deliveries');
    await clock.advance(2_000);
    const reason = await ended.then(
      () => null,
      (error: Error) => error.message,
    );
    expect(reason).to.equal('User "anna" cannot get deliveries');
  });

  it('ends with the signal', async () => {
    const { ended } = await start();
    ending.abort();
    await ended;
  });
});
