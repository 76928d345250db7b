import { connect } from 'node:net';
import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import sharp from 'sharp';
import { pollUntil } from '../../support/poll.ts';
import { type RunningSimulator as Running, RunningSimulator } from './running-simulator.ts';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';
const SMALL = { prompt: 'a red kite', size: '64x48' };

interface Images {
  created: number;
  data: { b64_json: string }[];
}

const readImages = async (response: Response): Promise<Buffer[]> => {
  expect(response.status).to.equal(200);
  return ((await response.json()) as Images).data.map((one) => Buffer.from(one.b64_json, 'base64'));
};
const makePicture = (background: string, format: 'png' | 'jpeg' | 'webp' = 'png'): Promise<Buffer> =>
  sharp({ create: { width: 40, height: 40, channels: 3, background } })
    .toFormat(format)
    .toBuffer();
/** Mean of each channel in a part of the image. */
const readColor = async (picture: Buffer, left: number, width: number): Promise<number[]> => {
  const part = await sharp(picture).extract({ left, top: 0, width, height: 48 }).png().toBuffer();
  return (await sharp(part).stats()).channels.map(({ mean }) => Math.round(mean));
};

describe('the simulator as an engine of images', () => {
  let simulator: Running;
  before(async () => {
    simulator = await RunningSimulator.start({ kind: 'Image', settings: { jobSeconds: 0 } });
  });
  afterEach(() => simulator.reset());
  after(() => simulator.stop());
  const generate = (more: object = {}, init?: RequestInit): Promise<Response> =>
    simulator.post(GENERATIONS, { ...SMALL, ...more }, init);
  const edit = async (more: [string, string | Buffer][] = []): Promise<Response> =>
    simulator.postForm(EDITS, [
      ['prompt', SMALL.prompt],
      ['size', SMALL.size],
      ['image', await makePicture('red')],
      ...more,
    ]);

  it('answers n PNGs of the exact size', async () => {
    const pictures = await readImages(await generate({ n: 2, response_format: 'b64_json' }));
    expect(pictures).to.have.lengthOf(2);
    for (const picture of pictures) {
      const { format, width, height } = await sharp(picture).metadata();
      expect({ format, width, height }).to.deep.equal({ format: 'png', width: 64, height: 48 });
    }
    expect(pictures[0]!.equals(pictures[1]!)).to.equal(false);
  });

  it('makes 1024x1024 when no size is asked for', async () => {
    const [picture] = await readImages(await generate({ size: null }));
    expect(await sharp(picture).metadata()).to.include({ width: 1024, height: 1024 });
  });

  it('draws the same picture for the same prompt and seed, and another for others', async () => {
    const draw = async (more: object): Promise<string> =>
      (await readImages(await generate(more)))[0]!.toString('base64');
    const first = await draw({ seed: 7 });
    expect(await draw({ seed: 7, num_inference_steps: 30, guidance_scale: 7.5 })).to.equal(first);
    expect(await draw({ seed: 8 })).not.to.equal(first);
    expect(await draw({ seed: 7, prompt: 'a blue kite' })).not.to.equal(first);
  });

  it('takes jobSeconds', async () => {
    await simulator.putControl({ jobSeconds: 0.2 });
    const startedAt = performance.now();
    await readImages(await generate());
    expect(performance.now() - startedAt).to.be.above(198);
  });

  it('works on maxConcurrency images at once', async () => {
    await simulator.putControl({ jobSeconds: 0.1, maxConcurrency: 1 });
    const startedAt = performance.now();
    await Promise.all([generate(), generate()]);
    expect(performance.now() - startedAt).to.be.above(198);
  });

  it('gives up an image when its client leaves', async () => {
    await simulator.putControl({ jobSeconds: 3600, maxConcurrency: 1 });
    const leaving = new AbortController();
    const answer = generate({}, { signal: leaving.signal }).catch(() => 'left');
    await pollUntil(async () => (await simulator.readControl()).inflight === 1);
    leaving.abort();
    expect(await answer).to.equal('left');
    await pollUntil(async () => (await simulator.readControl()).inflight === 0);
    expect(await simulator.readControl()).to.include({ aborted: 1, requests: 1 });
    await simulator.putControl({ jobSeconds: 0 });
    expect(await readImages(await generate())).to.have.lengthOf(1);
  });

  for (const format of ['png', 'jpeg', 'webp'] as const)
    it(`edits a ${format} so that its color still shows`, async () => {
      const upload = async (color: string): Promise<number[]> => {
        const [picture] = await readImages(
          await simulator.postForm(EDITS, [
            ['prompt', 'a kite'],
            ['size', SMALL.size],
            ['image', await makePicture(color, format)],
          ]),
        );
        expect(await sharp(picture).metadata()).to.include({ format: 'png', width: 64, height: 48 });
        return readColor(picture!, 0, 64);
      };
      const [red, , blue] = await upload('red');
      expect(red! - blue!).to.be.above(60);
      const other = await upload('blue');
      expect(other[2]! - other[0]!).to.be.above(60);
    });

  it('shows several pictures side by side', async () => {
    const parts: [string, Buffer][] = [
      ['image[]', await makePicture('red')],
      ['image[]', await makePicture('blue')],
    ];
    const [picture] = await readImages(
      await simulator.postForm(EDITS, [['prompt', 'x'], ['size', SMALL.size], ...parts]),
    );
    const [left, right] = [await readColor(picture!, 0, 32), await readColor(picture!, 32, 32)];
    expect(left[0]).to.be.above(right[0]!);
    expect(left[2]).to.be.below(right[2]!);
  });

  it("changes what the mask's transparent half shows, and nothing else", async () => {
    const mask = await sharp({
      create: { width: 64, height: 48, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } },
    })
      .composite([
        {
          input: { create: { width: 32, height: 48, channels: 3, background: 'black' } },
          left: 0,
          top: 0,
        },
      ])
      .png()
      .toBuffer();
    const [picture] = await readImages(await edit([['mask', mask]]));
    expect(await readColor(picture!, 0, 32)).to.deep.equal([255, 0, 0]);
    expect(await readColor(picture!, 32, 32)).not.to.deep.equal([255, 0, 0]);
  });

  it('takes the size of the picture with size auto', async () => {
    const form: [string, string | Buffer][] = [
      ['prompt', 'x'],
      ['size', 'auto'],
      ['image', await makePicture('red')],
    ];
    const [picture] = await readImages(await simulator.postForm(EDITS, form));
    expect(await sharp(picture).metadata()).to.include({ width: 40, height: 40 });
  });

  it('shows the parts of a form at the control port', async () => {
    const file = await makePicture('red');
    await edit([['n', '1']]);
    const { last, recent, requests } = await simulator.readControl();
    expect(requests).to.equal(1);
    expect(recent[0]).to.include({ path: EDITS, prompt: SMALL.prompt });
    expect(last!.body).to.deep.equal([
      { name: 'prompt', filename: null, size: 10, value: SMALL.prompt },
      { name: 'size', filename: null, size: 5, value: SMALL.size },
      { name: 'image', filename: 'upload.png', size: file.length, value: null },
      { name: 'n', filename: null, size: 1, value: '1' },
    ]);
  });

  const refused: [body: object, param: string][] = [
    [{ prompt: null }, 'prompt'],
    [{ prompt: 7 }, 'prompt'],
    [{ response_format: 'url' }, 'response_format'],
    [{ n: 0 }, 'n'],
    [{ n: 1.5 }, 'n'],
    [{ n: 1e9 }, 'n'],
    [{ n: 10, size: '4096x4096' }, 'size'],
    [{ size: '1024' }, 'size'],
    [{ size: '-64x64' }, 'size'],
    [{ size: '0x0' }, 'size'],
    [{ size: '999999x999999' }, 'size'],
    [{ size: '1e3x1e3' }, 'size'],
    [{ size: 64 }, 'size'],
    [{ seed: 'x' }, 'seed'],
    [{ num_inference_steps: -1 }, 'num_inference_steps'],
    [{ guidance_scale: 'x' }, 'guidance_scale'],
    [{ negative_prompt: {} }, 'negative_prompt'],
  ];
  for (const [body, param] of refused)
    it(`refuses ${JSON.stringify(body)} with 400`, async () => {
      const response = await generate(body);
      expect(response.status).to.equal(400);
      expect(((await response.json()) as { error: { param: string } }).error.param).to.equal(param);
    });

  const bomb = async (): Promise<Buffer> => {
    const bytes = Buffer.from(await makePicture('red'));
    bytes.writeUInt32BE(16_000, 16);
    bytes.writeUInt32BE(16_000, 20);
    bytes.writeUInt32BE(crc32(bytes.subarray(12, 29)), 29);
    return bytes;
  };
  const badImages: [why: string, make: () => Promise<Buffer> | Buffer][] = [
    ['text', () => Buffer.from('no picture')],
    ['nothing', () => Buffer.alloc(0)],
    ['an SVG', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
    [
      'half a PNG',
      async () =>
        (
          await sharp({
            create: {
              width: 40,
              height: 40,
              channels: 3,
              background: 'red',
              noise: { type: 'gaussian', mean: 99, sigma: 50 },
            },
          })
            .png()
            .toBuffer()
        ).subarray(0, 2000),
    ],
    ['a picture too large to decode', bomb],
  ];
  for (const [why, make] of badImages)
    for (const name of ['image[]', 'mask'])
      it(`refuses ${why} as ${name} with 400`, async () => {
        const response = await edit([[name, await make()]]);
        expect(response.status).to.equal(400);
        expect(((await response.json()) as { error: { message: string } }).error.message).to.contain('image');
      });

  it('refuses an edit without a picture', async () => {
    expect((await simulator.postForm(EDITS, [['prompt', 'x']])).status).to.equal(400);
    expect((await simulator.post(EDITS, SMALL)).status).to.equal(400);
  });

  const forms: [why: string, type: string, body: string][] = [
    ['no boundary', 'multipart/form-data', 'x'],
    ['no end', 'multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx'],
    ['nothing', 'multipart/form-data; boundary=b', ''],
    ['no form', 'multipart/form-data; boundary=b', '{"prompt": "x"}'],
    [
      'too many parts',
      'multipart/form-data; boundary=b',
      `${'--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n'.repeat(5000)}--b--\r\n`,
    ],
    [
      'too long a field',
      'multipart/form-data; boundary=b',
      `--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n${'x'.repeat(2 ** 21)}\r\n--b--\r\n`,
    ],
  ];
  for (const [why, type, body] of forms)
    it(`refuses a form of ${why} with 400`, async () => {
      const response = await simulator.post(EDITS, body, { headers: { 'content-type': type } });
      expect(response.status).to.equal(400);
      expect((await simulator.readControl()).requests).to.equal(1);
    });

  it('ends the call when an upload breaks off', async () => {
    const { hostname, port } = new URL(simulator.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${EDITS} HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\n` +
        'content-length: 9999\r\n\r\n--b\r\ncontent-disposition: form-data; name="image"; filename="a"\r\n\r\nxx',
    );
    await pollUntil(async () => (await simulator.readControl()).inflight === 1);
    socket.destroy();
    await pollUntil(async () => (await simulator.readControl()).inflight === 0);
    expect(await readImages(await generate())).to.have.lengthOf(1);
  });

  it('refuses a form beyond the limit', async () => {
    const status = await edit([['image', Buffer.alloc(65 * 1024 * 1024)]]).then(
      (response) => response.status,
      () => 'cut',
    );
    expect(status).to.be.oneOf([413, 'cut']);
    expect(await readImages(await generate())).to.have.lengthOf(1);
  });

  it('serves no text, and no images as another kind', async () => {
    expect((await simulator.post('/v1/chat/completions', { messages: [] })).status).to.equal(400);
    const text = await RunningSimulator.start();
    expect((await text.post(GENERATIONS, SMALL)).status).to.equal(400);
    await text.stop();
  });

  const statuses: [fault: object, status: number, message: RegExp][] = [
    [{ kind: 'oom' }, 500, /CUDA out of memory/],
    [{ kind: 'status', status: 503 }, 503, /EngineCore/],
    [{ kind: 'error-frame' }, 500, /EngineCore/],
  ];
  for (const [fault, status, message] of statuses)
    it(`answers ${status} with the fault ${JSON.stringify(fault)}`, async () => {
      await simulator.putControl({ fault });
      const response = await generate();
      expect(response.status).to.equal(status);
      expect(await response.text()).to.match(message);
    });

  it('cuts the answer with the fault drop', async () => {
    await simulator.putControl({ fault: { kind: 'drop' } });
    const response = await edit();
    expect(response.status).to.equal(200);
    expect(await response.text().catch(() => 'cut')).to.equal('cut');
  });

  it('hangs until the client leaves with the fault hang', async () => {
    await simulator.putControl({ fault: { kind: 'hang' } });
    const leaving = new AbortController();
    const answer = generate({}, { signal: leaving.signal }).catch(() => 'left');
    await pollUntil(async () => (await simulator.readControl()).requests === 1);
    expect(await simulator.readControl()).to.include({ inflight: 1 });
    leaving.abort();
    expect(await answer).to.equal('left');
    await pollUntil(async () => (await simulator.readControl()).aborted === 1);
  });
});
