import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { publishSessionKey } from '../../../redis/console/console-sessions.ts';
import { takeEvents } from '../../../redis/deliveries/delivery-calls.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { makePicture } from '../../support/media-files.ts';
import {
  type Answer,
  FILM,
  type FrontWorkspace,
  KEYS,
  PICTURE,
  startFrontWorkspace,
} from './front-workspace.ts';

const ORDER = { model: 'film', prompt: 'a cat', resolution: '64x64', duration: 1 };

describe('requests at a front without any replica', () => {
  let space: FrontWorkspace;
  let count = 0;
  /** A deployment of its own for each test. */
  let film: string;

  before(async () => {
    space = await startFrontWorkspace();
    await space.publish('picture', PICTURE);
    await space.publish('other-film', FILM);
  });
  beforeEach(async () => {
    film = `film-${++count}`;
    await space.publish(film, FILM);
    await space.grant('team', null);
    await space.refuseAsync(null);
  });
  after(() => space?.stop());

  const submit = (body: object = {}, headers: Record<string, string> = {}) =>
    space.call(film, '/videos/generations', { body: { ...ORDER, ...body }, headers });
  const submitOne = async (change: object = {}) => {
    const { status, body, text } = await submit(change);
    expect(status, text).to.equal(202);
    return body.id as string;
  };
  const expectError = ({ status, body, text }: Answer, wanted: number, code: string) => {
    expect(status, text).to.equal(wanted);
    expect((body.error as Record<string, unknown>).code).to.equal(code);
    return (body.error as Record<string, string>).message!;
  };
  const listInputs = () =>
    readdirSync(space.store.folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.startsWith('inputs/team/req_'),
    );

  it('queues an image whose body says async, as its query would', async () => {
    const body = { model: 'picture', prompt: 'a cat', size: '64x64', async: true };
    const { status, body: answer, text } = await space.call('picture', '/images/generations', { body });
    expect(status, text).to.equal(202);
    expect(answer).to.include({ object: 'inference.request', modality: 'image' });
    // For whoever reads the list of requests.
    const record = await readRequest(space.connection.redis, 'team', answer.id as string);
    expect(record!.size).to.equal('64x64');
  });

  it('accepts a video while nothing runs, and shows it', async () => {
    const { status, body } = await submit();
    expect(status).to.equal(202);
    expect(body).to.have.all.keys('id', 'object', 'status', 'modality', 'estimated_seconds');
    expect(body).to.include({ object: 'inference.request', status: 'queued', modality: 'video' });
    const detail = await space.call(film, `/requests/${body.id}`);
    expect(detail.body).to.deep.include({
      id: body.id,
      object: 'inference.request',
      status: 'queued',
      output_object_key: null,
      started_at: null,
      completed_at: null,
      error_code: null,
    });
    expect(detail.body).not.to.have.property('output_urls');
    expect((await space.call(film, `/videos/${body.id}`)).body).to.deep.include({
      object: 'video',
      status: 'queued',
      progress: 0,
      model: 'film',
      size: '64x64',
      seconds: '1.042',
      error: null,
    });
  });

  it('accepts a video of a session key, which takes its turn as any other', async () => {
    const key = `sk-session-${count}`;
    const session = { sha256: hashApiKey(key), name: 'session', rpm: 10, tpd: 10 };
    const { redis } = space.connection;
    await publishSessionKey(redis, 'team', { ...session, expiresAt: Date.now() + 60_000 });
    const { status, body, text } = await space.call(film, '/videos/generations', { body: ORDER, key });
    expect(status, text).to.equal(202);
    const turns = await redis.zrange(workKeys('team').turns(film), 0, '-1');
    expect(turns).to.deep.equal([session.sha256.slice(0, 24)]);
    expect((await space.claim(film)).claim.id).to.equal(body.id);
  });

  it('answers a form with a Video object, and keeps its reference until the request ends', async () => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: 'film', prompt: 'x', seconds: '1', size: '64x64' }))
      form.set(name, value);
    form.set('input_reference', new Blob([new Uint8Array(await makePicture(64, 64))]), 'a.png');
    const { status, body, text } = await space.call(film, '/videos', { body: form });
    expect(status, text).to.equal(202);
    expect(body).to.include({
      object: 'video',
      status: 'queued',
      progress: 0,
      seconds: '1.042',
      size: '64x64',
    });
    expect(listInputs().filter((path) => path.includes(String(body.id)))).to.have.length(2);
    const job = await space.claim(film);
    expect(JSON.parse(job.params)).to.deep.include({ kind: 'video', credential: null });
    await space.fail(job);
    const due = await space.connection.redis.zrange(workKeys('team').cleanup, '0', '-1');
    expect(due.some((member) => member.includes(String(body.id)))).to.equal(true);
  });

  it('leaves nothing of a prompt in Redis that can be read there', async () => {
    const prompt = 'a secret harbour';
    await submit({ prompt });
    const { redis } = space.connection;
    for (const key of await redis.keys('w:*')) {
      const content =
        (await redis.type(key)) === 'string'
          ? await redis.get(key)
          : await redis.hgetall(key).catch(() => '');
      expect(JSON.stringify(content), key).not.to.include(prompt);
    }
    expect(JSON.parse((await space.claim(film)).params).parameters).to.include({ prompt });
  });

  it('stores parameters that are too long for a record', async () => {
    const { body } = await submit({ prompt: 'é'.repeat(20_000) });
    const { params } = await space.claim(film);
    expect(JSON.parse(params)).to.include({ kind: 'stored' });
    expect(listInputs().some((path) => path.endsWith(`${body.id}/job.json`))).to.equal(true);
  });

  it('follows a video to its content, behind a link of another origin', async () => {
    const id = await submitOne();
    expectError(await space.call(film, `/videos/${id}/content`), 409, 'video_not_ready');
    const job = await space.claim(film);
    expect((await space.call(film, `/videos/${id}`)).body).to.include({ status: 'in_progress' });
    expect(expectError(await space.call(film, `/videos/${id}/content`), 409, 'video_not_ready')).to.include(
      'in_progress',
    );
    await space.succeed(job, Buffer.from('film'));
    expect((await space.call(film, `/videos/${id}`)).body).to.include({ status: 'completed', progress: 100 });
    const content = await space.call(film, `/videos/${id}/content`);
    expect(content.status).to.equal(302);
    const link = content.headers.get('location')!;
    expect(new URL(link).origin).to.equal(space.store.origin);
    expect(await (await fetch(link)).text()).to.equal('film');
    const { body } = await space.call(film, `/requests/${id}`);
    expect(body).to.include({ status: 'succeeded', output_bucket: 'berth', storage_provider: null });
    const [fresh] = body.output_urls as string[];
    expect(await (await fetch(fresh!)).text()).to.equal('film');
  });

  it('reports that a result is gone after its retention', async () => {
    const id = await submitOne();
    await space.succeed(await space.claim(film), Buffer.from('film'), 0);
    expectError(await space.call(film, `/videos/${id}/content`), 404, 'result_expired');
    expect((await space.call(film, `/requests/${id}`)).body.output_urls).to.deep.equal([]);
  });

  it('shows why a video failed', async () => {
    const id = await submitOne();
    await space.fail(await space.claim(film));
    const { body } = await space.call(film, `/videos/${id}`);
    expect(body).to.deep.include({
      status: 'failed',
      error: { code: 'vram_exceeded', message: 'out of memory' },
    });
    expect((await space.call(film, `/requests/${id}`)).body).to.include({
      status: 'failed',
      error_code: 'vram_exceeded',
      error_message: 'out of memory',
    });
    expect(expectError(await space.call(film, `/videos/${id}/content`), 409, 'video_not_ready')).to.include(
      'failed',
    );
  });

  it('cancels what is queued, with one event, and nothing else', async () => {
    const id = await submitOne();
    const canceled = await space.call(film, `/requests/${id}/cancel`, { method: 'POST' });
    expect(canceled.status).to.equal(200);
    expect(canceled.body).to.include({ id, status: 'canceled' });
    expectError(
      await space.call(film, `/requests/${id}/cancel`, { method: 'POST' }),
      409,
      'request_not_cancellable',
    );
    const running = await submitOne();
    await space.claim(film);
    expectError(
      await space.call(film, `/requests/${running}/cancel`, { method: 'POST' }),
      409,
      'request_not_cancellable',
    );
    const events = await takeEvents(space.connection.redis, 'team', { limit: 1000, leaseMs: 1 });
    // The front may have taken it already, for nobody to deliver to.
    expect(events.filter(({ requestId }) => requestId === id).length).to.be.at.most(1);
  });

  const deletions: [state: string, status: number, code?: string][] = [
    ['queued', 204],
    ['running', 409, 'video_not_cancellable'],
    ['succeeded', 204],
    ['failed', 204],
    ['canceled', 204],
  ];
  for (const [state, status, code] of deletions)
    it(`answers ${status} to the deletion of a video that is ${state}`, async () => {
      const id = await submitOne();
      if (state === 'canceled') await space.call(film, `/requests/${id}/cancel`, { method: 'POST' });
      else if (state !== 'queued') {
        const job = await space.claim(film);
        if (state === 'succeeded') await space.succeed(job, Buffer.from('film'));
        if (state === 'failed') await space.fail(job);
      }
      const answer = await space.call(film, `/videos/${id}`, { method: 'DELETE' });
      if (code) expectError(answer, status, code);
      else expect([answer.status, answer.text]).to.deep.equal([204, '']);
      const after = state === 'queued' ? 'canceled' : state;
      expect((await space.call(film, `/requests/${id}`)).body.status).to.equal(after);
    });

  it('lists its own requests, newest first, by status and limit', async () => {
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push(await submitOne());
    await space.fail(await space.claim(film));
    const list = async (query: string) =>
      ((await space.call(film, `/requests${query}`)).body.data as { id: string }[]).map(({ id }) => id);
    expect(await list('')).to.deep.equal(ids.toReversed());
    expect(await list('?limit=2')).to.deep.equal(ids.slice(3).toReversed());
    expect(await list('?limit=100000')).to.deep.equal(ids.toReversed());
    expect(await list('?status=failed')).to.deep.equal([ids[0]]);
    expect(await list('?status=queued&limit=1')).to.deep.equal([ids[4]]);
    const { body } = await space.call(film, '/requests');
    expect(body.object).to.equal('list');
    expect((body.data as object[])[0]).not.to.have.property('output_urls');
  });

  for (const [query, code] of [
    ['limit=0', 'integer_below_min_value'],
    ['limit=-1', 'integer_below_min_value'],
    ['limit=1234567890123', 'integer_above_max_value'],
    ['limit=x', 'invalid_type'],
    ['limit=1.5', 'invalid_type'],
    ['limit=1e3', 'invalid_type'],
    ['status=done', 'invalid_value'],
  ] as const)
    it(`refuses ?${query} as ${code}, with what is allowed`, async () => {
      const message = expectError(await space.call(film, `/requests?${query}`), 400, code);
      expect(message).to.match(/1 to 200|queued, running, succeeded, failed, canceled/);
    });

  it('distinguishes a request of another workspace (403) from none (404)', async () => {
    const foreign = await space.call('other-film', '/videos/generations', { body: ORDER, key: KEYS.other });
    expect(foreign.status).to.equal(202);
    const unknown = [
      `req_${'0'.repeat(32)}`,
      String(await submitOne()).replace(/.{4}$/, 'ffff'),
      'req_1',
      'x%2F..',
    ];
    for (const [method, path] of [
      ['GET', '/requests/ID'],
      ['POST', '/requests/ID/cancel'],
      ['GET', '/videos/ID'],
      ['GET', '/videos/ID/content'],
      ['DELETE', '/videos/ID'],
    ] as const) {
      const call = (id: string) => space.call(film, path.replace('ID', id), { method });
      expectError(await call(String(foreign.body.id)), 403, 'permission_denied');
      for (const id of unknown) expectError(await call(id), 404, 'not_found');
    }
  });

  it('shows a request at every endpoint of its workspace, and images not as videos', async () => {
    const { body } = await space.call('picture', '/images/generations?async=true', {
      body: { model: 'picture', prompt: 'x', size: '64x64' },
    });
    expect(body).to.include({ status: 'queued', modality: 'image' });
    expect((await space.call(film, `/requests/${body.id}`)).status).to.equal(200);
    expectError(await space.call(film, `/videos/${body.id}`), 404, 'not_found');
  });

  it('makes one request of two submissions with one idempotency key at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => submit({}, { 'idempotency-key': film })),
    );
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([202]));
    expect(new Set(answers.map(({ body }) => body.id))).to.have.length(1);
    const { body } = await space.call(film, '/requests');
    expect(body.data).to.have.length(1);
    await space.fail(await space.claim(film));
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).to.have.length(1);
    const repeat = await submit({}, { 'idempotency-key': film });
    expect(repeat.body).to.include({ id: answers[0]!.body.id, status: 'failed' });
    expect((await submit({}, { 'idempotency-key': '' })).body.id).not.to.equal(answers[0]!.body.id);
  });

  it('lets pages of named origins in, and answers them itself', async () => {
    await space.publish(film, FILM, { corsOrigins: ['https://app.example.com'] });
    const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' };
    const preflight = await space.call(film, '/videos', { method: 'OPTIONS', headers, key: 'none' });
    expect(
      [preflight.status, preflight.headers.get('access-control-allow-origin')],
      preflight.text,
    ).to.deep.equal([204, headers.origin]);
    const refused = await space.call(film, '/videos', { headers, key: 'none' });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).to.deep.equal([
      401,
      headers.origin,
    ]);
  });

  it('lists videos by pages, as SDKs ask for them', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) ids.push(await submitOne({ prompt: `cat ${index}` }));
    const list = async (query = '') => (await space.call(film, `/videos${query}`)).body;
    const idsOf = ({ data }: Record<string, unknown>) => (data as { id: string }[]).map(({ id }) => id);
    const all = await list();
    expect(idsOf(all)).to.deep.equal(ids.toReversed());
    expect(all).to.include({ object: 'list', has_more: false, first_id: ids[4], last_id: ids[0] });
    expect((all.data as object[])[0]).to.include({ object: 'video', status: 'queued', prompt: 'cat 4' });
    const page = await list('?limit=2');
    expect([idsOf(page), page.has_more]).to.deep.equal([[ids[4], ids[3]], true]);
    const rest = await list(`?after=${ids[3]}&limit=3`);
    expect([idsOf(rest), rest.has_more]).to.deep.equal([[ids[2], ids[1], ids[0]], false]);
    expect(idsOf(await list(`?order=asc&limit=2&after=${ids[1]}`))).to.deep.equal([ids[2], ids[3]]);
    expect(idsOf(await list(`?after=req_${'0'.repeat(32)}`))).to.deep.equal([]);
    for (const [query, code] of [
      ['?limit=0', 'integer_below_min_value'],
      ['?order=up', 'invalid_value'],
      ['?after=x', 'invalid_value'],
    ] as const)
      expectError(await space.call(film, `/videos${query}`), 400, code);
    expectError(await space.call('picture', '/videos'), 400, 'wrong_modality');
  });

  it('says that there are more videos if some of a page expire while it is read', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) ids.push(await submitOne({ prompt: `cat ${index}` }));
    await space.connection.redis.del(...ids.slice(0, 2).map((id) => workKeys('team').request(id)));
    const { body } = await space.call(film, '/videos?order=asc&limit=2');
    expect((body.data as { id: string }[]).map(({ id }) => id)).to.deep.equal(ids.slice(2, 4));
    expect(body.has_more).to.equal(true);
  });

  it('explains which features of OpenAI’s SDKs are not supported', async () => {
    const id = await submitOne();
    for (const variant of ['thumbnail', 'spritesheet']) {
      const answer = await space.call(film, `/videos/${id}/content?variant=${variant}`);
      expect(expectError(answer, 400, 'unsupported_value')).to.contain('thumbnails');
    }
    expectError(await space.call(film, `/videos/${id}/content?variant=video`), 409, 'video_not_ready');
    const remix = await space.call(film, `/videos/${id}/remix`, { body: { prompt: 'x' } });
    expect(expectError(remix, 400, 'invalid_request_error')).to.contain('film does not support remixing');
    const variations = await space.call('picture', '/images/variations', { body: {} });
    expect(expectError(variations, 400, 'invalid_request_error')).to.contain('POST /v1/images/edits');
  });

  it('shows a video’s prompt as long as its record is kept, and keeps it in no readable form', async () => {
    const prompt = `a secret ${film} ☂`;
    const id = await submitOne({ prompt });
    const { redis } = space.connection;
    const readAll = async () => {
      const keys = await redis.keys(`w:{team}:*${id}*`);
      const values = await Promise.all(keys.map((key) => redis.dump(key)));
      return values.map(String).join(' ');
    };
    const show = async () => (await space.call(film, `/videos/${id}`)).body.prompt;
    expect(await show()).to.equal(prompt);
    await space.succeed(await space.claim(film), Buffer.from('film'));
    expect(await show()).to.equal(prompt);
    expect(await readAll()).not.to.include('secret');
    const long = await submitOne({ prompt: '€'.repeat(3_000) });
    const shown = String((await space.call(film, `/videos/${long}`)).body.prompt);
    expect([shown.slice(0, 3), shown.at(-1)]).to.deep.equal(['€€€', '…']);
  });

  it('debits a video beforehand, gives it back if it fails, and answers 402 when too little is left', async () => {
    await space.publish(film, FILM, {
      pricing: {
        perImage: null,
        perVideoSecond: 400_000,
        perMillionInputTokens: null,
        perMillionOutputTokens: null,
      },
    });
    const spent = async () => Number(await space.connection.redis.get(workKeys('team').credit));
    const before = await spent();
    await space.grant('team', before + 1_000_000);
    await submitOne();
    await submitOne();
    expect((await spent()) - before).to.equal(800_000);
    expectError(await submit(), 402, 'insufficient_quota');
    await space.fail(await space.claim(film));
    expect((await spent()) - before).to.equal(400_000);
    await submitOne();
  });

  it('refuses what the queue has no room for, with Retry-After', async () => {
    const config = await space.publish(film, FILM);
    await space.publish(film, FILM, { limits: { ...config.limits, maxQueued: 1 } });
    await submitOne();
    const answer = await submit();
    expectError(answer, 429, 'queue_full');
    expect(answer.headers.get('retry-after')).to.match(/^\d+$/);
  });

  it('refuses to queue on a Redis that loses things, and says why', async () => {
    await space.refuseAsync('Redis does not persist data across restarts: set appendonly yes.');
    expect(expectError(await submit(), 503, 'temporarily_unavailable')).to.include('appendonly yes');
  });

  it('accepts no new work while paused, and still shows the old', async () => {
    const id = await submitOne();
    await space.publish(film, FILM, { paused: true });
    expectError(await submit(), 503, 'no_pod_available');
    expect((await space.call(film, `/requests/${id}`)).status).to.equal(200);
    expect((await space.call(film, `/requests/${id}/cancel`, { method: 'POST' })).status).to.equal(200);
  });

  it('answers a synchronous image with 503, and says what would be taken', async () => {
    const answer = await space.call('picture', '/images/generations', {
      body: { model: 'picture', prompt: 'x', size: '64x64' },
    });
    expect(expectError(answer, 503, 'no_pod_available')).to.include('async=true');
    expect(answer.headers.get('retry-after')).to.match(/^\d+$/);
  });

  it('wants a key on every route', async () => {
    const id = await submitOne();
    for (const path of [`/requests/${id}`, '/requests', `/videos/${id}`, `/videos/${id}/content`])
      expectError(await space.call(film, path, { key: 'sk-wrong' }), 401, 'invalid_api_key');
  });
});
