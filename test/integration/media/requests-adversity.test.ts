import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { publishReplicas } from '../../../redis/publication/publication.ts';
import { cancelRequest, claimRequest } from '../../../redis/requests/request-calls.ts';
import { makePicture } from '../../support/media-files.ts';
import { pollUntil } from '../../support/poll.ts';

import { REDIS_PASSWORDS } from '../../support/redis-server.ts';
import { newToken } from '../../support/request-fixture.ts';
import { type Answer, FILM, type FrontWorkspace, KEYS, startFrontWorkspace } from './front-workspace.ts';

const ORDER = { model: 'film', prompt: 'a cat', resolution: '64x64', duration: 1 };
/** An address of loopback where nothing listens. */
const NOBODY = '127.0.0.77';

describe('requests at a front while others fail or race', () => {
  let space: FrontWorkspace;
  let count = 0;
  let film: string;

  before(async () => {
    space = await startFrontWorkspace();
  });
  beforeEach(async () => {
    film = `film-${++count}`;
    await space.publish(film, FILM);
  });
  after(() => space?.stop());

  const submit = (headers: Record<string, string> = {}) =>
    space.call(film, '/videos/generations', { body: ORDER, headers });
  const submitOne = async (): Promise<string> => {
    const { status, body, text: answer } = await submit();
    expect(status, answer).to.equal(202);
    return body.id as string;
  };
  const buildForm = async () => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: 'film', prompt: 'x', seconds: '1', size: '64x64' }))
      form.set(name, value);
    form.set('input_reference', new Blob([new Uint8Array(await makePicture(64, 64))]), 'a.png');
    return form;
  };
  const list = async (query = '') =>
    (await space.call(film, `/requests${query}`)).body.data as { id: string; status: string }[];
  const expectError = ({ status, body, text: answer }: Answer, wanted: number, code: string) => {
    expect(status, answer).to.equal(wanted);
    expect((body.error as Record<string, unknown>).code).to.equal(code);
  };
  const claim = () =>
    claimRequest(space.connection.redis, {
      namespace: 'team',
      deployment: film,
      token: newToken(),
      pod: 'pod',
      leaseMs: 60_000,
    });
  const listInputs = () =>
    readdirSync(space.store.folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /^inputs\/team\/req_\w+\/./.test(path),
    );

  it('are taken, uploads included, where the only replica has just gone', async () => {
    await publishReplicas(space.connection.redis, 'team', film, [NOBODY]);
    const { status, body, text: answer } = await space.call(film, '/videos', { body: await buildForm() });
    expect(status, answer).to.equal(202);
    expect(body.status).to.equal('queued');
    expect((await list()).map(({ id }) => id)).to.deep.equal([body.id]);
    expectError(await space.call(film, '/models'), 503, 'no_pod_available');
  });

  it('are claimed or canceled, never both, when a worker and a client want them at once', async () => {
    const ids = await Promise.all(Array.from({ length: 24 }, submitOne));
    const answers = new Map<string, number>();
    const claims: ReturnType<typeof claim>[] = [];
    const waiting = ids.entries();
    const cancelNext = async (): Promise<void> => {
      for (const [index, id] of waiting) {
        const { status } = await (index % 2 === 0
          ? space.call(film, `/requests/${id}/cancel`, { method: 'POST' })
          : space.call(film, `/videos/${id}`, { method: 'DELETE' }));
        answers.set(id, status);
        // From the third answer on, so that both have their share.
        if (answers.size >= 3) claims.push(claim(), claim());
      }
    };
    await Promise.all([1, 2, 3, 4].map(cancelNext));
    const jobs = await Promise.all(claims);
    const claimed = new Set(jobs.flatMap((job) => (job ? [job.claim.id] : [])));
    expect(claimed.size).to.be.within(1, ids.length - 3);
    const statuses = new Map((await list('?limit=200')).map(({ id, status }) => [id, status]));
    for (const [index, id] of ids.entries()) {
      const isClaimed = claimed.has(id);
      const confirmed = index % 2 === 0 ? 200 : 204;
      expect(answers.get(id), id).to.equal(isClaimed ? 409 : confirmed);
      expect(statuses.get(id)).to.equal(isClaimed ? 'running' : 'canceled');
    }
  });

  it('are canceled by one of many who ask at once', async () => {
    const id = await submitOne();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => space.call(film, `/requests/${id}/cancel`, { method: 'POST' })),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(409)]);
  });

  it('are canceled whatever body comes along', async () => {
    for (const body of [{}, { any: 'x'.repeat(1_000_000) }]) {
      const id = await submitOne();
      const { status, body: record } = await space.call(film, `/requests/${id}/cancel`, { body });
      expect(status).to.equal(200);
      expect(record.status).to.equal('canceled');
    }
  });

  it('keep one copy of an upload that was sent twice at once', async () => {
    const before = new Set(listInputs());
    const headers = { 'idempotency-key': film };
    const answers = await Promise.all(
      [1, 2].map(async () => space.call(film, '/videos', { body: await buildForm(), headers })),
    );
    expect(answers.map(({ status }) => status)).to.deep.equal([202, 202]);
    const ids = (await list()).map(({ id }) => id);
    expect(ids).to.have.length(1);
    expect(new Set(answers.map(({ body }) => body.id))).to.deep.equal(new Set(ids));
    const added = () => listInputs().filter((path) => !before.has(path) && path.endsWith('.png'));
    await pollUntil(() => added().length === 1, 'the other copy is removed');
    expect(added()[0]).to.include(ids[0]);
  });

  it('are not queued while their uploads cannot be stored', async () => {
    const { folder } = space.store;
    renameSync(folder, `${folder}-away`);
    // Otherwise the folder would be made again.
    writeFileSync(folder, '');
    try {
      const answer = await space.call(film, '/videos', { body: await buildForm() });
      expectError(answer, 502, 'storage_upload_failed');
    } finally {
      rmSync(folder);
      renameSync(`${folder}-away`, folder);
    }
    expect(await list()).to.deep.equal([]);
  });

  it('are listed 200 at most, newest first, however many there are', async () => {
    const { redis } = space.connection;
    const ids: string[] = [];
    for (let i = 0; i < 230; i++) {
      const id = await submitOne();
      ids.unshift(id);
      if (i % 10 === 0) await cancelRequest(redis, { namespace: 'team', id, token: newToken() });
    }
    expect((await list()).map(({ id }) => id)).to.deep.equal(ids.slice(0, 50));
    for (const limit of [200, 201, 99_999])
      expect((await list(`?limit=${limit}`)).map(({ id }) => id)).to.deep.equal(ids.slice(0, 200));
    expect(await list('?status=canceled&limit=200')).to.have.length(23);
  });

  it('can be read but not made while the deployment is being deleted', async () => {
    const id = await submitOne();
    await space.publish(film, FILM, { deleting: true });
    expectError(await submit(), 503, 'no_pod_available');
    expect((await space.call(film, `/videos/${id}`)).body.status).to.equal('queued');
  });

  it('are refused with Retry-After while Redis does not answer, and the front serves on', async () => {
    const id = await submitOne();
    space.redis.pause();
    try {
      for (const answer of await Promise.all([submit(), space.call(film, `/requests/${id}`)])) {
        expectError(answer, 503, 'temporarily_unavailable');
        expect(answer.headers.get('retry-after')).to.equal('2');
      }
    } finally {
      space.redis.resume();
    }
    await pollUntil(
      async () => (await space.call(film, `/requests/${id}`)).status === 200,
      'the front is back',
    );
  });

  it('wait for a Redis that comes back soon, and are made once', async () => {
    const body = JSON.stringify(ORDER);
    const sent = request(`${space.front.origin}/v1/videos/generations`, {
      method: 'POST',
      headers: {
        host: `${film}.example`,
        authorization: `Bearer ${KEYS.team}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
      sent.on('error', reject);
      sent.on('response', (message) => {
        text(message).then((answer) => resolve({ status: message.statusCode!, body: answer }), reject);
      });
    });
    // Its key is checked before its body has come.
    const seen = await monitorCommands(space.redis);
    sent.write(body.slice(0, 10));
    await pollUntil(() => seen.text.includes(hashApiKey(KEYS.team)), 'the read of the key');
    seen.stop();
    space.redis.pause();
    sent.end(body.slice(10));
    setTimeout(() => space.redis.resume(), 1_500);
    const { status, body: answer } = await answered;
    expect(status, answer).to.equal(202);
    expect((await list()).map(({ id }) => id)).to.deep.equal([JSON.parse(answer).id]);
  });
});

/** What Redis is told, by a plain socket: ioredis fails where the first lines come together with the answer to MONITOR. */
async function monitorCommands({ port }: { port: number }): Promise<{ text: string; stop: () => void }> {
  const socket = connect(port, '127.0.0.1')
    .setEncoding('utf8')
    .on('error', () => {});
  const seen = { text: '', stop: () => socket.destroy() };
  socket.on('data', (piece) => {
    seen.text += piece;
  });
  socket.write(`AUTH berth-operator ${REDIS_PASSWORDS.operator}\r\nMONITOR\r\n`);
  await pollUntil(() => seen.text.startsWith('+OK\r\n+OK\r\n'), 'MONITOR');
  return seen;
}
