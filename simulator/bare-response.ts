/** Responses like llama.cpp's: little beside the output, and events without numbers. */
import type { Frame } from './answer.ts';
import { type Fields, isObject } from './fields.ts';

const FIELDS = new Set(['id', 'object', 'created_at', 'completed_at', 'status', 'model', 'output', 'usage']);
const START_FIELDS = new Set(['id', 'object', 'status']);
const NUMBERS = new Set(['sequence_number', 'output_index', 'content_index', 'logprobs']);

const pick = (object: Fields, isPicked: (name: string) => boolean): Fields =>
  Object.fromEntries(Object.entries(object).filter(([name]) => isPicked(name)));

export function strip(response: Fields): Fields {
  const { usage, ...rest } = pick(response, (name) => FIELDS.has(name));
  return isObject(usage) ? { ...rest, usage: pick(usage, (name) => !name.endsWith('_details')) } : rest;
}

export function* stripFrames(frames: Iterable<Frame>): Generator<Frame> {
  for (const { step, data } of frames) yield { step, data: stripEvent(data as Fields) };
}

function stripEvent(event: Fields): Fields {
  const { response, ...others } = pick(event, (name) => !NUMBERS.has(name));
  if (!isObject(response)) return others;
  const isBegun = response.status === 'in_progress';
  return {
    ...others,
    response: isBegun ? pick(response, (name) => START_FIELDS.has(name)) : strip(response),
  };
}
