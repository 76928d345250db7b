/** A Prometheus that scrapes programs of a test, for queries. */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { hasEnded, startProcess, stopProcess } from './child-processes.ts';
import { findFreePort } from './child-program.ts';
import { pollUntil } from './poll.ts';

export interface Sample {
  metric: Record<string, string>;
  value: number;
}

export interface RunningPrometheus {
  query(expr: string): Promise<Sample[]>;
  /** Trace IDs of the exemplars that a metric has had within the last ten minutes. */
  listExemplars(metric: string): Promise<string[]>;
  /** Reads its HTTP API, below /api/v1. */
  read<T>(path: string): Promise<T>;
  stop(): Promise<void>;
}

/** `config`: the configuration file. Resolves when it is ready. */
export async function startPrometheus(program: string, config: object): Promise<RunningPrometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-prometheus-'));
  const port = await findFreePort();
  const log = join(folder, 'log');
  writeFileSync(join(folder, 'prometheus.yml'), stringify(config));
  const flags = [
    'prometheus',
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--enable-feature=exemplar-storage',
  ];
  const child: ChildProcess = startProcess(program, flags, { logPath: log });
  const origin = `http://127.0.0.1:${port}`;
  await pollUntil(
    () => {
      if (hasEnded(child)) throw new Error(`prometheus ended:\n${readFileSync(log, 'utf8')}`);
      return fetch(`${origin}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    },
    'prometheus to be ready',
    60_000,
  );
  const read = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${origin}/api/v1/${path}`);
    const { data, error } = (await response.json()) as { data: T; error?: string };
    if (error !== undefined) throw new Error(`${path}: ${error}`);
    return data;
  };
  return {
    read,
    query: async (expr) => {
      const path = `query?query=${encodeURIComponent(expr)}`;
      const { result } = await read<{ result: { metric: Sample['metric']; value: [number, string] }[] }>(
        path,
      );
      return result.map(({ metric, value: [, text] }) => ({ metric, value: Number(text) }));
    },
    listExemplars: async (metric) => {
      const end = Date.now() / 1_000;
      const path = `query_exemplars?query=${encodeURIComponent(metric)}&start=${end - 600}&end=${end + 60}`;
      const series = await read<{ exemplars: { labels: { trace_id?: string } }[] }[]>(path);
      return series.flatMap(({ exemplars }) => exemplars.flatMap(({ labels }) => labels.trace_id ?? []));
    },
    stop: async () => {
      await stopProcess(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
