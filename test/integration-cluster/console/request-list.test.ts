import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import type { RequestsView } from '../../../console/api.ts';
import { useConsole } from './console-harness.ts';
import { useEndpoint } from './endpoint-fixture.ts';

const id = (digit: string) => `req_${digit.repeat(32)}`;
const numbered = (number: number) => `req_${String(number).padStart(32, '0')}`;
const MICROS_PER_MS = 1_000;

describe("the console's list of requests", () => {
  const console = useConsole();
  const fixture = useEndpoint(console);

  const write = async (request: string, deployment: string, fields: Record<string, string | number>) => {
    const { redis } = console.redis;
    const keys = workKeys(fixture.namespace);
    const record = {
      deployment,
      modality: 'image',
      registration_id: 1,
      model: 'm',
      status: 'queued',
      ...fields,
    };
    await redis.hset(keys.request(request), record);
    await redis.zadd(keys.deployments, 0, deployment);
    for (const index of ['all', record.status])
      await redis.zadd(keys.index(deployment, index), Number(fields.queued_at) * MICROS_PER_MS, request);
  };
  const ask = async (query: string) =>
    (await fixture.someone.call('GET', `${fixture.base}/requests${query}`)).body;
  const list = async (query: string) => ((await ask(query)) as RequestsView).requests.map((each) => each.id);

  it('has those of all deployments, also of ones that are gone, newest first', async () => {
    await write(id('1'), 'llm', { status: 'queued', queued_at: 1_000 });
    await write(id('2'), 'gone', { status: 'failed', queued_at: 3_000, error_code: 'expired' });
    await write(id('3'), 'llm', { status: 'running', queued_at: 2_000, progress: 40, started_at: 2_500 });
    expect(await list('')).to.deep.equal([id('2'), id('3'), id('1')]);
    expect(await list('?limit=2')).to.deep.equal([id('2'), id('3')]);
    expect(await list('?deployment=llm')).to.deep.equal([id('3'), id('1')]);
    expect(await list('?status=queued')).to.deep.equal([id('1')]);
    expect((await ask('?limit=0')).error.param).to.equal('limit');
    expect(await list(`?limit=2&after=${(await ask('?limit=2')).older}`)).to.deep.equal([id('1')]);
    const { older } = await ask('?deployment=llm&limit=1');
    expect(await list(`?deployment=llm&limit=1&after=${older}`)).to.deep.equal([id('1')]);
    expect(await ask('?limit=4')).to.deep.include({ older: null, searchedTo: null });
    expect((await ask('?after=nonsense')).error.param).to.equal('after');
    expect(await list(`?id=${id('3')}`)).to.deep.equal([id('3')]);
    expect(await list(`?id=${id('9')}`)).to.deep.equal([]);
    const { body: views } = await fixture.someone.call('GET', `${fixture.base}/deployments`);
    expect(views[0].queue).to.deep.equal({ waiting: 1, queued: 1, running: 1, abandoned: 0 });
  });

  it('has those of a time, and pages within it', async () => {
    const at = (minute: number) => Date.parse(`2026-11-20T12:${String(minute).padStart(2, '0')}:00Z`);
    for (let minute = 10; minute < 20; minute++)
      await write(numbered(minute), minute % 2 === 0 ? 'llm' : 'gone', { queued_at: at(minute) });
    const between = '?since=2026-11-20T12:12:00Z&until=2026-11-20T13:17:00%2B01:00';
    const expected = [16, 15, 14, 13, 12].map(numbered);
    expect(await list(between)).to.deep.equal(expected);
    expect(await list(`${between}&status=queued&deployment=llm`)).to.deep.equal([16, 14, 12].map(numbered));
    const { older } = await ask(`${between}&limit=3`);
    expect(await list(`${between}&limit=3&after=${older}`)).to.deep.equal([13, 12].map(numbered));
    expect(await list(`${between}&id=${numbered(14)}`)).to.deep.equal([numbered(14)]);
    expect(await list(`${between}&id=${numbered(17)}`)).to.deep.equal([]);
    await write(id('a'), 'llm', { queued_at: Date.now() - 1_000 });
    await write(id('b'), 'llm', { queued_at: Date.now() - 2 * 3_600_000 });
    expect(await list('?within=1h')).to.deep.equal([id('a')]);
    expect(await list('?within=6h')).to.deep.equal([id('a'), id('b')]);
    expect((await ask('?since=yesterday')).error.param).to.equal('since');
  });

  it('has those of a key: by its name, part of its hint, and the user of a playground', async () => {
    const { someone, base } = fixture;
    const made = await someone.call('POST', `${base}/keys`, { name: 'shop' });
    const api_key = hashApiKey(made.body.secret).slice(0, 24);
    const price = 40_000;
    await write(id('1'), 'llm', { queued_at: 1_000, api_key, price, key_name: 'shop' });
    await write(id('2'), 'gone', { queued_at: 2_000, api_key: 'c'.repeat(24), price, key_name: 'revoked' });
    await write(id('3'), 'llm', {
      queued_at: 3_000,
      api_key: 'd'.repeat(24),
      price,
      key_name: 'console:anna',
    });
    // Older than the field of the name.
    await write(id('4'), 'llm', { queued_at: 4_000, api_key, price });
    await write(id('5'), 'llm', { queued_at: 5_000 });
    expect(await list('?key=shop')).to.deep.equal([id('4'), id('1')]);
    expect(await list('?key=SHO')).to.deep.equal([id('4'), id('1')]);
    expect(await list(`?key=${made.body.secret.slice(-4)}`)).to.deep.equal([id('4'), id('1')]);
    expect(await list('?key=revoked')).to.deep.equal([id('2')]);
    expect(await list('?key=anna')).to.deep.equal([id('3')]);
    expect(await list('?key=nobody')).to.deep.equal([]);
    expect(await list(`?key=shop&id=${id('1')}`)).to.deep.equal([id('1')]);
    expect(await list(`?key=shop&id=${id('2')}`)).to.deep.equal([]);
    const { requests } = (await ask('?status=queued')) as RequestsView;
    expect(requests.map(({ submitter, price }) => [submitter?.name ?? null, price])).to.deep.equal([
      [null, null],
      [null, '0.04'],
      ['anna', '0.04'],
      ['revoked', '0.04'],
      ['shop', '0.04'],
    ]);
  });

  it('looks for a key among some thousand at a time, says how far, and goes on from there', async () => {
    const { redis } = console.redis;
    const keys = workKeys(fixture.namespace);
    const TOTAL = 12_000;
    const at = (number: number) => 1_000_000 + number;
    for (const deployment of ['llm', 'gone']) {
      const entries: (string | number)[] = [];
      for (let number = 0; number < TOTAL; number++)
        entries.push(at(number) * MICROS_PER_MS, numbered((deployment === 'llm' ? 0 : TOTAL) + number));
      await redis.zadd(keys.index(deployment, 'all'), ...entries);
      await redis.zadd(keys.deployments, 0, deployment);
    }
    const rare = { price: 0, api_key: 'e'.repeat(24), key_name: 'rare' };
    await write(numbered(50), 'llm', { ...rare, queued_at: at(50) });
    await write(numbered(TOTAL + 11_990), 'gone', { ...rare, queued_at: at(11_990) });
    await write(numbered(TOTAL + 9_501), 'gone', { ...rare, queued_at: at(9_501) });
    const found: string[] = [];
    let pages = 0;
    let searchedTo = '';
    for (let after: string | null = ''; after !== null; pages++) {
      const page: RequestsView = await ask(`?key=rare${after && `&after=${after}`}`);
      found.push(...page.requests.map((each) => each.id));
      if (pages === 0) searchedTo = page.searchedTo!;
      after = page.older;
      if (after === null) expect(page.searchedTo).to.equal(null);
    }
    expect(found).to.deep.equal([numbered(TOTAL + 11_990), numbered(TOTAL + 9_501), numbered(50)]);
    expect(searchedTo).to.equal(new Date(at(TOTAL - 2_500)).toISOString());
    expect(pages).to.equal(5);
  });
});
