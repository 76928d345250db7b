import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { EngineMemoryError } from '../../../gateway/engine/engine-error.ts';
import { generateImages, type ImageCall } from '../../../gateway/engine/image-call.ts';
import { ApiError } from '../../../gateway/http/error-response.ts';
import { Pools } from '../../../gateway/upstream/pools.ts';
import { makePicture } from '../../support/media-files.ts';
import { pollUntil } from '../../support/poll.ts';
import { rejection } from '../../support/redis-client.ts';
import { startScriptedEngine } from '../../support/text-endpoint.ts';

describe('a call of an image engine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-image-call-'));
  const pools = new Pools();
  let engine: { url: string; stop(): Promise<void> } | null = null;
  let released = 0;
  after(async () => {
    await pools.destroy();
    rmSync(folder, { recursive: true });
  });
  beforeEach(() => {
    released = 0;
  });
  afterEach(async () => {
    expect(released, 'times that the place was given back').to.equal(1);
    await engine?.stop();
    engine = null;
  });

  const call = (url: string, options: Partial<ImageCall> = {}) =>
    generateImages({
      pool: pools.get(url),
      target: { pathPrefix: '', headers: {} },
      requestId: 'request-1',
      servedModelName: 'painter',
      parameters: { task: 'txt2img', prompt: 'a "lighthouse"\r\nat 海', n: 1, size: '64x64' },
      files: { images: [], mask: null, maskField: 'mask' },
      signal: new AbortController().signal,
      onRelease: () => released++,
      ...options,
    });
  const start = async (listener: RequestListener) => {
    engine = await startScriptedEngine(listener);
    return engine.url;
  };
  const startAnswering = (status: number, body: unknown) =>
    start((_, res) =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    );
  const writeFile = (bytes: Buffer) => {
    const path = join(folder, 'image.png');
    writeFileSync(path, bytes);
    return { path, bytes: bytes.length, contentType: 'image/png' };
  };
  const edit = { task: 'img2img' as const, prompt: 'at night', n: 1, size: '64x64' };

  it('asks for the memory of a large answer, and ends where there is none', async () => {
    const picture = Buffer.concat([await makePicture(8, 8), randomBytes(3 * 1024 * 1024)]);
    const url = await startAnswering(200, { data: [{ b64_json: picture.toString('base64') }] });
    const asked: number[] = [];
    const grant = (most: number) => (bytes: number) => {
      asked.push(bytes);
      return bytes <= most;
    };
    const [image] = await call(url, { reserve: grant(1e9) });
    expect(image!.bytes.equals(picture)).to.equal(true);
    expect(asked.at(-1)).to.be.above((picture.length * 4) / 3);
    released = 0;
    const error = await rejection(call(url, { reserve: grant(2 * 1024 * 1024) }));
    expect(error).to.include({ code: 'temporarily_unavailable', status: 503 });
  });

  it('sends all parameters by the names that engines know', async () => {
    let body = '';
    const picture = await makePicture(8, 8);
    const url = await start(async (req, res) => {
      body = await text(req);
      res.end(JSON.stringify({ data: [{ b64_json: picture.toString('base64') }] }));
    });
    const parameters = {
      task: 'txt2img' as const,
      prompt: 'a "lighthouse"\r\nat 海',
      n: 1,
      size: '64x64',
      negativePrompt: 'fog',
      seed: 9007199254740991,
      steps: 4,
      guidanceScale: 3.5,
    };
    const images = await call(url, { parameters });
    expect(images).to.deep.equal([{ bytes: picture, contentType: 'image/png' }]);
    expect(JSON.parse(body)).to.deep.equal({
      model: 'painter',
      prompt: parameters.prompt,
      n: 1,
      size: '64x64',
      response_format: 'b64_json',
      negative_prompt: 'fog',
      seed: 9007199254740991,
      num_inference_steps: 4,
      guidance_scale: 3.5,
    });
  });

  it('sends a mask by the name that the engine has for it, and what is special to engines', async () => {
    let body = '';
    const picture = await makePicture(8, 8);
    const url = await start(async (req, res) => {
      body = await text(req);
      res.end(JSON.stringify({ data: [{ b64_json: picture.toString('base64') }] }));
    });
    const file = writeFile(picture);
    const parameters = {
      ...edit,
      outputFormat: 'webp',
      trueCfgScale: 2.5,
      flowShift: 3,
      extraParams: { cfg: [1] },
    };
    const files = { images: [file], mask: file, maskField: 'mask_image' };
    await call(url, { parameters, files });
    expect(body)
      .to.match(/name="mask_image"; filename="mask.png"/)
      .and.not.to.include('name="mask"');
    for (const [name, value] of [
      ['output_format', 'webp'],
      ['true_cfg_scale', '2.5'],
      ['flow_shift', '3'],
      ['extra_params', '{"cfg":[1]}'],
    ])
      expect(body).to.include(`name="${name}"\r\n\r\n${value}\r\n`);
  });

  it('takes images in data URLs, and no more than were asked for', async () => {
    const b64 = (await makePicture(8, 8)).toString('base64');
    const item = { b64_json: `data:image/png;base64,${b64}` };
    const url = await startAnswering(200, { data: [item, item] });
    expect((await call(url)).map(({ bytes }) => bytes.toString('base64'))).to.deep.equal([b64]);
  });

  const memory = 'CUDA out of memory. Tried to allocate 2.00 GiB.';
  const shapes: Record<string, [status: number, body: unknown]> = {
    nested: [500, { error: { message: memory, type: 'x', code: 500 } }],
    flat: [500, { object: 'error', message: memory, code: 500 }],
    'a detail': [500, { detail: memory }],
    'an answer of 200': [200, { error: memory }],
  };
  for (const [shape, [status, body]] of Object.entries(shapes))
    it(`recognizes that the engine ran out of memory from ${shape}`, async () => {
      const error = await rejection(call(await startAnswering(status, body)));
      expect(error).to.be.instanceOf(EngineMemoryError);
      expect((error as ApiError).message).to.include(memory);
    });

  it('says where the reason is of an engine that gives none, and claims nothing', async () => {
    const url = await start((_, res) => res.writeHead(500).end('Internal Server Error'));
    const error = (await rejection(call(url))) as ApiError;
    expect(error).not.to.be.instanceOf(EngineMemoryError);
    expect(error.code).to.equal('upstream_error');
    expect(error.message).to.match(/without a reason.*GPU memory.*smaller `size`.*log/);
  });

  it('ends when the engine refuses an upload half-way, with its words or without', async () => {
    const url = await start((_, res) => {
      res.writeHead(413, { connection: 'close' }).end('{"detail":"too large for this engine"}');
    });
    const image = writeFile(Buffer.alloc(40 * 1024 * 1024, 1));
    const files = { images: [image], mask: null, maskField: 'mask' };
    const error = (await rejection(call(url, { parameters: edit, files }))) as ApiError;
    expect(error.code).to.be.oneOf(['request_too_large', 'upstream_error']);
  });

  it('aborts the connection on cancellation, with its reason', async () => {
    const end = new AbortController();
    const reason = new Error('over');
    let isClosed = false;
    const url = await start((req) => {
      req.socket.once('close', () => {
        isClosed = true;
      });
      end.abort(reason);
    });
    expect(await rejection(call(url, { signal: end.signal }))).to.equal(reason);
    await pollUntil(() => isClosed, 'the connection is closed');
  });

  it('is an upstream_error where nothing listens', async () => {
    const url = await start(() => {});
    await engine!.stop();
    engine = null;
    const error = (await rejection(call(url))) as ApiError;
    expect(error).to.deep.include({
      code: 'upstream_error',
      message: 'Could not connect to the engine.',
    });
  });

  it('gives up an answer that does not end', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const url = await start((_, res) => {
      const send = () => {
        while (!res.destroyed && res.write(chunk));
      };
      res.on('drain', send);
      send();
    });
    const error = (await rejection(call(url))) as ApiError;
    expect(error).to.be.instanceOf(ApiError);
    expect(error.message).to.include('exceeds 268435456 bytes');
  });
});
