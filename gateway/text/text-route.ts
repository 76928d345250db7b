/** What differs between text routes; the flow is the same for all (`text-routes.ts`). */
import type { JSONObject } from '../../kit/json.ts';
import type { TokenUsage } from '../account/account.ts';
import type { StreamFilter } from '../engine/stream-answer.ts';
import type { VectorsRequest } from '../engine/vectors.ts';
import type { JsonBody } from '../http/body-parsing.ts';
import type { Continuable } from './continuation.ts';
import type { Fields } from './fields.ts';
import type { MediaReference } from './media-inlining.ts';
import type { MessageMedia } from './message-media.ts';

/** The part of a request that its answer depends on. */
export interface AnswerRequest {
  /** What the engine is sent. */
  payload: Buffer;
  /** Whether the client asked for usage in the stream. */
  isUsageWanted: boolean;
  /** Choices for each prompt. */
  n: number;
  /** Sizes of several prompts. */
  promptSizes: readonly number[];
  /** Null: no vectors are requested. */
  vectors: VectorsRequest | null;
}

export interface TextRoute {
  /** At the endpoint, and at an engine with the same API. */
  path: string;
  fields: Fields;
  /** Rejects unsupported features. Throws ApiError. */
  refuse?(body: JSONObject): void;
  /** What the engine is not sent; null: nothing. Throws ApiError. */
  omit?(body: JsonBody): Omission | null;
  /** Checks URLs in the body. Throws ApiError. */
  readMedia(body: JSONObject): MessageMedia;
  /** The prompt, part by part in the engine's order, if it caches prompts; absent: it does not. */
  readPrompt?(body: JSONObject): readonly unknown[];
  /** Translates it to the engine's API. Throws ApiError. */
  translate?(body: JSONObject, preset: string): Translation;
  /** Members that override the client's, as JSON texts. */
  fixed?: ReadonlyMap<string, string>;
  /** Null: it never streams. `needsUsageOption`: usage is sent only if `stream_options` requests it. */
  stream: { needsUsageOption: boolean; watch(modelId: string, request: AnswerRequest): StreamFilter } | null;
  /** Whether its broken stream can continue on another engine; absent: never. */
  readContinuable?(body: JSONObject, preset: string): Continuable | null;
  /** Which vectors are requested; absent: none. */
  readVectors?(body: JSONObject, preset: string): VectorsRequest;
  /** Completes a whole response; returns whether it changed anything. */
  complete(answer: JSONObject, modelId: string, request: AnswerRequest): boolean;
  readUsage(usage: unknown): TokenUsage | null;
  /** Output tokens of a whole response if the engine reports no usage; absent: the route spends none. */
  estimateOutput?(answer: JSONObject): number;
}

/** Tools that are left out of a request. */
export interface Omission {
  /** Their types, which the client is told. */
  names: string[];
  /** Members without them, as JSON texts. */
  members: ReadonlyMap<string, string>;
}

/** A request translated for an engine whose API differs from the endpoint's. */
export interface Translation {
  /** At the engine. */
  path: string;
  /** Without the model name. Absent: the client's body is forwarded, including undocumented members. */
  body?: object;
  /** Members that override the client's, as JSON texts; not together with `body`. */
  fixed?: ReadonlyMap<string, string>;
  /** Media that `body` references by URL; absent: where the client's has them. */
  media?: MediaReference[];
  /** The endpoint's response, built from the engine's; null if that is invalid. Throws ApiError. */
  read?(answer: unknown): JSONObject | null;
}
