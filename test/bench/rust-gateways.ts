/** The baselines in Rust, from PyPI: three routers of engines, and TensorZero's gateway. Installed outside the checkout. */
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pollUntil } from '../support/poll.ts';
import { ensurePython } from '../support/python.ts';
import { makeFolder } from './folders.ts';
import type { Command } from './pinned-process.ts';

const VLLM_ROUTER = 'vllm-router==0.1.17';
const SGLANG_ROUTER = 'sglang-router==0.3.2';
const SMG = 'smg==1.13.0';
const TENSORZERO = 'tensorzero==2026.6.0';

export type RouterPolicy = 'round_robin' | 'cache_aware' | 'power_of_two';

export interface RouterOptions {
  port: number;
  metricsPort: number;
  engines: readonly string[];
  policy: RouterPolicy;
  /** Further ones. */
  flags?: readonly string[];
}

const listFlags = ({ port, metricsPort, engines, policy, flags = [] }: RouterOptions): string[] => [
  '--host=127.0.0.1',
  `--port=${port}`,
  '--prometheus-host=127.0.0.1',
  `--prometheus-port=${metricsPort}`,
  `--policy=${policy}`,
  '--log-level=error',
  // Interval of checks for an engine that was unavailable at first; 30 s by default.
  '--worker-startup-check-interval=1',
  ...flags,
  '--worker-urls',
  ...engines,
];

const findScript = (requirement: string, name: string): string =>
  join(dirname(ensurePython([requirement])), name);

export const buildVLLMRouter = (options: RouterOptions): Command => ({
  program: findScript(VLLM_ROUTER, 'vllm-router'),
  args: listFlags(options),
});

export const buildSGLangRouter = (options: RouterOptions): Command => ({
  program: findScript(SGLANG_ROUTER, 'sglang-router'),
  args: ['launch', ...listFlags(options)],
});

export const buildSMG = (options: RouterOptions): Command => ({
  program: findScript(SMG, 'smg'),
  args: ['launch', ...listFlags(options)],
});

const portFile = join(makeFolder(), 'tensorzero-port');

/** Its wheel contains the whole gateway as a library, which listens on any free loopback port. */
export function buildTensorZero(configFile: string): Command {
  rmSync(portFile, { force: true });
  return {
    program: ensurePython([TENSORZERO]),
    args: ['test/bench/tensorzero-gateway.py', configFile, portFile],
    // Otherwise it reports each start to its makers.
    env: { TENSORZERO_DISABLE_PSEUDONYMOUS_USAGE_ANALYTICS: '1' },
  };
}

/** The port that it chose. */
export async function readTensorZeroPort(): Promise<number> {
  const read = () => {
    try {
      return Number(readFileSync(portFile, 'utf8'));
    } catch {
      return 0;
    }
  };
  await pollUntil(async () => read() > 0, 'the port of TensorZero');
  return read();
}

/** Nothing is stored, and nothing checked. */
export const describeTensorZero = (model: string, engineURL: string): string => `
[gateway]
observability.enabled = false

[models.${model}]
routing = ["engine"]

[models.${model}.providers.engine]
type = "openai"
model_name = "${model}"
api_base = "${engineURL}/v1/"
api_key_location = "none"
`;
