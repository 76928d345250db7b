/**
 * Watches an engine's event stream on its way to the client. Whole frames of one line pass untouched and unparsed;
 * only those with usage, no choices, an abort or unusual length are parsed. A frame split across chunks waits for its rest, so that
 * the client never receives half a frame.
 */
import { isObject, type JSONObject } from '../../kit/json.ts';
import type { TokenUsage } from '../account/account.ts';
import { toBytesText } from '../http/event-stream.ts';
import { describeOpenAIUsage, readOpenAIUsage, roundUsage } from './answer.ts';
import { ChoiceUsages } from './choice-usage.ts';
import { EngineAbortedError, findAbortedError, findEngineError } from './engine-error.ts';
import { type Frame, parseJSON, readFrame, writeFrame } from './sse-frames.ts';
import { StreamFilter } from './stream-answer.ts';

export interface SseFilterOptions {
  /** Replaces the engine's own model name. */
  modelId: string;
  /** Whether the client asked for usage: otherwise it is removed. */
  isUsageWanted: boolean;
  /** Choices for each prompt; absent: one. */
  n?: number;
}

const MODEL = /"model":\s*("(?:[^"\\]|\\.)*")/;
const DONE = '[DONE]';
/**
 * Ends of `"choices":`, `"usage"`, `"error":` and `"abort"`: V8 finds strings of up to six characters that do not start with a
 * quote, of which there are many, five times faster.
 */
