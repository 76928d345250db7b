/** What runs a line of a batch: the agreement between a chunk and the endpoint. */
import type { Bill } from '../account/account.ts';

export interface LineOrder {
  path: string;
  body: string;
  /** SHA-256 of the API key that it counts and is charged for. */
  sha256: string;
  signal: AbortSignal;
}

export interface LineAnswer {
  status: number;
  requestId: string;
  body: string;
  /** null: nothing was used. */
  bill: Bill | null;
}

export interface ChunkCost {
  sha256: string;
  /** Millionths. */
  micros(): number;
}

export interface LineRunner {
  /** The caller holds a slot. Throws ApiError if the key may not send it now, and errors of the connection. */
  run(order: LineOrder): Promise<LineAnswer>;
  /** Counts what a chunk has cost until the returned function is called: Redis does so when the chunk is finished. */
  watch(cost: ChunkCost): () => void;
}
