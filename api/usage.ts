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
}
