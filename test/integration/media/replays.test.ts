import { readdirSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { makePicture } from '../../support/media-files.ts';
import { pollUntil } from '../../support/poll.ts';
import {
  type Answer,
  FILM,
  type FrontWorkspace,
  KEYS,
  PICTURE,
  startFrontWorkspace,
} from './front-workspace.ts';

describe('a submission whose Idempotency-Key was sent before', () => {
  let space: FrontWorkspace;
  let count = 0;
  let headers: { 'idempotency-key': string };

  before(async () => {
    space = await startFrontWorkspace();
    await space.publish('film', { ...FILM, pricing: { perVideoSecond: '0.01' } });
    await space.publish('picture', {
      ...PICTURE,
      image: { sizes: ['64x64'], tasks: ['txt2img', 'img2img'] },
      pricing: { perImage: '0.04' },
    });
    await space.publish('strict', { ...FILM, limits: { idempotency: 'Strict' } });
    await space.grant('team', 1_000_000_000);
  });
  beforeEach(() => {
    headers = { 'idempotency-key': `key-${++count}` };
  });
  after(() => space?.stop());

  const redis = () => space.connection.redis;
  const readSpent = async () => Number((await redis().get(workKeys('team').credit)) ?? 0);
  const readReplays = async ({ body }: Answer) =>
    (await readRequest(redis(), 'team', body.id as string))?.replays ?? null;
  const listInputs = () =>
    readdirSync(space.store.folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.startsWith('inputs/team/req_'),
    );
  const fill = async (fields: Record<string, string>, files: Record<string, number>) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    for (const [name, side] of Object.entries(files))
      form.set(name, new Blob([new Uint8Array(await makePicture(side, side))]), 'a.png');
    return form;
  };
  const expectReplay = (answer: Answer, original: Answer, differing: string | null) => {
    expect([answer.status, answer.body.id], answer.text).to.deep.equal([202, original.body.id]);
    expect(answer.headers.get('idempotent-replayed')).to.equal('true');
    expect(answer.headers.get('x-berth-idempotency-differs')).to.equal(differing);
  };

  type Send = (change: Record<string, string>, side?: number) => Promise<Answer>;
  const ROUTES: { route: string; deployment: string; send: Send; file: string | null }[] = [
    {
      route: '/images/generations',
      deployment: 'picture',
      file: null,
      send: (change) =>
        space.call('picture', '/images/generations?async=true', {
          body: { model: 'picture', prompt: 'a cat', size: '64x64', ...change },
          headers,
        }),
    },
    {
      route: '/images/edits',
      deployment: 'picture',
      file: 'image',
      send: async (change, side = 64) =>
        space.call('picture', '/images/edits?async=true', {
          body: await fill({ model: 'picture', prompt: 'a cat', size: '64x64', ...change }, { image: side }),
          headers,
        }),
    },
    {
      route: '/videos',
      deployment: 'film',
      file: 'input_reference',
      send: async (change, side = 64) =>
        space.call('film', '/videos', {
          body: await fill(
            { model: 'film', prompt: 'a cat', size: '64x64', seconds: '1', ...change },
            { input_reference: side },
          ),
          headers,
        }),
    },
    {
      route: '/videos/generations',
      deployment: 'film',
      file: null,
      send: (change) =>
        space.call('film', '/videos/generations', {
          body: { model: 'film', prompt: 'a cat', resolution: '64x64', duration: 1, ...change },
          headers,
        }),
    },
  ];

  for (const { route, deployment, send, file } of ROUTES)
    it(`gets the original of ${route} as it is now, whatever it carries, and costs nothing`, async () => {
      const original = await send({});
      expect(original.status, original.text).to.equal(202);
      expect(original.headers.get('idempotent-replayed')).to.equal(null);
      expect(await readReplays(original)).to.equal(null);
      const [spent, inputs, records] = [
        await readSpent(),
        listInputs(),
        await redis().zcard(workKeys('team').index(deployment, 'all')),
      ];
      expect(spent).to.be.greaterThan(0);

      expectReplay(await send({}), original, null);
      await pollUntil(async () => (await readReplays(original))?.count === 1, 'the first replay');
      expect((await readReplays(original))!.differing).to.deep.equal([]);
      const other = { prompt: 'a dog', size: 'as large as it gets', webhook_url: 'nowhere' };
      expectReplay(await send(other), original, 'prompt, size, webhook_url');
      if (file) expectReplay(await send({}, 32), original, file);
      await pollUntil(async () => (await readReplays(original))?.count === (file ? 3 : 2), 'all replays');
      expect((await readReplays(original))!.differing).to.deep.equal(
        file ? [file] : ['prompt', 'size', 'webhook_url'],
      );

      expect(await readSpent(), 'charged once').to.equal(spent);
      expect(listInputs().filter((path) => !inputs.includes(path))).to.deep.equal([]);
      expect(await redis().zcard(workKeys('team').index(deployment, 'all'))).to.equal(records);
      await space.fail(await space.claim(deployment));
      expect((await send({ prompt: 'a bird' })).body).to.include({ id: original.body.id, status: 'failed' });
    });

  it('gets the original where it lacks fields, or comes by the other route of videos', async () => {
    const [videos, generations] = [ROUTES[2]!, ROUTES[3]!];
    const made = await generations.send({});
    const bare = await space.call('film', '/videos/generations', { body: { prompt: 'a cat' }, headers });
    expectReplay(bare, made, null);
    const form = await videos.send({});
    expect(form.body).to.include({ id: made.body.id, object: 'video' });
    expect(form.headers.get('x-berth-idempotency-differs')).to.equal('path, seconds, size, input_reference');
    await space.fail(await space.claim('film'));
  });

  it('is one request of all that are sent at once, one of which is new', async () => {
    const { send } = ROUTES[3]!;
    const answers = await Promise.all(['a', 'b', 'c'].map((prompt) => send({ prompt })));
    const [made, ...rest] = answers.filter(({ headers: own }) => !own.has('idempotent-replayed'));
    expect(rest).to.deep.equal([]);
    const replays = answers.filter((answer) => answer !== made);
    for (const answer of replays) expectReplay(answer, made!, 'prompt');
    await pollUntil(async () => (await readReplays(made!))?.count === 2, 'both are recorded');
    await space.fail(await space.claim('film'));
  });

  it('is the replay if its body ends later, though it began first, and leaves no input', async () => {
    const { send } = ROUTES[2]!;
    const form = new Response(
      await fill({ model: 'film', prompt: 'slow', seconds: '1', size: '64x64' }, { input_reference: 64 }),
    );
    const body = Buffer.from(await form.arrayBuffer());
    const url = new URL(`${space.front.origin}/v1/videos`);
    const slow = httpRequest(url, {
      method: 'POST',
      headers: {
        ...headers,
        host: 'film.example',
        authorization: `Bearer ${KEYS.team}`,
        'content-type': form.headers.get('content-type')!,
        'content-length': body.length,
      },
    });
    const answered = new Promise<{ status: number; differing: unknown }>((resolve, reject) => {
      slow.on('error', reject).on('response', (response) => {
        response.resume();
        resolve({
          status: response.statusCode!,
          differing: response.headers['x-berth-idempotency-differs'],
        });
      });
    });
    slow.write(body.subarray(0, body.length - 10));
    const made = await send({});
    expect(made.headers.get('idempotent-replayed')).to.equal(null);
    const inputs = listInputs();
    slow.end(body.subarray(body.length - 10));
    expect(await answered).to.deep.equal({ status: 202, differing: 'prompt' });
    expect(listInputs().filter((path) => !inputs.includes(path))).to.deep.equal([]);
    await space.fail(await space.claim('film'));
  });

  it('is refused with 409 on a deployment that says Strict, if a field differs', async () => {
    const send = (change: object) =>
      space.call('strict', '/videos/generations', {
        body: { model: 'film', prompt: 'a cat', resolution: '64x64', duration: 1, ...change },
        headers,
      });
    const original = await send({});
    for (const change of [{ prompt: 'a dog' }, { seed: 8 }, { fps: 12 }]) {
      const { status, body, text, headers: own } = await send(change);
      expect([status, (body.error as { code: string }).code], text).to.deep.equal([
        409,
        'idempotency_key_reused',
      ]);
      expect(own.get('x-should-retry')).to.equal('false');
      expect(own.get('idempotent-replayed')).to.equal(null);
      expect(text).to.include(Object.keys(change)[0]);
    }
    expectReplay(await send({}), original, null);
  });

  it('shows pages of other origins what happened', async () => {
    await space.publish('open', FILM, { corsOrigins: ['*'] });
    const { headers: own } = await space.call('open', '/requests', {
      headers: { origin: 'https://a.example' },
    });
    const exposed = own.get('access-control-expose-headers')!.split(', ');
    expect(exposed).to.include.members(['idempotent-replayed', 'x-berth-idempotency-differs']);
  });
});
