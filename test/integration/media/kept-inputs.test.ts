import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { configKeys, workKeys } from '../../../api/redis-keys.ts';
import { publishSessionKey } from '../../../redis/console/console-sessions.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { makePicture } from '../../support/media-files.ts';
import { FILM, type FrontWorkspace, startFrontWorkspace } from './front-workspace.ts';

const HOUR_MS = 3_600_000;
const PERSON = 'sk-person';
const FILM_NAME = 'film';
const ORDER = { model: 'film', prompt: 'a cat on a roof', resolution: '64x64', duration: 1, seed: 7 };

describe('inputs that a workspace keeps', () => {
  let space: FrontWorkspace;

  before(async () => {
    space = await startFrontWorkspace();
    await space.publish(FILM_NAME, { ...FILM, pricing: { perVideoSecond: '0.0001' } });
    await publishSessionKey(space.connection.redis, 'team', {
      sha256: hashApiKey(PERSON),
      name: 'console:anna',
      rpm: 100,
      tpd: 100,
      expiresAt: Date.now() + HOUR_MS,
    });
  });
  beforeEach(() => keep(HOUR_MS));
  after(() => space?.stop());

  const keep = (milliseconds: number | null) => {
    const key = configKeys('team').workspace;
    const { redis } = space.connection;
    return milliseconds === null
      ? redis.hdel(key, 'keepInputsMs')
      : redis.hset(key, 'keepInputsMs', milliseconds);
  };
  const submit = async (body: object | FormData = ORDER, path = '/videos/generations') => {
    const answer = await space.call(FILM_NAME, path, { body });
    expect(answer.status, answer.text).to.equal(202);
    return answer.body.id as string;
  };
  const fail = async () => space.fail(await space.claim(FILM_NAME));
  const readInput = (id: string, key = PERSON) => space.call(FILM_NAME, `/requests/${id}/input`, { key });
  const retry = (id: string, key = PERSON) =>
    space.call(FILM_NAME, `/requests/${id}/retry`, { method: 'POST', key });
  const params = (id: string) => workKeys('team').params(id);

  it('are shown to people after the end, sealed in Redis until their time', async () => {
    const id = await submit();
    await fail();
    const { body } = await readInput(id);
    expect(body.parameters).to.include({ prompt: 'a cat on a roof', size: '64x64', seed: 7 });
    expect(body.files).to.deep.equal([]);
    const { redis } = space.connection;
    expect(await redis.get(params(id))).not.to.include('cat');
    expect(await redis.pttl(params(id))).to.be.within(1, HOUR_MS);
  });

  it('are neither shown to an API key, nor repeated for one', async () => {
    const id = await submit();
    await fail();
    for (const answer of [await readInput(id, 'sk-team'), await retry(id, 'sk-team')])
      expect(answer.status, answer.text).to.equal(404);
  });

  it('are not kept where the workspace does not say so, and no longer than the record', async () => {
    await keep(null);
    const id = await submit();
    await fail();
    expect((await readInput(id)).body).to.deep.equal({ parameters: null, files: [] });
    const refused = await retry(id);
    expect([refused.status, (refused.body.error as { message: string }).message]).to.deep.equal([
      409,
      'The input of this request is not kept.',
    ]);
    await keep(1_000 * HOUR_MS);
    const other = await submit();
    await fail();
    const { redis } = space.connection;
    const keepMs = Number(await redis.hget(workKeys('team').request(other), 'keep_ms'));
    expect(await redis.pttl(params(other))).to.be.within(1, keepMs);
  });

  it('are submitted again as a new request, which costs as much, and both name each other', async () => {
    const id = await submit();
    await fail();
    const { status, body, text } = await retry(id);
    expect(status, text).to.equal(202);
    const again = body.id as string;
    expect(again).not.to.equal(id);
    const { redis } = space.connection;
    const [first, second] = [await readRequest(redis, 'team', id), await readRequest(redis, 'team', again)];
    expect([first!.retriedAs, first!.retryOf]).to.deep.equal([again, null]);
    expect([second!.retriedAs, second!.retryOf, second!.status]).to.deep.equal([null, id, 'queued']);
    expect(second!.charge).to.include({ keyName: 'console:anna', micros: first!.charge!.micros });
    const job = await space.claim(FILM_NAME);
    expect(job.claim.id).to.equal(again);
    expect(JSON.parse(job.params).parameters).to.include({ prompt: 'a cat on a roof', seed: 7 });
    await space.fail(job);
  });

  it('are repeated only of what failed or was canceled, and not without their files', async () => {
    const queued = await submit();
    const early = await retry(queued);
    expect([early.status, (early.body.error as { message: string }).message]).to.deep.equal([
      409,
      `The request ${queued} is queued; only failed and canceled ones can be retried.`,
    ]);
    await space.call(FILM_NAME, `/requests/${queued}/cancel`, { method: 'POST' });
    expect((await retry(queued)).status).to.equal(202);
    await fail();
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: 'film', prompt: 'x', seconds: '1', size: '64x64' }))
      form.set(name, value);
    form.set('input_reference', new Blob([new Uint8Array(await makePicture(64, 64))]), 'a.png');
    const withFile = (await space.call(FILM_NAME, '/videos', { body: form })).body.id as string;
    await fail();
    const { body } = await readInput(withFile);
    expect((body.files as { fileName: string }[])[0]).to.include({ contentType: 'image/png' });
    const refused = await retry(withFile);
    expect([refused.status, (refused.body.error as { message: string }).message]).to.deep.equal([
      409,
      'The input files of this request are not kept.',
    ]);
  });
});
