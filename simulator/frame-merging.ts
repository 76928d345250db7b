/** Streams of an engine whose server lags behind its model: several tokens in one frame. */
import type { Frame } from './answer.ts';

interface Chunk {
  usage?: object;
  choices: [{ index: number; delta?: { content?: string }; text?: string; [field: string]: unknown }];
}

/** Joins up to `most` neighbours that carry text of one choice and nothing else. */
export const mergeFrames = (frames: Iterable<Frame>, most: number): Iterable<Frame> =>
  most > 1 ? joinNeighbours(frames, most) : frames;

function* joinNeighbours(frames: Iterable<Frame>, most: number): Generator<Frame> {
  let held: Frame | null = null;
  let count = 0;
  for (const frame of frames) {
    const isJoining: boolean = held !== null && count < most && canJoin(held.data, frame.data);
    if (held !== null && !isJoining) yield held;
    held = isJoining ? { step: frame.step, data: join(held!.data as Chunk, frame.data as Chunk) } : frame;
    count = isJoining ? count + 1 : 1;
  }
  if (held !== null) yield held;
}

const canJoin = (a: object, b: object): boolean =>
  isPlain(a) && isPlain(b) && a.choices[0].index === b.choices[0].index;

function isPlain(data: object): data is Chunk {
  const [choice, ...others] = ('choices' in data ? data.choices : []) as Chunk['choices'];
  if (!choice || others.length > 0 || choice.logprobs || choice.finish_reason) return false;
  return choice.delta ? Object.keys(choice.delta).join() === 'content' : typeof choice.text === 'string';
}

function join(a: Chunk, b: Chunk): object {
  const [one] = a.choices;
  const [next] = b.choices;
  const text = one.delta
    ? { delta: { content: `${one.delta.content}${next.delta!.content}` } }
    : { text: `${one.text}${next.text}` };
  // What was said by then is told by the last of them.
  return { ...a, ...(b.usage && { usage: b.usage }), choices: [{ ...one, ...text }] };
}
