/** Readers of the fields that images and videos share. */
import { EngineError, refuse, refuseField } from './errors.ts';
import { type Fields, readInteger, readNumber } from './fields.ts';
import type { MediaHabits } from './media-habits.ts';
import type { Size } from './pictures.ts';

export interface MediaPrompt {
  prompt: string;
  seed: number;
}

const NUMBERS = [
  'n',
  'seed',
  'num_inference_steps',
  'guidance_scale',
  'true_cfg_scale',
  'flow_shift',
  'num_frames',
  'fps',
];
const MAX_INTEGER = Number.MAX_SAFE_INTEGER;
const MAX_FLOW_SHIFT = 1000;

/** A form's numbers are texts; what is none stays one, to be refused by name. */
export const parseNumbers = (fields: Fields): Fields => ({
  ...fields,
  ...Object.fromEntries(
    NUMBERS.flatMap((name) => {
      const value = fields[name];
      return typeof value === 'string' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)
        ? [[name, Number(value)]]
        : [];
    }),
  ),
});

/** The prompt and the seed; checks what a real engine would use and we do not. */
export function readMediaPrompt(
  fields: Fields,
  { minSeed, maxSteps, maxGuidance }: MediaHabits,
): MediaPrompt {
  const prompt = fields.prompt ?? undefined;
  if (prompt === undefined) throw refuseField(['prompt'], 'Field required');
  for (const name of ['prompt', 'negative_prompt'])
    if (typeof (fields[name] ?? '') !== 'string') throw refuseField([name], 'Input should be a valid string');
  readInteger(fields, 'num_inference_steps', { min: 1, max: maxSteps });
  for (const name of ['guidance_scale', 'true_cfg_scale'])
    readNumber(fields, name, { min: 0, max: maxGuidance });
  readNumber(fields, 'flow_shift', { min: 0, max: MAX_FLOW_SHIFT });
  const seed = readInteger(fields, 'seed', { min: minSeed, max: MAX_INTEGER });
  return { prompt: prompt as string, seed: seed ?? 0 };
}

/** `WIDTHxHEIGHT` with sides from 16 to `maxSide`; undefined when absent. */
export function readSize(fields: Fields, maxSide: number): Size | undefined {
  const value = fields.size ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw refuseField(['size'], 'Input should be a valid string');
  const sides = /^(\d{1,6})x(\d{1,6})$/.exec(value)?.slice(1).map(Number);
  if (!sides)
    throw refuse(`size must be WIDTHxHEIGHT, such as 1024x1024, got ${value.slice(0, 40)}.`, 'size');
  if (sides.some((side) => side < 16 || side > maxSide))
    throw refuse(`Each side of size must be in [16, ${maxSide}], got ${value}.`, 'size');
  return { width: sides[0]!, height: sides[1]! };
}

/** What an engine finds in the middle of its work; null where it finds nothing. */
export const findSizeFailure = ({ width, height }: Size, { sideStep }: MediaHabits): EngineError | null =>
  width % sideStep === 0 && height % sideStep === 0
    ? null
    : new EngineError(
        500,
        'InternalServerError',
        `Height and width must be divisible by ${sideStep}, got ${width}x${height}.`,
      );
