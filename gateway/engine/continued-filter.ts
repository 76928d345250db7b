/**
 * Watches the stream of a chat that several engines serve in turn, and joins their parts into one response: one id,
 * one role, one end, the usage of all. Keeps what was generated, for the next engine to continue.
 */
import { isObject, type JSONObject } from '../../kit/json.ts';
import type { TokenUsage } from '../account/account.ts';
import { ApiError } from '../http/error-response.ts';
import { toBytesText } from '../http/event-stream.ts';
import { describeOpenAIUsage, estimateUsage } from './answer.ts';
import { GeneratedText } from './generated-text.ts';
import { Seam } from './seam.ts';
import { SseFilter } from './sse-filter.ts';
import { parseJSON, readFrame } from './sse-frames.ts';
import type { StreamWatch } from './stream-answer.ts';

export interface ContinuedFilterOptions {
  modelId: string;
  /** Whether the client asked for usage. */
  isUsageWanted: boolean;
  /** Whether the gateway asked the engine for usage in every frame. */
  isUsageContinuous: boolean;
  /** For an estimate of tokens that no engine reported. */
  promptBytes: number;
  stops: readonly string[];
  withStop: boolean;
  /** Reserves memory for generated text; false if there is none left. */
  reserve(bytes: number): boolean;
}

type InputUsage = Pick<TokenUsage, 'inputTokens' | 'cachedInputTokens'>;

/** Abort an engine that continues: it does not see the stop string across the seam, or restarts its response. */
const PAST_STOP = new ApiError('upstream_error', 'The response ended before the engine did.');
const RESTARTED = new ApiError('upstream_error', 'The engine started reasoning again instead of continuing.');

const DROPPED = '';

export class ContinuedFilter implements StreamWatch {
  readonly generated: GeneratedText;
  readonly #options: ContinuedFilterOptions;
  #part: SseFilter;
  /** Between this part and the previous ones; null in the first. */
  #seam: Seam | null = null;
  #failure: ApiError | null = null;
  /** Whether this part has generated anything. */
  hasProgress = false;
  /** Why the response ended; null until then. */
  finish: unknown = null;
  #isFinishTold = false;
  /** What all frames have in common. */
  #head: JSONObject = {};
  /** Output of the previous parts. */
  #earlierTokens = 0;
  /** Whether an engine did not report it. */
  #isEarlierEstimate = false;
  #isUsageTold = false;
  /** As the first part reported it. */
  #input: InputUsage | null = null;

  constructor(options: ContinuedFilterOptions) {
    this.#options = options;
    this.generated = new GeneratedText(options);
    this.#part = this.#openPart();
  }

  get isDone(): boolean {
    return this.#part.isDone && this.#failure === null;
  }

  get failure(): ApiError | null {
    return this.#failure ?? this.#part.failure;
  }

  get estimatedTokens(): number {
    return this.#earlierTokens + (this.#part.usage?.outputTokens ?? this.#part.estimatedTokens);
  }

  /** Whether `estimatedTokens` differ from what the engines reported. */
  get isEstimate(): boolean {
    const { usage, estimatedTokens } = this.#part;
    return this.#isEarlierEstimate || (usage === null && estimatedTokens > 0);
  }

