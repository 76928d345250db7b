import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { EngineMemoryError } from '../../../gateway/engine/engine-error.ts';
import { generateVideo, type VideoCall } from '../../../gateway/engine/video-call.ts';
import { ApiError } from '../../../gateway/http/error-response.ts';
import { Spool } from '../../../gateway/storage/spool.ts';
import { Pools } from '../../../gateway/upstream/pools.ts';
import { pollUntil } from '../../support/poll.ts';
import { rejection } from '../../support/redis-client.ts';

interface Reply {
  status?: number;
  body?: unknown;
}
type Script = (method: string, path: string, body: Buffer, type: string) => Reply | null;

const COMPLETED = { id: 'v1', status: 'completed', progress: 100 };
const WORKING = { id: 'v1', status: 'in_progress', progress: 40 };

/** Engines that do what the simulator does not. */
describe('a call of a video engine', () => {
  let server: Server;
  let pools: Pools;
  let spool: Spool;
  let script: Script;
  let calls: string[];
  let released: number;

  before(async () => {
    spool = await Spool.open({ folder: join(tmpdir(), `berth-video-call-${process.pid}`), maxBytes: 1e6 });
  });
  beforeEach(async () => {
    calls = [];
    released = 0;
    server = createServer((request, response) => void answer(request, response));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    pools = new Pools();
  });
  afterEach(async () => {
    await pools.destroy();
    server.closeAllConnections();
    server.close();
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { method = '', url = '', headers } = request;
    calls.push(`${method} ${url}`);
    const reply = script(method, url, body, headers['content-type'] ?? '');
    if (!reply) return void request.socket.destroy();
    const text = Buffer.isBuffer(reply.body) ? reply.body : JSON.stringify(reply.body ?? {});
    response.writeHead(reply.status ?? 200).end(text);
  }

  const call = (changes: Partial<VideoCall> = {}) =>
    generateVideo({
      pool: pools.get(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
      requestId: 'req_1',
      servedModelName: 'film',
      parameters: { task: 't2v', prompt: 'a cat', size: '64x64', frames: 9, fps: 8 },
      references: [],
      referencesField: 'input_references',
      hold: (source, signal) => spool.hold(source, { maxBytes: 1e6, signal }),
      isEngineLost: () => false,
      onEngineLost: () => {},
      onProgress: () => {},
      signal: new AbortController().signal,
      onRelease: () => released++,
      deleteEndsWork: true,
      timing: { initialPollIntervalMs: 1, maxPollIntervalMs: 5, releaseTimeoutMs: 200 },
      ...changes,
    });
  const isContent = (path: string) => path.endsWith('/content');

  it('sends references from disk: one by the usual name, several by the engine’s', async () => {
    const path = join(tmpdir(), `berth-reference-${process.pid}.png`);
    writeFileSync(path, 'image');
    const file = { path, bytes: 5, contentType: 'image/png', fileName: 'a.png' };
    const bodies: string[] = [];
    script = (method, url, body) => {
      if (method === 'POST') bodies.push(body.toString());
      return isContent(url) ? { body: Buffer.from('film') } : { body: COMPLETED };
    };
    for (const references of [[file], [file, { ...file, fileName: 'b.png' }]])
      await (await call({ references })).file.remove();
    rmSync(path);
    expect(bodies[0]).to.match(
      /name="input_reference"; filename="a.png"\r\ncontent-type: image\/png\r\n\r\nimage\r\n--/,
    );
    expect(bodies[1]!.match(/name="input_references"; filename="[ab].png"/g)).to.have.lengthOf(2);
  });

  it('falls back to JSON where a form without a file is refused', async () => {
    let seen: Record<string, unknown> = {};
    script = (method, path, body, type) => {
      if (isContent(path)) return { body: Buffer.from('film') };
      if (method !== 'POST') return { body: COMPLETED };
      if (type.startsWith('multipart/'))
        return { status: 400, body: { detail: 'input_reference file is required for multipart requests' } };
      seen = JSON.parse(body.toString());
      return { body: WORKING };
    };
    const { file } = await call();
    expect(file.bytes).to.equal(4);
    expect(seen).to.deep.equal({ model: 'film', prompt: 'a cat', size: '64x64', num_frames: 9, fps: 8 });
    await file.remove();
  });

  it('reports the rejection of the form if JSON is rejected as well', async () => {
    script = (_method, _path, _body, type) => ({
      status: type.startsWith('multipart/') ? 400 : 422,
      body: { detail: type.startsWith('multipart/') ? 'the form field size is wrong' : 'no JSON here' },
    });
    const error = (await rejection(call())) as ApiError;
    expect(error).to.include({ code: 'invalid_request_error', message: 'the form field size is wrong' });
    expect(calls).to.deep.equal(['POST /v1/videos', 'POST /v1/videos']);
    expect(released).to.equal(1);
  });

  it('asks once only where the refusal has nothing to do with forms', async () => {
    script = () => ({ status: 400, body: { detail: 'num_frames is too large' } });
    expect(await rejection(call())).to.be.instanceOf(ApiError);
    expect(calls).to.deep.equal(['POST /v1/videos']);
  });

  it('bears polls that fail for a while', async () => {
    let polls = 0;
    script = (method, path) => {
      if (isContent(path)) return { body: Buffer.from('film') };
      if (method === 'POST') return { body: WORKING };
      polls++;
      if (polls <= 3) return polls === 2 ? null : { status: 503, body: { detail: 'busy' } };
      return { body: COMPLETED };
    };
    const { file, forget } = await call();
    expect(polls).to.equal(4);
    await forget();
    expect(calls.at(-1)).to.equal('DELETE /v1/videos/v1');
    expect(released).to.equal(1);
    await file.remove();
  });

  it('fails when they go on failing', async () => {
    script = (method) => (method === 'POST' ? { body: WORKING } : { status: 503, body: { detail: 'busy' } });
    const error = (await rejection(call())) as ApiError;
    expect(error.code).to.equal('upstream_error');
    await pollUntil(() => released === 1, 'the slot');
  });

  it('fails when the engine restarted and knows nothing', async () => {
    script = (method) => (method === 'POST' ? { body: WORKING } : { status: 404, body: {} });
    const error = (await rejection(call())) as ApiError;
    expect(error.message).to.match(/restarted/);
    await pollUntil(() => released === 1, 'the slot');
  });

  it('recognizes an engine’s lack of memory in each form', async () => {
    for (const error of ['CUDA out of memory', { code: 'x', message: 'torch.OutOfMemoryError' }]) {
      script = (method) => ({ body: method === 'POST' ? WORKING : { id: 'v1', status: 'failed', error } });
      expect(await rejection(call())).to.be.instanceOf(EngineMemoryError);
    }
  });

  it('refuses an empty film', async () => {
    script = (method, path) =>
      isContent(path) ? { body: Buffer.alloc(0) } : { body: method === 'POST' ? WORKING : COMPLETED };
    expect(((await rejection(call())) as ApiError).message).to.match(/empty/);
  });

  it('holds the slot after cancellation until the engine has stopped', async () => {
    let deletions = 0;
    script = (method) => {
      if (method !== 'DELETE') return { body: WORKING };
      // As an engine that cannot stop at once.
      return ++deletions < 3 ? { status: 409, body: { detail: 'still running' } } : { body: {} };
    };
    const giveUp = new AbortController();
    const reason = new Error('enough');
    const ended = rejection(call({ signal: giveUp.signal, onProgress: () => giveUp.abort(reason) }));
    expect(await ended).to.equal(reason);
    expect(released).to.equal(0);
    await pollUntil(() => released === 1, 'the slot');
    expect(deletions).to.equal(3);
  });

  it('holds it no longer than it must', async () => {
    script = (method) => (method === 'DELETE' ? { status: 409, body: {} } : { body: WORKING });
    const giveUp = new AbortController();
    await rejection(call({ signal: giveUp.signal, onProgress: () => giveUp.abort(new Error('enough')) }));
    await pollUntil(() => released === 1, 'the slot');
  });

  describe('whose DELETE forgets a video and works on', () => {
    const abandon = (changes: Partial<VideoCall> = {}) => {
      const giveUp = new AbortController();
      const ends: string[] = [];
      const ended = rejection(
        call({
          deleteEndsWork: false,
          signal: giveUp.signal,
          onProgress: () => giveUp.abort(new Error('enough')),
          onAbandon: () => ends.push('abandoned'),
          onLetGo: (end) => ends.push(end),
          ...changes,
        }),
      );
      return { ends, ended };
    };

    it('keeps the slot until the work has ended, and only then deletes', async () => {
      let polls = 0;
      script = (method) => (method === 'GET' && ++polls > 3 ? { body: COMPLETED } : { body: WORKING });
      const { ends, ended } = abandon();
      await ended;
      expect({ released, ends }).to.deep.equal({ released: 0, ends: ['abandoned'] });
      await pollUntil(() => released === 1, 'the slot');
      expect(ends).to.deep.equal(['abandoned', 'finished']);
      await pollUntil(() => calls.at(-1) === 'DELETE /v1/videos/v1', 'the deletion');
      expect(calls.filter((one) => one.startsWith('DELETE'))).to.have.lengthOf(1);
      expect(polls).to.equal(4);
    });

    it('is stuck if it never comes to its end', async () => {
      script = () => ({ body: WORKING });
      const { ends, ended } = abandon();
      await ended;
      await pollUntil(() => released === 1, 'the slot');
      expect(ends).to.deep.equal(['abandoned', 'stuck']);
      expect(calls.some((one) => one.startsWith('DELETE'))).to.equal(false);
    });

    it('is done with it where the engine restarts meanwhile', async () => {
      let isLost = false;
      script = () => ({ body: WORKING });
      const { ends, ended } = abandon({ isEngineLost: () => isLost });
      await ended;
      isLost = true;
      await pollUntil(() => released === 1, 'the slot');
      expect(ends).to.deep.equal(['abandoned', 'gone']);
    });
  });

  describe('that answers polls of a failed video with an error’s status', () => {
    const fail = (status: number, message: string) => {
      script = (method) =>
        method === 'POST'
          ? { body: WORKING }
          : { status, body: { id: 'v1', status: 'failed', progress: 0, error: { code: status, message } } };
    };
    const countPolls = () => calls.filter((one) => one.startsWith('GET')).length;

    it('is asked once, and its reason told', async () => {
      fail(500, 'No CUDA GPUs are available');
      const error = (await rejection(call())) as ApiError;
      expect(error).to.include({
        code: 'upstream_error',
        message: 'The engine failed: No CUDA GPUs are available',
      });
      expect(countPolls()).to.equal(1);
    });

    it('lacks memory where it says so', async () => {
      fail(500, 'CUDA out of memory. Tried to allocate 2 GiB.');
      expect(await rejection(call())).to.be.instanceOf(EngineMemoryError);
    });

    for (const status of [400, 404])
      it(`blames the request, or is not taken for one that has restarted: ${status}`, async () => {
        fail(status, 'At most 81 frames are supported.');
        const error = (await rejection(call())) as ApiError;
        expect(error.message).to.include('At most 81 frames');
        expect(error.code).to.equal(status === 400 ? 'invalid_request_error' : 'upstream_error');
        expect(countPolls()).to.equal(1);
      });
  });
});