const CHOICES = 'ices":';
const USAGE = 'usage"';
const ERROR = 'rror":';
const ABORT = 'bort"';
/** End of `"system_fingerprint"`, which shows the engine's version and parallelism. */
const FINGERPRINT = 'print"';
const FINGERPRINT_MEMBER =
  /,\s*"system_fingerprint":\s*"(?:[^"\\]|\\.)*"|"system_fingerprint":\s*"(?:[^"\\]|\\.)*"\s*,/g;
const NULL = /^:\s*null/;
const FINISH = /_reason":\s*"/;

export class SseFilter extends StreamFilter {
  #usage: TokenUsage | null = null;
  /** Usage of choices that are reported one by one. */
  readonly #choiceUsages: ChoiceUsages;
  readonly #modelId: string;
  readonly #isUsageWanted: boolean;
  /** Whether the engine gave a finish reason; searched for before the first token only. */
  #isFinishTold = false;
  /** Members that all frames have in common, for those that lack them. */
  #head: JSONObject | null = null;
  /** The engine's literal `"model":"…"`, if it must be replaced; unknown until the first frame. */
  #model: { isKnown: boolean; found: string; replacement: string } = {
    isKnown: false,
    found: '',
    replacement: '',
  };

  constructor(options: SseFilterOptions) {
    super();
    this.#modelId = options.modelId;
    this.#isUsageWanted = options.isUsageWanted;
    this.#choiceUsages = new ChoiceUsages(options.n ?? 1);
  }

  /** Not below what passed, if choices are reported one by one and the stream breaks before the last. */
  get usage(): TokenUsage | null {
    const reported = this.#usage;
    const { tokens: outputTokens } = this.estimate;
    if (!reported || this.isDone || this.#choiceUsages.isEmpty || outputTokens <= reported.outputTokens)
      return reported;
    return { ...reported, outputTokens, totalTokens: reported.inputTokens + outputTokens };
  }

  end(): string | null {
    if (this.isDone || this.failure) return null;
    const { rest } = this.frames;
    if (rest === null || !isDone(readFrame(rest))) return null;
    this.#seeDone();
    return this.failure ? null : `data: ${DONE}\n\n`;
  }

  /** A request that vLLM aborts before its first token ends like a complete response, empty and without a finish reason. */
  #seeDone(): void {
    const isEmpty = this.#usage?.outputTokens === 0 && this.estimate.tokens === 0;
    if (isEmpty && !this.#isFinishTold) this.failure = new EngineAbortedError();
    else this.isDone = true;
  }

  #learnModel(text: string): void {
    if (!text.includes('"choices"')) return;
    this.#model.isKnown = true;
    const match = MODEL.exec(text);
    if (!match) return;
    const name = parseJSON(Buffer.from(match[1]!, 'latin1').toString());
    if (name === this.#modelId) return;
    this.#model.found = match[0];
    this.#model.replacement = `"model":${toBytesText(JSON.stringify(this.#modelId))}`;
  }

  /** Scans frame by frame; each needle is searched for again only once its last match is passed. */
  protected pass(whole: number): string | null {
    const { data, text } = this.frames;
    if (!this.#model.isKnown) this.#learnModel(text);
    if (this.estimate.tokens === 0) this.#isFinishTold ||= FINISH.test(text);
    let end = whole;
    let choices = -1;
    let usage = seekUsage(text, 0);
    let error = text.indexOf(ERROR);
    let abort = text.indexOf(ABORT);
    const pieces: string[] = [];
    let kept = 0;
    let start = 0;
    while (start < end) {
      const stop = this.frames.findStop(start, end);
      if (choices < start) choices = seek(text, CHOICES, start);
      if (usage !== -1 && usage < start) usage = seekUsage(text, start);
      if (error !== -1 && error < start) error = text.indexOf(ERROR, start);
      if (abort !== -1 && abort < start) abort = text.indexOf(ABORT, start);
      const isLine = this.frames.isPlain(start, stop);
      const isKnown =
        isLine &&
        choices < stop &&
        !isWithin(usage, stop) &&
        !isWithin(error, stop) &&
        !isWithin(abort, stop);
      if (!isKnown || !this.estimate.count(stop - start)) {
        const replacement = this.#inspect(data.subarray(start, stop), isLine);
        if (replacement !== null) {
          pieces.push(text.slice(kept, start), replacement);
          kept = stop;
        }
        if (this.isDone || this.failure) {
          end = this.failure ? start : stop;
          break;
        }
      }
      start = stop;
    }
    return this.#assemble(text, { pieces, kept, end });
  }

  #assemble(text: string, cut: { pieces: string[]; kept: number; end: number }): string | null {
    const { pieces, kept, end } = cut;
    const { found, replacement } = this.#model;
    let output = text;
    if (pieces.length > 0) output = pieces.join('') + text.slice(kept, Math.max(kept, end));
    else if (end < text.length) output = text.slice(0, end);
    if (found !== '') output = output.replaceAll(found, replacement);
    if (output.includes(FINGERPRINT)) output = output.replaceAll(FINGERPRINT_MEMBER, '');
    return output === '' ? null : output;
  }

  /** Inspects one frame. Null keeps it; a string, one character per byte, replaces it. */
  #inspect(bytes: Buffer, isLine: boolean): string | null {
    const frame = { ...readFrame(bytes.toString('utf8')), event: '' };
    if (isDone(frame)) {
      this.#seeDone();
      if (this.failure) return '';
      return isLine ? null : writeFrame({ ...frame, data: DONE });
    }
    const payload = parseJSON(frame.data ?? '');
    // SDKs fail at what is no JSON, and at events without data.
    if (!isObject(payload)) return writeFrame({ ...frame, data: null });
    this.failure = findEngineError(payload) ?? findAbortedError(payload);
    if (this.failure) return '';
    if (Array.isArray(payload.choices)) {
      const { id, object, created, model } = payload;
      this.#head ??= { id, object, created, model };
      this.estimate.weigh(bytes.length, payload.choices);
    }
    const isAdded = Boolean(payload.usage) && this.#noteUsage(payload);
    const change = this.#complete(payload, isAdded);
    if (change === 'removed') return writeFrame({ ...frame, data: null });
    if (change === 'changed') return writeFrame({ ...frame, data: JSON.stringify(payload) });
    return isLine ? null : writeFrame(frame);
  }

  /** Returns whether it replaced the frame's. */
  #noteUsage(payload: JSONObject): boolean {
    const own = readOpenAIUsage(payload.usage);
    const sum = this.#choiceUsages.add(payload);
    this.#usage = sum ?? own ?? this.#usage;
    if (sum === null || sum.totalTokens === own?.totalTokens) return false;
    payload.usage = { ...(payload.usage as JSONObject), ...describeOpenAIUsage(sum) };
    return true;
  }

  /** `removed`: the frame has only usage that the client did not ask for. `isAdded`: its usage is replaced. */
  #complete(payload: JSONObject, isAdded: boolean): 'kept' | 'changed' | 'removed' {
    const { choices, usage } = payload;
    const hasChoices = Array.isArray(choices);
    const isUnwanted = Boolean(usage) && !this.#isUsageWanted;
    if (isUnwanted && (!hasChoices || choices.length === 0)) return 'removed';
    if (isUnwanted) delete payload.usage;
    else if (!roundUsage(usage) && !isAdded && hasChoices) return 'kept';
    if (!hasChoices) Object.assign(payload, { ...this.#head, ...payload, choices: [] });
    if (payload.model !== undefined) payload.model = this.#modelId;
    return 'changed';
  }
}

const isDone = ({ data }: Frame): boolean => data !== null && data.trim() === DONE;

const isWithin = (place: number, stop: number): boolean => place !== -1 && place < stop;

/** Offset of reported usage; -1 if none. Some engines send `"usage":null` in every frame. */
function seekUsage(text: string, from: number): number {
  let place = text.indexOf(USAGE, from);
  while (place !== -1 && NULL.test(text.slice(place + USAGE.length, place + USAGE.length + 6)))
    place = text.indexOf(USAGE, place + 1);
  return place;
}

/** Past the end if absent, so that one comparison is enough. */
function seek(text: string, needle: string, from: number): number {
  const place = text.indexOf(needle, from);
  return place < 0 ? Number.POSITIVE_INFINITY : place;
}
