/** Readers of the fields that images and videos share. */
import { refuse, refuseField } from './errors.ts';
import { type Fields, readInteger, readNumber } from './fields.ts';
import type { Size } from './pictures.ts';

export interface MediaPrompt {
  prompt: string;
  seed: number;
}

const NUMBERS = ['n', 'seed', 'num_inference_steps', 'guidance_scale', 'num_frames', 'fps'];
const MAX_INTEGER = Number.MAX_SAFE_INTEGER;

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
export function readMediaPrompt(fields: Fields): MediaPrompt {
  const prompt = fields.prompt ?? undefined;
  if (prompt === undefined) throw refuseField(['prompt'], 'Field required');
  for (const name of ['prompt', 'negative_prompt'])
    if (typeof (fields[name] ?? '') !== 'string') throw refuseField([name], 'Input should be a valid string');
  readInteger(fields, 'num_inference_steps', { min: 1, max: 1000 });
  readNumber(fields, 'guidance_scale', { min: 0, max: 100 });
  const seed = readInteger(fields, 'seed', { min: -MAX_INTEGER, max: MAX_INTEGER });
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
