/** A source of deliveries. */
export interface Listening {
  /** Description of the source. */
  namespace: string;
  replay(number?: number): Promise<void>;
  /** Cleanup after the signal. */
  close(): Promise<void>;
  /** Rejects with the reason if no more deliveries will arrive; absent if that cannot be known. */
  ended?: Promise<void>;
}
