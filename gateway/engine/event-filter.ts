/**
 * Watches a stream of named events (OpenAI's Responses, Anthropic's Messages) on its way to the client. Events that
 * carry output pass by name, unparsed; the few others, which report usage, errors and the end, are completed.
 */
import { isObject } from '../../kit/json.ts';
import type { TokenUsage } from '../account/account.ts';
import type { ApiError } from '../http/error-response.ts';
import { roundUsage } from './answer.ts';
import { parseJSON, readFrame, writeFrame } from './sse-frames.ts';
import { StreamFilter } from './stream-answer.ts';

export type EventPayload = Record<string, unknown>;

/** The meaning of a dialect's events. */
export interface EventDialect {
  /** About a token of output, with nothing in it to check. */
  isOutput(name: string): boolean;
  /** The last event. */
  isEnd(name: string): boolean;
  /** The engine's error; null for any other event. `isEmpty`: no output preceded it. */
  findFailure(name: string, payload: EventPayload, isEmpty: boolean): ApiError | null;
  /** Members of usage that the event reports, merged with earlier ones. */
  findUsage(payload: EventPayload): unknown;
  readUsage(members: EventPayload): TokenUsage | null;
}

/** Completes an engine's events. */
export interface EventCompletion {
  /** Whether output events need it, too. */
  readonly isThorough: boolean;
  /** Returns whether it changed anything, the event's type perhaps. */
  complete(name: string, payload: EventPayload): boolean;
}

export class EventFilter extends StreamFilter {
  override events = 0;
  readonly #dialect: EventDialect;
  readonly #completion: EventCompletion;
  #usage: EventPayload = {};

  constructor(dialect: EventDialect, completion: EventCompletion) {
    super();
    this.#dialect = dialect;
    this.#completion = completion;
  }

  /** Output of an interrupted stream is counted by events, since usage comes last. */
  get usage(): TokenUsage | null {
    const reported = this.#dialect.readUsage(this.#usage);
    if (!reported || reported.inputTokens === 0 || this.isDone) return reported;
    const outputTokens = Math.max(reported.outputTokens, this.estimatedTokens);
    return { ...reported, outputTokens, totalTokens: reported.inputTokens + outputTokens };
  }

  end(): string | null {
    const { rest } = this.frames;
    if (this.isDone || this.failure || rest === null) return null;
    const output = this.#inspect(Buffer.from(`${rest}\n\n`), false);
    return this.isDone ? output : null;
  }

  protected pass(end: number): string | null {
    const { data, text } = this.frames;
    let output = '';
    let kept = 0;
    let start = 0;
    while (start < end && !this.isDone && !this.failure) {
      const stop = this.frames.findStop(start, end);
      const name = readName(text, start);
      const isPlain = this.frames.isPlain(start, stop, true);
      const isPassed = isPlain && this.#dialect.isOutput(name) && !this.#completion.isThorough;
      if (isPassed && this.estimate.count(stop - start)) this.events++;
      else {
        const replacement = this.#inspect(data.subarray(start, stop), isPlain);
        if (replacement !== null) {
          output += text.slice(kept, start) + replacement;
          kept = stop;
        }
      }
      start = stop;
    }
    output = kept === 0 && start === text.length ? text : output + text.slice(kept, Math.max(kept, start));
    return output === '' ? null : output;
  }

  /** Inspects one frame. Null keeps it; a string, one character per byte, replaces it. `isPlain`: it is its name and one line of data. */
  #inspect(bytes: Buffer, isPlain: boolean): string | null {
    const frame = readFrame(bytes.toString('utf8'));
    const payload = parseJSON(frame.data ?? '');
    // Such as `[DONE]`, which these dialects do not have.
    if (!isObject(payload)) return writeFrame({ ...frame, data: null });
    const name = findName(frame.event, payload);
    this.failure = this.#dialect.findFailure(name, payload, this.estimate.tokens === 0);
    if (this.failure) return '';
    this.events++;
    if (this.#dialect.isOutput(name)) this.estimate.weigh(bytes.length, [payload]);
    const usage = this.#dialect.findUsage(payload);
    const isRounded = roundUsage(usage);
    this.#addUsage(usage);
    this.isDone = this.#dialect.isEnd(name);
    if (this.#completion.complete(name, payload) || isRounded)
      return writeFrame({ ...frame, event: findName(name, payload), data: JSON.stringify(payload) });
    return isPlain && frame.event === name ? null : writeFrame({ ...frame, event: name });
  }

  #addUsage(members: unknown): void {
    if (!isObject(members)) return;
    for (const [name, value] of Object.entries(members))
      if (value !== null && value !== undefined) this.#usage[name] = value;
  }
}

const EVENT = 'event:';
const ERROR = 'error';

/** The event's name; '' if the frame does not start with it. */
function readName(text: string, start: number): string {
  if (!text.startsWith(EVENT, start)) return '';
  return text.slice(start + EVENT.length, text.indexOf('\n', start)).trim();
}

/** Anthropic's SDKs drop events that are not named by their type. llama.cpp's error events have the error's own type. */
const findName = (event: string, { type }: EventPayload): string =>
  event !== ERROR && typeof type === 'string' && !type.includes('\n') ? type : event;
