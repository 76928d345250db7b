import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { publishApiKeys } from '../../../redis/publication/publication.ts';
import { readError } from '../../support/chat.ts';
import { describePicture, makePicture, probeFilm } from '../../support/media-files.ts';
import { API_KEY } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';

import { type JobStack, startJobStack } from './job-stack.ts';

const authorization = `Bearer ${API_KEY}`;
type Body = Record<string, unknown>;

async function start(options: Parameters<typeof startJobStack>[0]): Promise<JobStack> {
  const stack = await startJobStack(options);
  const key = { n: 'test', rpm: 100_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
  await publishApiKeys(stack.connection.redis, 'team', new Map([[hashApiKey(API_KEY), key]]));
  return stack;
}

describe('an endpoint whose requests wait and run', () => {
  let stack: JobStack;
  afterEach(() => stack?.stop());

  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${stack.pods[0]!.replica.url}${path}`, { ...init, headers: { authorization, ...init.headers } });
  const post = (path: string, body: Body) =>
    call(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
  const readJSON = async (answer: Response, status: number): Promise<Body> => {
    const text = await answer.text();
    expect(answer.status, text).to.equal(status);
    return JSON.parse(text);
  };
  const untilSucceeded = async (id: unknown): Promise<Body> => {
    let body: Body = {};
    await pollUntil(async () => {
      body = await readJSON(await call(`/requests/${id}`), 200);
      return body.status === 'succeeded';
    }, 'success');
    return body;
  };

  it('gives one slot to synchronous and asynchronous images, one after the other', async () => {
    stack = await start({ kind: 'Image', jobSeconds: 1 });
    const { engine } = stack.pods[0]!;
    const sync = post('/images/generations', order);
    await pollUntil(async () => (await engine.read()).inflight === 1, 'the synchronous one runs');
    const { id } = await readJSON(await post('/images/generations?async=true', order), 202);
    expect((await readJSON(await call(`/requests/${id}`), 200)).status).to.equal('queued');
    await readJSON(await sync, 200);

    await pollUntil(async () => (await engine.read()).requests === 2, 'the asynchronous one runs');
    const refused = await post('/images/generations', order);
    expect(await readError(refused)).to.include({ status: 429, code: 'replica_saturated' });
    const { output_urls: links } = await untilSucceeded(id);
    const [link] = links as string[];
    expect(await describePicture(await (await fetch(link!)).arrayBuffer())).to.equal('png 64x64');
    await readJSON(await post('/images/generations', order), 200);
  });

  const order = { model: 'berth/chat', prompt: 'a cat', size: '64x64' };
  const edit = async () => {
    const body = new FormData();
    for (const [name, value] of Object.entries(order)) body.set(name, value);
    body.set('image', new File([new Uint8Array(await makePicture(64, 64))], 'cat.png'));
    return call('/images/edits', { method: 'POST', body });
  };
  /** With an asynchronous image for each engine. */
  const occupy = async () => {
    for (const _ of stack.pods) await readJSON(await post('/images/generations?async=true', order), 202);
    const readInflight = async () =>
      (await Promise.all(stack.pods.map(({ engine }) => engine.read()))).map(({ inflight }) => inflight);
    await pollUntil(async () => (await readInflight()).every((count) => count === 1), 'every engine is busy');
  };

  it('refuses synchronous images at once while every replica is busy', async () => {
    stack = await start({ kind: 'Image', jobSeconds: 60, pods: 2, spec: { limits: {} } });
    expect(stack.config.limits.waitForSlotMs).to.equal(0);
    await occupy();
    for (const ask of [() => post('/images/generations', order), edit]) {
      const refused = await readError(await ask());
      expect(refused).to.include({ status: 429, code: 'replica_saturated', retryAfter: '5' });
    }
  });

  it('lets them wait for their turn where the deployment says so', async () => {
    stack = await start({ kind: 'Image', jobSeconds: 2, spec: { limits: { waitForSlot: '60s' } } });
    await occupy();
    expect((await edit()).status).to.equal(200);
  });

  it('makes a video of a picture, and sends who asks for it to a link', async () => {
    stack = await start({ kind: 'Video', jobSeconds: 0.5 });
    const form = new FormData();
    for (const [name, value] of Object.entries({
      model: 'berth/chat',
      prompt: 'a cat',
      size: '64x64',
      seconds: '2',
      fps: '8',
    }))
      form.set(name, value);
    form.set('input_reference', new File([new Uint8Array(await makePicture(64, 64))], 'cat.png'));
    const video = await readJSON(await call('/videos', { method: 'POST', body: form }), 202);
    expect(video).to.include({ object: 'video', progress: 0 });
    await untilSucceeded(video.id);
    expect(await readJSON(await call(`/videos/${video.id}`), 200)).to.include({
      status: 'completed',
      progress: 100,
    });
    const content = await call(`/videos/${video.id}/content`, { redirect: 'manual' });
    expect(content.status).to.equal(302);
    const bytes = await (await fetch(content.headers.get('location')!)).arrayBuffer();
    expect(await probeFilm(bytes)).to.deep.equal({ codec: 'h264', size: '64x64', frames: 17, fps: 8 });
    const { last } = await stack.pods[0]!.engine.read();
    expect((last!.body as { name: string }[]).map(({ name }) => name)).to.include('input_reference');
  });
});
