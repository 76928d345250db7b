/**
 * Estimates the tokens sent in a stream, for clients that disconnect before the engine reports usage (decision 0150): one per frame, or more by
 * length, since a lagging engine server puts several into a frame. Frames longer than the last
 * one by more than a token are parsed; for others the length of the text follows from that of the frame. Whole responses without
 * usage count by their text.
 */
import type { JSONObject } from '../../kit/json.ts';

/** Text of a one-token frame is hardly ever longer. */
const MAX_TOKEN_BYTES = 16;
/** Average text of one-token frames: languages with long words come close to it. */
const MAX_MEAN_BYTES = 7;
export const BYTES_PER_TOKEN = 4;

export class TokenEstimate {
  #frames = 0;
  /** Size of the text. */
  #bytes = 0;
  /** Bytes of a frame around its text, as last parsed. */
  #around = Number.POSITIVE_INFINITY;

  get tokens(): number {
    // Except for a frame that is longer without text.
    const isMerged = this.#bytes - MAX_TOKEN_BYTES > this.#frames * MAX_MEAN_BYTES;
    return isMerged ? Math.ceil(this.#bytes / BYTES_PER_TOKEN) : this.#frames;
  }

  /** Counts a frame similar to the last one; false for one that must be parsed. */
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

/** Members of a choice, its delta and tool calls that hold generated text. */
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

/** The same for a whole response, in the dialects of chats, responses and messages. */
const SPOKEN_WHOLE = new Set([...SPOKEN, 'message', 'summary']);
/** Input of a tool; an object in messages. */
const INPUT = 'input';

/** Estimated output tokens of a whole response. */
export const estimateOutput = ({ choices, output, content }: JSONObject): number =>
  Math.ceil(countText([choices, output, content], SPOKEN_WHOLE) / BYTES_PER_TOKEN);

/** Bytes of the generated text in a choice of a whole response. */
export const countWholeText = (choice: unknown): number => countText(choice, SPOKEN_WHOLE);

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
