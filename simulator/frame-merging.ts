/** Streams of an engine whose server lags behind its model: several tokens in one frame. */
import type { Frame } from './answer.ts';
import { type Fields, isObject } from './fields.ts';

/** Joins up to `most` neighbors that carry text of one place and nothing else. */
export const mergeFrames = (frames: Iterable<Frame>, most: number): Iterable<Frame> =>
  most > 1 ? joinNeighbors(frames, most) : frames;

function* joinNeighbors(frames: Iterable<Frame>, most: number): Generator<Frame> {
  let held: Frame | null = null;
  let count = 0;
  let sent = 0;
  const number = ({ step, data }: Frame): Frame => ({
    step,
    data: 'sequence_number' in data ? { ...data, sequence_number: sent++ } : data,
  });
  for (const frame of frames) {
    const joined: object | null =
      held && count < most ? join(held.data as Fields, frame.data as Fields) : null;
    if (held && !joined) yield number(held);
    held = joined ? { step: frame.step, data: joined } : frame;
    count = joined ? count + 1 : 1;
  }
  if (held) yield number(held);
}

/** Null where they are not of one place, or carry more than text. */
function join(a: Fields, b: Fields): object | null {
  if (a.choices) return joinChoices(a, b);
  if (a.type !== b.type) return null;
  if (a.type === 'content_block_delta') return joinBlocks(a, b);
  if (a.type !== 'response.output_text.delta' || a.item_id !== b.item_id) return null;
  return { ...a, delta: `${a.delta}${b.delta}` };
}

function joinBlocks(a: Fields, b: Fields): object | null {
  const [one, next] = [a.delta, b.delta];
  if (a.index !== b.index || !isObject(one) || !isObject(next)) return null;
  if (one.type !== 'text_delta' || next.type !== 'text_delta') return null;
  return { ...a, delta: { ...one, text: `${one.text}${next.text}` } };
}

interface Choice {
  index: number;
  delta?: { content?: string };
  text?: string;
}

function joinChoices(a: Fields, b: Fields): object | null {
  const one = readPlain(a);
  const next = readPlain(b);
  if (!one || !next || one.index !== next.index) return null;
  const text = one.delta
    ? { delta: { content: `${one.delta.content}${next.delta!.content}` } }
    : { text: `${one.text}${next.text}` };
  // What was said by then is reported by the last of them.
  return { ...a, ...(b.usage !== undefined && { usage: b.usage }), choices: [{ ...one, ...text }] };
}

/** The one choice of a frame that has nothing but text. */
function readPlain({ choices }: Fields): Choice | null {
  const [choice, ...others] = Array.isArray(choices) ? (choices as (Choice & Fields)[]) : [];
  if (!choice || others.length > 0 || choice.logprobs || choice.finish_reason) return null;
  const isPlain = choice.delta
    ? Object.keys(choice.delta).join() === 'content'
    : typeof choice.text === 'string';
  return isPlain ? choice : null;
}
