/** What tells one text route from another; the flow is the same for all (`text-routes.ts`). */
import type { JSONObject } from '../../kit/json.ts';
import type { Usage } from '../engine/answer.ts';
import type { StreamFilter } from '../engine/stream-answer.ts';
import type { Continuable } from './continuation.ts';
import type { Fields } from './fields.ts';
import type { MessageMedia } from './message-media.ts';
import type { TextRequest } from './text-request.ts';

export interface TextRoute {
  /** At the endpoint, and at an engine that speaks as it does. */
  path: string;
  fields: Fields;
  /** Refuses what this endpoint does not do. Throws ApiError. */
  refuse?(body: JSONObject): void;
  /** Checks what the body names by URL. Throws ApiError. */
  readMedia(body: JSONObject): MessageMedia;
  /** What the engine reads, part by part in its order, where it caches prompts; absent: it does not. */
  readPrompt?(body: JSONObject): readonly unknown[];
  /** Says it in the words of the engine. Throws ApiError. */
  translate?(body: JSONObject, preset: string): Translation;
  /** Members that the engine is sent whatever the client sends, as JSON texts. */
  fixed?: ReadonlyMap<string, string>;
  /** Null: it never streams. `needsUsageOption`: usage comes only to those who ask for it by `stream_options`. */
  stream: { needsUsageOption: boolean; watch(modelId: string, request: TextRequest): StreamFilter } | null;
  /** Whether its broken stream can go on at another engine; absent: never. */
  readContinuable?(body: JSONObject, preset: string): Continuable | null;
  /** Makes a whole answer that of the route; answers whether it changed anything. */
  complete(answer: JSONObject, modelId: string, request: TextRequest): boolean;
  readUsage(usage: unknown): Usage | null;
  /** Tokens of a whole answer for which the engine reports no usage; absent: the route spends none. */
  estimateOutput?(answer: JSONObject): number;
}

/** A request in the words of an engine that says them otherwise than the endpoint. */
export interface Translation {
  /** At the engine. */
  path: string;
  /** Beside the name of the model. Absent: the client's body goes on, with all that is not documented. */
  body?: object;
  /** Members that it is sent whatever the client sends, as JSON texts; not together with `body`. */
  fixed?: ReadonlyMap<string, string>;
  /** The endpoint's answer, made of the engine's; null where that is none. */
  read?(answer: unknown): JSONObject | null;
}
