/** What Text Embeddings Inference does in its own way, as of 1.9: bounds of inputs, permits, errors and what it is. */
import { EngineError } from './errors.ts';

/** Unless it is started with `--max-client-batch-size` and `--max-concurrent-requests`. */
export const TEI_BOUNDS = { inputs: 32, permits: 512 } as const;

const MAX_INPUT_TOKENS = 512;

/** The engine's type of an error. */
export function nameErrorOfTEI(status: number): string {
  if (status === 429) return 'Overloaded';
  if (status === 503) return 'Unhealthy';
  return status < 500 ? 'Validation' : 'Backend';
}

/** Error of its own routes; OpenAI's routes have another shape. */
export const describeErrorOfTEI = ({ message, status }: EngineError): object => ({
  error: message,
  error_type: nameErrorOfTEI(status),
});

/** Throws EngineError for more inputs than one request may have. */
export function checkBatch(count: number, most: number | null): void {
  if (most !== null && count > most)
    throw new EngineError(413, 'Validation', `batch size ${count} > maximum allowed batch size ${most}`);
}

/** What a call takes of the permits: one for each input. */
export interface Inputs {
  count: number;
  /** It waits for them; one that is alone is refused. */
  isBatch: boolean;
}

/** Inputs in flight, including waiting ones. */
export class Permits {
  #taken = 0;

  /** Returns how to give them back. Throws EngineError where none is left. */
  take({ count, isBatch }: Inputs, most: number | null): () => void {
    if (most !== null && !isBatch && this.#taken >= most)
      throw new EngineError(429, 'Overloaded', 'Model is overloaded');
    this.#taken += count;
    return () => {
      this.#taken -= count;
    };
  }
}

/** GET /info, as far as it is used. */
export const describeInfo = ({ model, kind }: { model: string; kind: string }): object => ({
  model_id: model,
  model_type:
    kind === 'Rerank' ? { reranker: { id2label: {}, label2id: {} } } : { embedding: { pooling: 'mean' } },
  max_concurrent_requests: TEI_BOUNDS.permits,
  max_client_batch_size: TEI_BOUNDS.inputs,
  max_input_length: MAX_INPUT_TOKENS,
  version: '1.9.4',
});
