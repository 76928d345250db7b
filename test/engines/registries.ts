/** Flags and parsers of the engines of PyPI by version, as `record_registries.py` reads them from their wheels. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const RECORDED_ENGINES = ['vllm', 'vllm-omni', 'sglang', 'sglang-diffusion'] as const;

export interface Registry {
  flags: string[];
  /** Parsers of tool calls and reasoning; empty for engines without them. */
  tools: string[];
  reasoning: string[];
}

/** By version. */
export function loadRegistries(engine: string): Record<string, Registry> {
  const text = readFileSync(join(import.meta.dirname, 'registries', `${engine}.json`), 'utf8');
  const recorded = JSON.parse(text) as Record<string, Record<keyof Registry, string>>;
  const split = (words: string | undefined): string[] => words?.split(' ') ?? [];
  const entries = Object.entries(recorded).map(([version, { flags, tools, reasoning }]) => [
    version,
    { flags: split(flags), tools: split(tools), reasoning: split(reasoning) },
  ]);
  return Object.fromEntries(entries);
}
