/**
 * A load client that nobody here wrote: NVIDIA's aiperf, with streamed chats of 16 users. Part of `make bench` (ONLY=aiperf). It asks URL, KEY
 * and MODEL, else what `make run` or `make cluster` serve here, else a `make run` of its own.
 */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ensurePython } from '../../support/python.ts';
import { makeFolder } from '../folders.ts';
import { atMost, formatRows, type Goal } from '../report.ts';
import { countBroken } from './raw-records.ts';
import { type ChatTarget, openTarget } from './target.ts';

const VERSION = '0.13.0';
const CONCURRENCY = 16;
const REQUESTS = Number(process.env.REQUESTS ?? 500);
/** Counted by a tokenizer whose tokens are bytes. */
const PROMPT_TOKENS = 800;
const TIMEOUT_MS = 10 * 60_000;

export interface AiperfFigures {
  target: string;
  requests: number;
  /** That aiperf counted. */
  errors: number;
  /** Streams that were not whole, those of the warm-up included. */
  broken: number;
  requestsPerSecond: number;
  firstTokenMs: Percentiles;
  betweenTokensMs: Percentiles;
}

interface Percentiles {
  p50: number;
  p99: number;
}

export async function measureAiperf(): Promise<AiperfFigures> {
  const python = ensurePython([`aiperf==${VERSION}`]);
  const tokenizer = makeFolder();
  execFileSync(python, ['test/bench/aiperf/byte-tokenizer.py', tokenizer], { stdio: 'inherit' });
  const { target, close } = await openTarget();
  try {
    const folder = makeFolder();
    await run(join(dirname(python), 'aiperf'), { target, tokenizer, folder });
    const read = (file: string) => readFileSync(join(folder, file), 'utf8');
    const report = JSON.parse(read('profile_export_aiperf.json')) as AiperfReport;
    const broken = countBroken(read('profile_export_raw.jsonl'));
    return { target: target.name, ...readReport(report), broken };
  } finally {
    await close();
  }
}

interface Run {
  target: ChatTarget;
  tokenizer: string;
  folder: string;
}

/** Its output is shown, since it explains failures. */
function run(aiperf: string, { target, tokenizer, folder }: Run): Promise<void> {
  const args = [
    'profile',
    ...['--model', target.model, '--url', target.origin, '--api-key', target.key],
    ...['--endpoint-type', 'chat', '--streaming', '--use-server-token-count', '--tokenizer', tokenizer],
    ...['--concurrency', String(CONCURRENCY), '--request-count', String(REQUESTS)],
    // Until V8 has optimized a request's code.
    ...['--warmup-request-count', String(REQUESTS)],
    ...['--isl', String(PROMPT_TOKENS), '--random-seed', '1', '--request-timeout-seconds', '30'],
    ...['--no-server-metrics', '--no-gpu-telemetry', '--export-level', 'raw'],
    ...['--ui', 'none', '--output-artifact-dir', folder],
  ];
  const [program, ...rest] = [...target.exec, aiperf, ...args];
  const child = spawn(program!, rest, {
    // In its offline mode it accepts no folder as a tokenizer, so it gets a hub that does not respond instead.
    env: { ...process.env, HF_ENDPOINT: 'http://127.0.0.1:9' },
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: TIMEOUT_MS,
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`aiperf ended with ${code}`))));
  });
}

interface Metric {
  avg: number;
  p50: number;
  p99: number;
}

interface AiperfReport {
  request_count: Metric;
  error_request_count?: Metric;
  request_throughput: Metric;
  time_to_first_token: Metric;
  inter_token_latency: Metric;
}

const readReport = (report: AiperfReport): Omit<AiperfFigures, 'target' | 'broken'> => ({
  requests: report.request_count.avg,
  errors: report.error_request_count?.avg ?? 0,
  requestsPerSecond: report.request_throughput.avg,
  firstTokenMs: report.time_to_first_token,
  betweenTokensMs: report.inter_token_latency,
});

export const formatAiperf = (figures: AiperfFigures): string =>
  formatRows([
    [`aiperf ${VERSION}, ${CONCURRENCY} users, ${figures.target}`, ''],
    ['requests', String(figures.requests)],
    ['errors', String(figures.errors)],
    ['streams that were not whole', String(figures.broken)],
    ['requests/s', figures.requestsPerSecond.toFixed(1)],
    ['time to first token ms, p50', figures.firstTokenMs.p50.toFixed(2)],
    ['time to first token ms, p99', figures.firstTokenMs.p99.toFixed(2)],
    ['time between tokens ms, p50', figures.betweenTokensMs.p50.toFixed(2)],
    ['time between tokens ms, p99', figures.betweenTokensMs.p99.toFixed(2)],
  ]);

export const listAiperfGoals = ({ errors, broken }: AiperfFigures): Goal[] => [
  atMost('errors of aiperf', errors, 0),
  atMost('streams of aiperf that were not whole', broken, 0),
];
