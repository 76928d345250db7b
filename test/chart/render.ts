/** The chart as Helm renders it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { ensureBinary } from '../../cluster/binaries.ts';

// biome-ignore lint/suspicious/noExplicitAny: rendered manifests of many kinds
export type Manifest = any;

/** Where an installation has its own images; the chart has no default. */
export const IMAGES = 'image.repository=registry.example.com/berth';

/** Rejects with Helm's output as `stderr`. */
export async function renderText(...args: string[]): Promise<string> {
  const command = ['template', 'berth', 'charts/berth', '--namespace', 'berth', '--set', IMAGES, ...args];
  const { stdout } = await promisify(execFile)(await ensureBinary('helm'), command, {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

export const render = async (...args: string[]): Promise<Manifest[]> =>
  parseAllDocuments(await renderText(...args))
    .map((document) => document.toJS())
    .filter(Boolean);

/** Each as `--set`. */
export const setting = (...values: string[]): string[] => values.flatMap((value) => ['--set', value]);