  /** Usage of all parts, with the prompt once: the client is not charged when the next engine reads prompt and output again. */
  get usage(): TokenUsage | null {
    const own = this.#part.usage;
    const input = this.#input ?? (own && deriveInput(own, this.#earlierTokens));
    if (!input) return null;
    const { inputTokens, cachedInputTokens } = input;
    const outputTokens = this.estimatedTokens;
    return { inputTokens, cachedInputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
  }

  restart(): void {
    this.#part = this.#openPart();
  }

  push(chunk: Buffer): string | null {
    if (this.isDone || this.failure) return null;
    const passed = this.#part.push(chunk);
    const output = passed === null ? '' : this.#passFrames(passed);
    return output === '' ? null : output;
  }

  end(): string | null {
    return this.failure ? null : this.#part.end();
  }

  /** From now on another engine responds. */
  beginPart(): void {
    this.#input ??= this.#part.usage && this.usage;
    this.#isEarlierEstimate = this.isEstimate;
    this.#earlierTokens = this.estimatedTokens;
    this.#part = this.#openPart();
    this.#failure = null;
    this.hasProgress = false;
    this.#seam = new Seam({ ...this.#options, generated: this.generated.content });
  }

  /** The last frames of a response that has ended, if no engine is left to send them. */
  complete(): string {
    const { isUsageWanted, promptBytes } = this.#options;
    const end = { index: 0, delta: {}, logprobs: null, finish_reason: this.finish };
    const usage = this.usage ?? estimateUsage(promptBytes, this.estimatedTokens);
    return [
      ...(this.#isFinishTold ? [] : [formatFrame({ ...this.#head, choices: [end] })]),
      ...(isUsageWanted && !this.#isUsageTold
        ? [formatFrame({ ...this.#head, choices: [], usage: describeOpenAIUsage(usage) })]
        : []),
      'data: [DONE]\n\n',
    ].join('');
  }

  /** Usage passes, for the sum of all parts. */
  #openPart(): SseFilter {
    return new SseFilter({ modelId: this.#options.modelId, isUsageWanted: true });
  }

  /** `text`: whole frames, one character per byte. */
  #passFrames(text: string): string {
    let output = '';
    for (const [frame] of text.matchAll(FRAME)) {
      output += this.#passFrame(frame);
      if (this.#failure) break;
    }
    return output;
  }

  #passFrame(frame: string): string {
    const { data } = readFrame(Buffer.from(frame, 'latin1').toString('utf8'));
    const payload = parseJSON(data ?? '');
    if (!isObject(payload) || !Array.isArray(payload.choices)) return frame;
    if (this.#seam === null) this.#noteHead(payload);
    else if (!this.#join(payload, payload.choices)) return DROPPED;
    this.#note(payload.choices);
    const usage = this.#passUsage(payload, payload.choices.length > 0);
    if (usage === 'alone') return DROPPED;
    return this.#seam === null && usage === 'as it was' ? frame : formatFrame(payload);
  }

  #noteHead({ id, object, created, model }: JSONObject): void {
    this.#head = { id, object, created, model };
  }

  /** Converts a frame of a later part to the first part's stream; false if nothing is left of it. */
  #join(payload: JSONObject, choices: readonly unknown[]): boolean {
    Object.assign(payload, this.#head);
    let isEmpty = choices.length > 0;
    for (const choice of choices.filter(isObject)) {
      const { delta } = choice;
      if (isObject(delta)) this.#joinDelta(delta);
      if (this.#failure === RESTARTED) return false;
      isEmpty &&=
        isNothing(choice.finish_reason) && (!isObject(delta) || Object.values(delta).every(isNothing));
    }
    return !isEmpty;
  }

  #joinDelta(delta: JSONObject): void {
    delete delta.role;
    if (this.generated.hasContent && !isNothing(readReasoning(delta))) this.#failure = RESTARTED;
    if (typeof delta.content !== 'string') return;
    delta.content = this.#seam!.join(delta.content);
    if (!this.#seam!.isStopped) return;
    this.#failure = PAST_STOP;
    this.finish = 'stop';
  }

  #note(choices: readonly unknown[]): void {
    for (const choice of choices) {
      if (!isObject(choice)) continue;
      if ((choice.index ?? 0) !== 0) this.generated.giveUp('it has several choices');
      if (isObject(choice.delta)) this.#noteDelta(choice.delta);
      if (isNothing(choice.finish_reason)) continue;
      this.finish = choice.finish_reason;
      this.#isFinishTold = true;
    }
  }

  #noteDelta(delta: JSONObject): void {
    const { role: _, content, reasoning, reasoning_content, ...rest } = delta;
    if (!Object.values(rest).every(isNothing)) this.generated.giveUp('it is more than text');
    const thought = readReasoning(delta);
    if (typeof thought === 'string' && thought !== '') this.generated.addReasoning(thought);
    if (typeof content === 'string' && content !== '') this.generated.addContent(content);
    this.hasProgress ||= !isNothing(content) || !isNothing(thought);
  }

  /** `alone`: the frame has only usage that the client did not ask for. */
  #passUsage(payload: JSONObject, hasChoices: boolean): 'as it was' | 'changed' | 'alone' {
    if (!isObject(payload.usage)) return 'as it was';
    const { isUsageWanted, isUsageContinuous } = this.#options;
    if (isUsageWanted && !(isUsageContinuous && hasChoices)) {
      this.#isUsageTold = true;
      const sum = this.#seam && this.usage;
      if (sum) payload.usage = { ...payload.usage, ...describeOpenAIUsage(sum) };
      return sum ? 'changed' : 'as it was';
    }
    delete payload.usage;
    return hasChoices ? 'changed' : 'alone';
  }
}

/** Each with its blank line. */
const FRAME = /[\s\S]*?\n\n|[\s\S]+$/g;

const formatFrame = (payload: JSONObject): string => `data: ${toBytesText(JSON.stringify(payload))}\n\n`;

const readReasoning = ({ reasoning, reasoning_content }: JSONObject): unknown =>
  reasoning ?? reasoning_content;

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

/** Derives the usage of the prompt, which includes what earlier parts generated. */
function deriveInput({ inputTokens, cachedInputTokens }: TokenUsage, earlierTokens: number): InputUsage {
  const own = Math.max(0, inputTokens - earlierTokens);
  return { inputTokens: own, cachedInputTokens: Math.min(cachedInputTokens, own) };
}
