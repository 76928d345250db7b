/** The replicas' engines: simulators that compute a prompt's uncached tokens one prompt after the other. */
import type { ChildProcess } from 'node:child_process';
import { LOAD_CORE, startPinned, stopPinned, waitForPort } from '../pinned-process.ts';
import { MODEL } from '../systems.ts';

export const REPLICAS = 4;
const FIRST_PORT = 19_300;
export const ENGINE_PORTS = Array.from({ length: REPLICAS }, (_, index) => FIRST_PORT + index);
export const ENGINE_URLS = ENGINE_PORTS.map((port) => `http://127.0.0.1:${port}`);

/** Some 20,000 tokens of prompts a second, 80 tokens a second for each answer. */
const SETTINGS = {
  SIMULATOR_MODEL: MODEL,
  SIMULATOR_PREFILL_MS: '0.05',
  SIMULATOR_ITL_MS: '12',
  // Together, the caches are large enough for the prompts in use; each alone is not.
  SIMULATOR_CACHE_TOKENS: '50000',
};
const SAMPLE_MS = 100;

export interface Engines {
  stop(): Promise<void>;
}

export async function startEngines(): Promise<Engines> {
  const engines: ChildProcess[] = ENGINE_PORTS.map((port) =>
    startPinned(
      LOAD_CORE,
      {
        program: process.execPath,
        args: ['simulator/main.ts'],
        env: { ...SETTINGS, SIMULATOR_PORT: String(port) },
      },
      '/dev/null',
    ),
  );
  await Promise.all(ENGINE_PORTS.map((port) => waitForPort(port)));
  return { stop: async () => void (await Promise.all(engines.map(stopPinned))) };
}

/** Figures of all engines together, or of each in their order. */
export interface EngineFigures {
  /** Share of the prompts' tokens, from 0 to 1. */
  hitRate: number;
  /** Requests at each on average. */
  loads: number[];
  requests: number[];
}

/** The work of the engines meanwhile, by their own metrics. */
export async function watchEngines<T>(work: () => Promise<T>): Promise<[T, EngineFigures]> {
  const before = await readEngines();
  const sums = ENGINE_URLS.map(() => 0);
  let samples = 0;
  let isOver = false;
  const sampling = (async () => {
    while (!isOver) {
      const now = await readEngines();
      samples++;
      for (const [index, { running }] of now.entries()) sums[index]! += running;
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
    }
  })();
  const result = await work().finally(() => {
    isOver = true;
  });
  await sampling;
  const after = await readEngines();
  const grown = (figure: 'asked' | 'found' | 'answered') =>
    after.map((engine, index) => engine[figure] - before[index]![figure]);
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  return [
    result,
    {
      hitRate: sum(grown('found')) / sum(grown('asked')),
      loads: sums.map((total) => total / samples),
      requests: grown('answered'),
    },
  ];
}

const readEngines = () =>
  Promise.all(
    ENGINE_URLS.map(async (url) => {
      const text = await (await fetch(`${url}/metrics`)).text();
      const read = (name: string) => Number(new RegExp(`^vllm:${name}\\{.*\\} (\\d+)$`, 'm').exec(text)![1]);
      return {
        running: read('num_requests_running'),
        asked: read('prefix_cache_queries_total'),
        found: read('prefix_cache_hits_total'),
        answered: read('request_success_total'),
      };
    }),
  );
