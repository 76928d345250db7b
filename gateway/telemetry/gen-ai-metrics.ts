/**
 * OpenTelemetry's metrics of GenAI servers, under the names that Prometheus gives them, beside Berth's own
 * (https://github.com/open-telemetry/semantic-conventions-genai: names, attributes and buckets are the convention's).
 */
import type { Registry } from 'prom-client';
import { createHistogram, type Observe } from './metrics-accumulators.ts';

const DURATION_SECONDS = Array.from({ length: 14 }, (_, index) => 2 ** index / 100);
const FIRST_TOKEN_SECONDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
const OUTPUT_TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKENS = Array.from({ length: 14 }, (_, index) => 4 ** index);

/** The convention's, if it has one. */
const OPERATIONS: Record<string, string> = {
  chat_completions: 'chat',
  responses: 'chat',
  messages: 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
  rerank: 'rerank',
  rerank_v2: 'rerank',
  score: 'rerank',
  image_generations: 'generate_content',
  image_edits: 'generate_content',
  speech: 'generate_content',
  transcriptions: 'transcription',
  translations: 'transcription',
};

/** The convention's name of a route's operation; undefined if it has none. */
export const findOperation = (route: string): string | undefined => OPERATIONS[route];

export interface GenAIOperation {
  route: string;
  /** The engine's preset. */
  provider: string;
  model: string;
  /** Code of the error that it ended with. */
  error: string | null;
  durationSeconds: number;
  /** Set for a stream. */
  firstTokenSeconds: number | null;
  usage: { inputTokens: number; outputTokens: number } | null;
  traceId: string | undefined;
}

export interface GenAIMetrics {
  /** Routes without an operation are not counted. */
  observe(operation: GenAIOperation): void;
}

const SEPARATOR = '\n';

/** The series of a route's operation, while it serves the same model. */
interface OperationSeries {
  provider: string;
  model: string;
  key: string;
  duration: Observe;
  firstToken: Observe;
  outputToken: Observe;
  inputTokens: Observe;
  outputTokens: Observe;
}

/** A series by its attributes: its own names after the common ones, in this order. */
const readLabels =
  (...more: string[]) =>
  (key: string): Record<string, string> => {
    const values = key.split(SEPARATOR);
    const names = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model', ...more];
    return Object.fromEntries(names.flatMap((name, index) => (values[index] ? [[name, values[index]]] : [])));
  };

export function createGenAIMetrics(register: Registry): GenAIMetrics {
  const duration = createHistogram(register, {
    name: 'gen_ai_server_request_duration_seconds',
    help: 'From the request head to the last byte of the response',
    label: readLabels('error_type'),
    bounds: DURATION_SECONDS,
  });
  const firstToken = createHistogram(register, {
    name: 'gen_ai_server_time_to_first_token_seconds',
    help: 'From the request head to the first token of a successful stream',
    label: readLabels(),
    bounds: FIRST_TOKEN_SECONDS,
  });
  const outputToken = createHistogram(register, {
    name: 'gen_ai_server_time_per_output_token_seconds',
    help: 'Time of each token after the first of a successful stream',
    label: readLabels(),
    bounds: OUTPUT_TOKEN_SECONDS,
  });
  const tokens = createHistogram(register, {
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of a request, as charged',
    label: readLabels('gen_ai_token_type'),
    bounds: TOKENS,
  });
  const known = new Map<string, OperationSeries>();
  const find = ({ route, provider, model }: GenAIOperation): OperationSeries | null => {
    const latest = known.get(route);
    if (latest?.provider === provider && latest.model === model) return latest;
    const operation = OPERATIONS[route];
    if (operation === undefined) return null;
    const key = operation + SEPARATOR + provider + SEPARATOR + model;
    const series = {
      provider,
      model,
      key,
      duration: duration.bind(key),
      firstToken: firstToken.bind(key),
      outputToken: outputToken.bind(key),
      inputTokens: tokens.bind(`${key}${SEPARATOR}input`),
      outputTokens: tokens.bind(`${key}${SEPARATOR}output`),
    };
    known.set(route, series);
    return series;
  };
  return {
    observe(operation) {
      const series = find(operation);
      if (!series) return;
      const { error, traceId, durationSeconds, firstTokenSeconds, usage } = operation;
      if (error === null) series.duration(durationSeconds, traceId);
      else duration.observe(series.key + SEPARATOR + error, durationSeconds, traceId);
      if (usage) {
        series.inputTokens(usage.inputTokens, traceId);
        if (usage.outputTokens > 0) series.outputTokens(usage.outputTokens, traceId);
      }
      if (error !== null || firstTokenSeconds === null) return;
      series.firstToken(firstTokenSeconds, traceId);
      const following = (usage?.outputTokens ?? 0) - 1;
      if (following > 0) series.outputToken((durationSeconds - firstTokenSeconds) / following, traceId);
    },
  };
}
