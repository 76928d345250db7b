/** GET /metrics: the few of vLLM's that autoscalers and dashboards read. */
import type { Engine } from './engine.ts';

export function writeMetrics(engine: Engine): string {
  const { totals } = engine.activity;
  const cache = engine.cache.totals;
  const label = `{model_name=${JSON.stringify(engine.options.model)}}`;
  const lines: [name: string, type: string, help: string, value: number][] = [
    ['num_requests_running', 'gauge', 'Requests being worked on.', engine.slots.running],
    ['num_requests_waiting', 'gauge', 'Requests waiting for their turn.', engine.slots.waiting],
    ['prompt_tokens_total', 'counter', 'Tokens of the prompts.', totals.promptTokens],
    ['generation_tokens_total', 'counter', 'Tokens of the answers.', totals.completionTokens],
    ['prefix_cache_queries_total', 'counter', 'Prompt tokens looked up in the cache.', cache.asked],
    ['prefix_cache_hits_total', 'counter', 'Prompt tokens found in it.', cache.found],
    ['request_success_total', 'counter', 'Requests answered.', totals.answered],
  ];
  return lines
    .map(
      ([name, type, help, value]) =>
        `# HELP vllm:${name} ${help}\n# TYPE vllm:${name} ${type}\nvllm:${name}${label} ${value}\n`,
    )
    .join('');
}
