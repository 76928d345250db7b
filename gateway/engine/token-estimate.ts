/**
 * How many tokens of a stream went out, for clients that leave before the engine reports it: as many as frames, or more by their
 * text, where an engine's server lags behind its model and puts several into a frame. Frames that are longer than the last
 * one by more than a token are looked into; of all others the length says how long their text is. Whole answers without
 * usage count by their text.
 */
import type { JSONObject } from '../../kit/json.ts';

/** Of the text of a frame that carries one token: hardly any is longer. */
const MAX_TOKEN_BYTES = 16;
/** Of the text of frames that carry one token each: languages of long words come near it. */
const MAX_MEAN_BYTES = 7;
export const BYTES_PER_TOKEN = 4;

export class TokenEstimate {
  #frames = 0;
  /** Of text. */
  #bytes = 0;
  /** Bytes of a frame around its text, as of the last one that was weighed. */
  #around = Number.POSITIVE_INFINITY;

  get tokens(): number {
    // But for one frame that is longer without text.
    const isMerged = this.#bytes - MAX_TOKEN_BYTES > this.#frames * MAX_MEAN_BYTES;
    return isMerged ? Math.ceil(this.#bytes / BYTES_PER_TOKEN) : this.#frames;
  }

  /** Counts a frame that is like the last one; false for one that has to be weighed. */
  count(bytes: number): boolean {
    const text = bytes - this.#around;
    if (text < 0 || text > MAX_TOKEN_BYTES) return false;
    this.#frames++;
    this.#bytes += text;
    return true;
  }

  /** Counts by the text in the frame's choices. */
  weigh(bytes: number, choices: readonly unknown[]): void {
    const text = choices.reduce<number>((sum, choice) => sum + countText(choice), 0);
    this.#around = bytes - text;
    this.#bytes += text;
    if (text > 0) this.#frames++;
  }
}

/** Members of a choice, its delta and tool calls that hold what the model said. */
const SPOKEN = new Set([
  'delta',
  'text',
  'content',
  'reasoning',
  'reasoning_content',
  'refusal',
  'thinking',
  'partial_json',
  'tool_calls',
  'function',
  'name',
  'arguments',
]);

/** The same of a whole answer, in the dialects of chats, responses and messages. */
const SPOKEN_WHOLE = new Set([...SPOKEN, 'message', 'summary']);
/** Of a tool; an object in messages. */
const INPUT = 'input';

/** About how many tokens the model said in a whole answer. */
export const estimateOutput = ({ choices, output, content }: JSONObject): number =>
  Math.ceil(countText([choices, output, content], SPOKEN_WHOLE) / BYTES_PER_TOKEN);

/** Bytes as they are written in JSON. */
function countText(value: unknown, spoken = SPOKEN): number {
  if (typeof value === 'string') return Buffer.byteLength(JSON.stringify(value)) - 2;
  if (typeof value !== 'object' || value === null) return 0;
  let sum = 0;
  for (const [name, member] of Object.entries(value))
    if (Array.isArray(value) || spoken.has(name)) sum += countText(member, spoken);
    else if (name === INPUT && spoken === SPOKEN_WHOLE) sum += Buffer.byteLength(JSON.stringify(member));
  return sum;
}
