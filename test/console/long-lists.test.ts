/** Lists that are too long to be read or drawn at once. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { workKeys } from '../../api/redis-keys.ts';
import type { RequestsView } from '../../console/api.ts';
import { connectRedis } from '../../redis/client.ts';
import { listRequests, makeRequest } from './support/answers.ts';
import { NAMESPACE, useConsole } from './support/console.ts';
import { watchLongTasks } from './support/page-facts.ts';

type Connected = ReturnType<typeof connectRedis>;

const TOTAL = 10_000;
const IDS = Array.from({ length: TOTAL }, (_, index) => `req_${String(index).padStart(32, '0')}`);
const PAGES_TURNED = 5;
/** A stutter is seen from some 100 ms on; a busy machine may take several times as long. */
const GROSSLY_LONG_MS = 5_000;

describe('a list of 10,000 requests', function () {
  this.timeout(90_000);
  const use = useConsole();
  let page: Page;
  let pageSize = 0;
  const asked: string[] = [];

  before(async () => {
    page = await use().open('deployments');
    await page.route('**/api/**/requests?*', (route) => {
      const query = new URL(route.request().url()).searchParams;
      const after = query.get('after') ?? '';
      pageSize = Number(query.get('limit'));
      asked.push(after);
      const start = IDS.indexOf(after) + 1;
      const ids = IDS.slice(start, start + pageSize);
      const older = ids.length === pageSize ? ids.at(-1) : null;
      return route.fulfill({
        json: { ...listRequests(...ids.map((id) => makeRequest(id, 'queued'))), older },
      });
    });
    await page
      .getByRole('navigation', { name: 'Pages', exact: true })
      .getByRole('link', { name: 'Requests' })
      .click();
  });
  after(() => page?.context().close());

  const turner = () => page.getByRole('navigation', { name: 'Request pages' });
  const shown = (index: number) => page.getByTitle(IDS[index]!, { exact: true });
  const countElements = (): Promise<number> => page.evaluate('document.getElementsByTagName("*").length');

  it('is turned page by page, each request once, and never has more in the page', async () => {
    await shown(0).waitFor();
    const first = await countElements();
    for (let turned = 1; turned <= PAGES_TURNED; turned++) {
      await turner().getByRole('link', { name: 'Older' }).click();
      await shown(turned * pageSize).waitFor();
      expect(await page.getByTitle(/^req_/).count()).to.equal(pageSize);
    }
    expect(await shown(0).count()).to.equal(0);
    expect(await countElements()).to.be.below(first * 1.1);
  });

  it('reads the page that is shown again, and no other', async () => {
    asked.length = 0;
    await page.waitForResponse('**/api/**/requests?*', { timeout: 30_000 });
    expect(new Set(asked)).to.deep.equal(new Set([IDS[PAGES_TURNED * pageSize - 1]]));
  });

  it('goes back to newer ones, by the button and by Back', async () => {
    await turner().getByRole('button', { name: 'Newer' }).click();
    await shown((PAGES_TURNED - 1) * pageSize).waitFor();
    await page.goBack();
    await shown((PAGES_TURNED - 2) * pageSize).waitFor();
  });

  it('can be entered at any place by its address, up to the last', async () => {
    await page.goto(`${new URL(page.url()).pathname}?after=${IDS[TOTAL - 3]}`);
    await shown(TOTAL - 1).waitFor();
    expect(await page.getByTitle(/^req_/).count()).to.equal(2);
    expect(await turner().getByRole('link', { name: 'Older' }).count()).to.equal(0);
    await turner().getByRole('button', { name: 'Newer' }).click();
    await shown(0).waitFor();
  });
});

describe('10,000 requests in Redis', function () {
  this.timeout(180_000);
  const use = useConsole();
  const keys = workKeys(NAMESPACE);
  const DEPLOYMENT = 'archive';
  const CHUNK = 500;

  const withRedis = async (work: (redis: Connected['redis']) => Promise<void>) => {
    const { redisURL } = use().stack.endpoints;
    const connection = connectRedis({ url: redisURL, name: 'test', role: 'operator' });
    try {
      await connection.untilUp(5_000);
      await work(connection.redis);
    } finally {
      await connection.close();
    }
  };

  before(() =>
    withRedis(async (redis) => {
      const now = Date.now();
      for (let start = 0; start < TOTAL; start += CHUNK) {
        const batch = redis.pipeline();
        for (const [offset, id] of IDS.slice(start, start + CHUNK).entries()) {
          const queuedAt = now - (start + offset) * 1_000;
          batch.hset(keys.request(id), {
            deployment: DEPLOYMENT,
            modality: 'video',
            registration_id: 1,
            model: 'berth/archive',
            status: 'canceled',
            queued_at: queuedAt,
            size: '832x480',
            seconds: '4',
          });
          for (const index of ['all', 'canceled'])
            batch.zadd(keys.index(DEPLOYMENT, index), queuedAt * 1_000, id);
        }
        await batch.exec();
      }
      await redis.zadd(keys.deployments, 0, DEPLOYMENT);
    }),
  );
  after(() =>
    withRedis(async (redis) => {
      await redis.zrem(keys.deployments, DEPLOYMENT);
      await redis.unlink(keys.index(DEPLOYMENT, 'all'), keys.index(DEPLOYMENT, 'canceled'));
      for (let start = 0; start < TOTAL; start += CHUNK)
        await redis.unlink(...IDS.slice(start, start + CHUNK).map((id) => keys.request(id)));
    }),
  );

  it('are paged and scrolled without a stutter', async () => {
    const page = await use().open('deployments');
    await page.goto(`/${NAMESPACE}/requests?deployment=${DEPLOYMENT}`);
    const rows = page.getByTitle(/^req_/);
    await rows.nth(99).waitFor();
    const readLongest = await watchLongTasks(page);
    for (let turned = 1; turned <= PAGES_TURNED; turned++) {
      for (let step = 0; step < 10; step++) await page.mouse.wheel(0, 600);
      await page.getByRole('link', { name: 'Older' }).click();
      await page.getByTitle(IDS[turned * 100]!, { exact: true }).waitFor();
      expect(await rows.count()).to.equal(100);
    }
    const longest = await readLongest();
    console.log(`      longest task of the page: ${longest} ms`);
    expect(longest).to.be.below(GROSSLY_LONG_MS);
    await page.context().close();
  });

  it('are all there, each once, from page to page', async () => {
    const page = await use().open('deployments');
    const seen = new Set<string>();
    for (let older: string | null = ''; older !== null; ) {
      const query = new URLSearchParams({
        deployment: DEPLOYMENT,
        limit: '200',
        ...(older && { after: older }),
      });
      const answer = await page.request.get(`/api/namespaces/${NAMESPACE}/requests?${query}`);
      const view = (await answer.json()) as RequestsView;
      for (const { id } of view.requests) seen.add(id);
      older = view.older;
    }
    expect(seen.size).to.equal(TOTAL);
    await page.context().close();
  });
});
