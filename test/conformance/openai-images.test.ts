import { expect } from 'chai';
import OpenAI7, { toFile } from 'openai';
import OpenAI6 from 'openai-6';
import { isSimulated, itSimulated, type LocalStack } from '../support/local-stack.ts';
import { describePicture, makePicture } from '../support/media-files.ts';
import { pollUntil } from '../support/poll.ts';
import { type CheckedFetch, createCheckedFetch } from './checked-fetch.ts';
import { shareStack } from './shared-stack.ts';

const SDKS: [string, typeof OpenAI7][] = [
  ['openai 7.x', OpenAI7],
  ['openai 6.x', OpenAI6 as unknown as typeof OpenAI7],
];
const SIZE = '512x768';
const prompt = 'A harbor at dawn';
/** Reason for a deployment that only the example has. */
const NO_IMAGE = 'an edit by a model that takes no image';
const JOB_TIMEOUT_MS = isSimulated ? 20_000 : 240_000;

/** SGLang Diffusion returns JPEG by default. */
const pictureOf = (size: string): RegExp => new RegExp(`^${isSimulated ? 'png' : '(png|jpeg)'} ${size}$`);

const decode = (base64: string | undefined): Buffer => Buffer.from(base64 ?? '', 'base64');

async function follow(url: string | undefined): Promise<string> {
  const response = await fetch(url!);
  expect(response.status).to.equal(200);
  return describePicture(await response.arrayBuffer());
}

