/** What a source of deliveries is to the command. */
export interface Listening {
  /** Whose deliveries come. */
  namespace: string;
  replay(number?: number): Promise<void>;
  /** After the signal: leaves nothing of it behind. */
  close(): Promise<void>;
  /** Rejects with the reason if no more deliveries will come; absent where that cannot be known. */
  ended?: Promise<void>;
}
