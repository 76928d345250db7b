/** Usage of one or more deployments over time, for charts. */
export interface UsageCounts {
  requests: number;
  clientErrors: number;
  rateLimited: number;
  serverErrors: number;
  inputTokens: number;
  outputTokens: number;
  images: number;
  videos: number;
  videoSeconds: number;
  audioSeconds: number;
  characters: number;
  p50Ms: number | null;
  p95Ms: number | null;
  p99Ms: number | null;
  /** From the request to the first token, of streams. */
  firstTokenP50Ms: number | null;
  firstTokenP95Ms: number | null;
  /** Before an engine took the request; its own queue is not in it. */
  waitP50Ms: number | null;
  waitP95Ms: number | null;
  /** The most requests of one deployment that waited at once. */
  queuePeak: number;
  /** The most requests of one deployment that its engines had at once, by a sample a second; 0: none was seen. */
  inflightPeak: number;
  /** The most that ran; 0: no engine tells. */
  runningPeak: number;
  /** The most that had been queued within the engines for some seconds; 0: none, or no engine tells. */
  engineWaitingPeak: number;
  /** The most that waited for a slot at a replica. */
  slotWaitingPeak: number;
  /** Percent of the KV cache in use, on average of the replicas with two requests or more; null: no engine tells. */
  cacheUse: number | null;
  /** The same of the fullest replica. */
  cacheUsePeak: number | null;
}
