/**
 * Watches a stream of named events (OpenAI's Responses, Anthropic's Messages) on its way to the client. Events that
 * carry output pass by name, unparsed; the few others, which report usage, errors and the end, are completed.
 */
import { isObject } from '../../kit/json.ts';
import type { ApiError } from '../http/error-response.ts';
import { toBytesText } from '../http/event-stream.ts';
import { roundUsage, type Usage } from './answer.ts';
import { parseJSONObject, readData } from './sse-frames.ts';
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
  readUsage(members: EventPayload): Usage | null;
}

/** Completes an engine's events. */
export interface EventCompletion {
  /** Whether output events need it, too. */
  readonly isThorough: boolean;
  /** Returns whether it changed anything. */
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
  get usage(): Usage | null {
    const reported = this.#dialect.readUsage(this.#usage);
    if (!reported || reported.inputTokens === 0 || this.isDone) return reported;
    const outputTokens = Math.max(reported.outputTokens, this.estimatedTokens);
    return { ...reported, outputTokens, totalTokens: reported.inputTokens + outputTokens };
  }

  end(): string | null {
    const { rest, separator } = this.frames;
    if (this.isDone || this.failure || rest === null) return null;
    const frame = Buffer.from(rest + (separator || '\n\n'));
    const output = this.#inspect(frame, readName(frame.toString('latin1'), 0)) ?? frame.toString('latin1');
    return this.isDone && output !== '' ? output : null;
  }

  protected pass(end: number): string | null {
    const { data, text } = this.frames;
    let output = '';
    let kept = 0;
    let start = 0;
    while (start < end && !this.isDone && !this.failure) {
      const stop = this.frames.findStop(start, end);
      const name = readName(text, start);
      const isPassed = this.#dialect.isOutput(name) && !this.#completion.isThorough;
      if (isPassed && this.estimate.count(stop - start)) this.events++;
      else {
        const replacement = this.#inspect(data.subarray(start, stop), name);
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

  /** Inspects one frame. Null keeps it; a string, one character per byte, replaces it. */
  #inspect(frame: Buffer, named: string): string | null {
    const text = readData(frame.toString('utf8'));
    if (text === null || text === '') return null;
    const payload = parseJSONObject(text);
    // Such as `[DONE]`, which these dialects do not have.
    if (!payload) return '';
    // llama.cpp's error events have the error's own type.
    const name = named !== ERROR && typeof payload.type === 'string' ? payload.type : named;
    this.failure = this.#dialect.findFailure(name, payload, this.estimate.tokens === 0);
    if (this.failure) return '';
    this.events++;
    if (this.#dialect.isOutput(name)) this.estimate.weigh(frame.length, [payload]);
    const usage = this.#dialect.findUsage(payload);
    const isRounded = roundUsage(usage);
    this.#addUsage(usage);
    this.isDone = this.#dialect.isEnd(name);
    if (!this.#completion.complete(name, payload) && !isRounded) return null;
    return toBytesText(`event: ${name}\ndata: ${JSON.stringify(payload)}${this.frames.separator}`);
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
