/** A request in the words of an engine that says them otherwise than the endpoint. */

import type { JSONObject } from '../../kit/json-object.ts';

/** How an engine is asked, and how its answer is read. */
export interface Translation {
  /** At the engine. */
  path: string;
  /** Beside the name of the model. Absent: the client's body goes on, with all that is not documented. */
  body?: object;
  /** The endpoint's answer, made of the engine's; null where that is none. */
  read?(answer: unknown): JSONObject | null;
}
