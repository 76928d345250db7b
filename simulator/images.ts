/** POST /v1/images/generations and /v1/images/edits: real PNGs after `jobSeconds`. */
import { readUnixSeconds } from './answer.ts';
import { refuse, refuseField } from './errors.ts';
import { checkBody, type Exchange, listFiles } from './exchange.ts';
import { breakBody, strike } from './faults.ts';
import { type Fields, readChoice, readInteger } from './fields.ts';
import {
  findSizeFailure,
  type MediaPrompt,
  parseNumbers,
  readMediaPrompt,
  readSize,
} from './media-fields.ts';
import { drawOver, drawPattern, measurePicture, type Size } from './pictures.ts';
import { hashText, type Random } from './random.ts';
import { createChoiceRandom } from './sampling.ts';

const DEFAULT_SIZE: Size = { width: 1024, height: 1024 };
const MAX_SIDE = 4096;
const MAX_IMAGES = 10;
const MAX_INPUTS = 16;
/** Limit of one call, so that no request can exhaust the memory. */
const MAX_PIXELS = 2 ** 25;

type Draw = (size: Size, random: Random) => Promise<Buffer>;

export async function serveGeneration(exchange: Exchange): Promise<void> {
  await serveImages(exchange, async (fields) => ({
    size: readPictureSize(fields, DEFAULT_SIZE),
    draw: drawPattern,
  }));
}

export async function serveEdit(exchange: Exchange): Promise<void> {
  await serveImages(exchange, async (fields) => {
    const inputs = listFiles(exchange, 'image', 'image[]');
    const { maskField } = exchange.engine.personality.media;
    const [mask] = maskField === null ? [] : listFiles(exchange, maskField);
    if (inputs.length === 0) throw refuseField(['image'], 'Field required');
    if (inputs.length > MAX_INPUTS)
      throw refuse(`image must hold at most ${MAX_INPUTS} files, got ${inputs.length}.`, 'image');
    const natural = await measurePicture(inputs[0]!);
    for (const file of [...inputs.slice(1), ...(mask ? [mask] : [])]) await measurePicture(file);
    return {
      size: readPictureSize(fields, natural),
      draw: (size, random) => drawOver(size, { inputs, mask, random }),
    };
  });
}

/** `natural` is the size of `auto`. */
function readPictureSize(fields: Fields, natural: Size): Size {
  if (fields.size !== 'auto') return readSize(fields, MAX_SIDE) ?? DEFAULT_SIZE;
  return readSize({ size: `${natural.width}x${natural.height}` }, MAX_SIDE)!;
}

async function serveImages(
  exchange: Exchange,
  plan: (fields: Fields) => Promise<{ size: Size; draw: Draw }>,
): Promise<void> {
  const { engine, call } = exchange;
  const fault = engine.settings.takeFault();
  const breaking = fault && strike(call, fault, engine.options.exit);
  if (fault && !breaking) return;

  const fields = parseNumbers(checkBody(exchange));
  const { media } = engine.personality;
  const prompt = readMediaPrompt(fields, media);
  const n = readInteger(fields, 'n', { min: 1, max: MAX_IMAGES }) ?? 1;
  checkFormat(fields);
  const { size, draw } = await plan(fields);
  if (n * size.width * size.height > MAX_PIXELS)
    throw refuse(`n times the pixels of size must be at most ${MAX_PIXELS}.`, 'size');

  const { jobSeconds } = engine.settings.current;
  await call.waitForSlot(engine.slots);
  try {
    const due = performance.now() + jobSeconds * 1000;
    const failure = findSizeFailure(size, media);
    if (failure) throw failure;
    const data = await drawImages(prompt, n, async (random) => {
      // A disconnected client ends the work here.
      await call.wait(0);
      return draw(size, random);
    });
    await call.wait(due, engine.stopping.signal);
    if (engine.isHanging) await call.waitForClose();
    const text = JSON.stringify({ created: readUnixSeconds(), data });
    if (breaking) return await breakBody(call, breaking, text);
    call.sendText(200, text, 'application/json');
    engine.activity.totals.answered++;
  } finally {
    engine.slots.leave();
  }
}

function checkFormat(fields: Fields): void {
  if (readChoice(fields, 'response_format', ['b64_json', 'url']) === 'url')
    throw refuse("Only response_format 'b64_json' is supported now.", 'response_format');
}

/** One after the other: the memory that one takes is enough. */
async function drawImages(
  { prompt, seed }: MediaPrompt,
  n: number,
  draw: (random: Random) => Promise<Buffer>,
): Promise<object[]> {
  const data: object[] = [];
  for (let index = 0; index < n; index++) {
    const picture = await draw(createChoiceRandom(hashText(prompt), seed, index));
    data.push({ b64_json: picture.toString('base64'), url: null, revised_prompt: null });
  }
  return data;
}
