/** Where a request may run: the agreement between the request path and the registry of replicas. */

/** A slot on an engine, local or a peer's. Held until `release` is called (idempotent). */
export interface EngineTarget {
  /** Origin such as http://127.0.0.1:8000. */
  origin: string;
  /** Prepended to the engine's path: empty for the local engine, the peer's internal route for a peer. */
  pathPrefix: string;
  /** Headers that the target needs beside the request's own, such as a peer's reservation. */
  headers: Record<string, string>;
  local: boolean;
  /** The deployment whose replica it is, if that is another version; absent: this one. */
  version?: string;
  release(): void;
}

/** Why no slot was found: every ready replica is full, or none is ready. */
export type Refusal = 'replica_saturated' | 'no_pod_available';

export type Acquisition = { target: EngineTarget } | { refusal: Refusal };

/** Who requests a slot. */
export interface Caller {
  /** The unit of fairness. */
  id: string;
  /** Higher first. */
  priority: number;
  /** Hash of its prompt, which routes to the replica that may have it cached; null or absent: it stays on this replica. */
  prefix?: number | null | undefined;
}

export interface Capacity {
  /**
   * Synchronous while a local slot is free; otherwise asks the peers, least loaded first. A caller with a prefix is routed
   * to its replica first. Callers that have to wait take turns, those of a higher priority first.
   */
  acquire(signal: AbortSignal, caller?: Caller): Acquisition | Promise<Acquisition>;
  /** A slot that is free now and at none of `lost`, the origins of targets whose engines have just failed. */
  acquireElsewhere(lost: ReadonlySet<string>, signal: AbortSignal): Acquisition | Promise<Acquisition>;
}