describe('images', () => {
  let stack: LocalStack;
  before(async () => {
    stack = await shareStack();
  });

  for (const [name, OpenAI] of SDKS)
    describe(`with ${name} for Node`, () => {
      let wire: CheckedFetch;
      let client: OpenAI7;
      let model: string;
      const upload = async (file: string, width: number, height: number, alpha = 1) =>
        toFile(await makePicture(width, height, alpha), file, { type: 'image/png' });

      before(() => {
        const { baseURL, apiKey, modelId } = stack.find('Image');
        wire = createCheckedFetch();
        model = modelId;
        client = new OpenAI({ baseURL, apiKey, fetch: wire.fetch, maxRetries: 0 });
      });
      afterEach('every answer matches the published types', () => {
        expect(wire.violations).to.deep.equal([]);
      });

      it('generates an image and links to it', async () => {
        const answer = await client.images.generate({ model, prompt, size: SIZE as never });
        expect(answer.created).to.be.closeTo(Date.now() / 1000, 60);
        expect(answer.data).to.have.length(1);
        expect(await follow(answer.data![0]!.url)).to.match(pictureOf(SIZE));
        expect(wire.checked).to.be.greaterThan(0);
      });

      it('links to the API’s own origin, since that of the store is private', async () => {
        const answer = await client.images.generate({ model, prompt, size: '256x256' });
        expect(new URL(answer.data![0]!.url!).origin).to.equal(new URL(stack.find('Image').baseURL).origin);
      });

      it('generates several inline, the same ones for the same seed', async () => {
        const request = {
          model,
          prompt,
          n: 2,
          size: '256x256' as const,
          response_format: 'b64_json' as const,
          quality: 'high' as const,
          ...{ seed: 7, steps: 4, negative_prompt: 'rain', guidance_scale: 3.5 },
        };
        const first = await client.images.generate(request);
        const second = await client.images.generate(request);
        expect(first.data).to.have.length(2);
        for (const { b64_json } of first.data!)
          expect(await describePicture(decode(b64_json))).to.match(pictureOf('256x256'));
        expect(first.data![0]).to.not.deep.equal(first.data![1]);
        expect(second.data).to.deep.equal(first.data);
      });

      it('streams one event with the whole image', async () => {
        const stream = await client.images.generate({ model, prompt, size: '256x256', stream: true });
        const events = [];
        for await (const event of stream) events.push(event);
        expect(events.map(({ type }) => type)).to.deep.equal(['image_generation.completed']);
        expect(await describePicture(decode(events[0]!.b64_json))).to.match(pictureOf('256x256'));
      });

      it('edits one image', async () => {
        const image = await upload('in.png', 300, 200);
        const answer = await client.images.edit({ model, prompt, image, size: SIZE as never });
        expect(await follow(answer.data![0]!.url)).to.match(pictureOf(SIZE));
      });

      itSimulated('edits several images, with a mask', async () => {
        const image = [await upload('one.png', 256, 256), await upload('two.png', 256, 256)];
        const mask = await upload('mask.png', 256, 256, 0);
        const answer = await client.images.edit({
          model,
          prompt,
          image,
          mask,
          size: '256x256',
          response_format: 'b64_json',
        });
        expect(await describePicture(decode(answer.data![0]!.b64_json))).to.match(pictureOf('256x256'));
        const { last } = (await (await fetch(`${stack.find('Image').simulatorURL}/control`)).json()) as {
          last: { path: string; body: { name: string }[] };
        };
        expect(last.path).to.equal('/v1/images/edits');
        const files = last.body.map(({ name }) => name.replace('[]', ''));
        expect(files.filter((name) => name === 'image')).to.have.length(2);
        expect(files).to.include('mask');
      });

      itSimulated('edits images that are inline in JSON, as OpenAI’s reference has it', async () => {
        const refer = async (alpha = 1) => {
          const bytes = await makePicture(256, 256, alpha);
          return { image_url: `data:image/png;base64,${bytes.toString('base64')}` };
        };
        const body = {
          ...{ model, prompt, size: '256x256', n: 2, response_format: 'b64_json' },
          ...{ images: [await refer(), await refer()], mask: await refer(0) },
        };
        const answer = await client.post<OpenAI7.ImagesResponse>('/images/edits', { body });
        expect(answer.data).to.have.length(2);
        expect(await describePicture(decode(answer.data![0]!.b64_json))).to.match(pictureOf('256x256'));
        const { last } = (await (await fetch(`${stack.find('Image').simulatorURL}/control`)).json()) as {
          last: { body: { name: string; size: number }[] };
        };
        const files = last.body.map(({ name }) => name.replace('[]', ''));
        expect(files.filter((name) => name === 'image')).to.have.length(2);
        expect(files).to.include('mask');
        const queued = await client.post<{ id: string; status: string }>('/images/edits', {
          query: { async: true },
          body: { ...body, mask: null },
        });
        expect(queued.status).to.equal('queued');
        const request = await readEnded(() => client.get<InferenceRequest>(`/requests/${queued.id}`));
        expect(request.status).to.equal('succeeded');
      });

      it('queues an image, and lists and follows its request', async () => {
        const queued = await client.post<{ id: string; status: string; modality: string }>(
          '/images/generations',
          { query: { async: true }, body: { model, prompt, size: '256x256' } },
        );
        expect(queued).to.include({ status: 'queued', modality: 'image' });
        const request = await readEnded(() => client.get<InferenceRequest>(`/requests/${queued.id}`));
        expect(request).to.include({ id: queued.id, status: 'succeeded', error_code: null });
        expect(request.output_urls).to.have.length(1);
        expect(await follow(request.output_urls![0])).to.match(pictureOf('256x256'));
        const list = await client.get<{ data: InferenceRequest[] }>('/requests', {
          query: { status: 'succeeded', limit: 5 },
        });
        expect(list.data[0]!.id).to.equal(queued.id);
        expect(list.data[0]).to.not.have.property('output_urls');
      });

      const failures: [string, number, string, () => Promise<unknown>][] = [
        ['a size that it has not', 422, 'size_not_supported', () => generate({ size: '333x333' as never })],
        ['another model', 404, 'model_not_found', () => generate({ model: 'dall-e-3' })],
        ['an n of nothing', 400, 'integer_below_min_value', () => generate({ n: 0 })],
        [
          'a callback in a private network',
          422,
          'invalid_webhook_url',
          () => generate({ webhook_url: 'https://10.0.0.1/hook' } as never),
        ],
        [
          'an unknown bucket',
          422,
          'storage_credential_not_found',
          () => generate({ storage_credential_id: 987 } as never),
        ],
        [
          'a chat of an image model',
          400,
          'wrong_modality',
          () => client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] }),
        ],
        [
          NO_IMAGE,
          400,
          'unsupported_value',
          async () => {
            const { baseURL, apiKey, modelId } = stack.endpoints.deployments.find(
              ({ imageInput }) => imageInput === false,
            )!;
            const other = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
            return other.images.edit({ model: modelId, prompt, image: await upload('in.png', 64, 64) });
          },
        ],
      ];
      const generate = (change: Partial<OpenAI7.ImageGenerateParamsNonStreaming>) =>
        client.images.generate({ model, prompt, ...change });
      for (const [what, status, code, call] of failures)
        (what === NO_IMAGE ? itSimulated : it)(`raises ${status} ${code} for ${what}`, async () => {
          const error = await call().then(
            () => undefined,
            (thrown: InstanceType<typeof OpenAI7.APIError>) => thrown,
          );
          expect(error).to.be.instanceOf(OpenAI.APIError);
          expect([error!.status, error!.code], error!.message).to.deep.equal([status, code]);
        });
    });
});

interface InferenceRequest {
  id: string;
  status: string;
  output_urls?: string[];
}

async function readEnded(read: () => Promise<InferenceRequest>): Promise<InferenceRequest> {
  let request: InferenceRequest;
  await pollUntil(
    async () => {
      request = await read();
      return !/^(queued|running)$/.test(request.status);
    },
    'the request to end',
    JOB_TIMEOUT_MS,
  );
  return request!;
}
