/** What a GPU shows of a model that makes images. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  askUntilAccepted,
  type Checks,
  failed,
  findReason,
  judge,
  type Model,
  ms,
  type Outcome,
  passed,
  post,
  postForm,
  requireOk,
  timeOf,
} from './endpoint.ts';
import { checkMask, EDITS } from './image-edits.ts';
import { makePicture, SIZE } from './pictures.ts';

const PROMPT = 'a harbor at dawn';
const IMAGES = 4;
const CHOICES = 2;

/** A model that only changes images gets one. */
async function makeImages(
  { id, supported_parameters: tasks }: Model,
  fields: object = {},
  signal?: AbortSignal,
): Promise<Buffer[]> {
  const body = { model: id, prompt: PROMPT, size: SIZE, n: 1, response_format: 'b64_json', ...fields };
  const edit = async () => {
    const texts = Object.entries(body).map(([name, value]) => [name, String(value)]);
    return postForm(EDITS, { ...Object.fromEntries(texts), image: await makePicture() }, { signal });
  };
  const isEditor = tasks?.img2img && !tasks.txt2img;
  const generate = () => post('/images/generations', body, { signal });
  const response = await requireOk(await askUntilAccepted(isEditor ? edit : generate, signal));
  const { data } = (await response.json()) as { data: { b64_json: string }[] };
  return data.map(({ b64_json }) => Buffer.from(b64_json, 'base64'));
}

const makeImage = async (...args: Parameters<typeof makeImages>): Promise<Buffer> =>
  (await makeImages(...args))[0]!;

const isPicture = (bytes: Buffer): boolean =>
  /^(\x89PNG|\xff\xd8\xff|RIFF)/.test(bytes.toString('latin1', 0, 4));

/** The same seed gives the same image, on a GPU up to rounding: this is reported, but not judged. */
async function checkImage(model: Model): Promise<Outcome> {
  const first = await makeImage(model, { seed: 7 });
  const second = await makeImage(model, { seed: 7 });
  return judge(
    isPicture(first),
    `${first.length} bytes; the same seed made ${first.equals(second) ? 'the same' : 'another'}`,
  );
}

async function checkSeveral(model: Model): Promise<Outcome> {
  const images = await makeImages(model, { n: CHOICES });
  const different = new Set(images.map((image) => image.toString('base64'))).size;
  return judge(
    images.length === CHOICES && images.every(isPicture),
    `${images.length} of ${CHOICES}, ${different} of them different`,
  );
}

/** The next client does not wait for abandoned work. An engine that cannot stop finishes its image first. */
async function checkImageLeaving(model: Model): Promise<Outcome> {
  const quiet = await timeOf(() => makeImage(model));
  const client = new AbortController();
  const left = makeImage(model, {}, client.signal).catch(() => {});
  await sleep(quiet / 4);
  client.abort();
  await left;
  const after = await timeOf(() => makeImage(model));
  return judge(after < 2 * quiet + 1_000, `${ms(quiet)} before, ${ms(after)} after`);
}

async function measureImages(model: Model): Promise<Outcome> {
  const times: number[] = [];
  const makeTimed = async () => times.push(await timeOf(() => makeImage(model)));
  const total = await timeOf(() => makeTimed());
  const together = await Promise.allSettled(Array.from({ length: IMAGES }, makeTimed));
  const reason = findReason(together);
  const detail = `one in ${ms(total)}; ${IMAGES} at a time, the last one after ${ms(Math.max(...times))}`;
  return reason ? failed(`${detail}; ${reason}`) : passed(detail);
}

export const IMAGE_CHECKS: Checks = {
  'an image is made': checkImage,
  'several images are made at once': checkSeveral,
  'an edit with a mask changes what the mask shows': checkMask,
  'clients that leave free the engine': checkImageLeaving,
  speed: measureImages,
};
