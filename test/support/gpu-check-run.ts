/** Runs of tools/gpu-check.ts against a `make run`. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashApiKey } from '../../api/identity.ts';
import { createLocalKey } from './local-key.ts';
import type { LocalStack } from './local-stack.ts';

export interface CheckRun {
  code: number;
  /** By the title of the check. */
  lines: Map<string, string>;
  error: string;
}

export const runCheck = (env: Record<string, string>): Promise<CheckRun> =>
  new Promise((resolve) => {
    const options = {
      env: {
        ...process.env,
        DEPLOYMENT: '',
        PRIORITY_KEY: '',
        ONLY: '',
        SIZE: '64x64',
        SECONDS: '1',
        ...env,
      },
    };
    execFile(process.execPath, ['tools/gpu-check.ts'], options, (error, stdout, stderr) => {
      const lines = stdout.split('\n').filter((line) => /^(passed|failed|skipped) /.test(line));
      const entries = lines.map((line) => [/^\w+ +([^:]+)/.exec(line)![1]!, line] as const);
      resolve({ code: (error?.code as number | undefined) ?? 0, lines: new Map(entries), error: stderr });
    });
  });

/** A key with this limit of requests per minute. */
export async function createCheckKey({ endpoints }: LocalStack, rpm: number, priority = 0): Promise<string> {
  const name = `check-${rpm}-${priority}`;
  const key = `sk-berth-for-the-${name}`;
  const limits = { rpm, tpd: 10_000_000, priority };
  const sha256 = hashApiKey(key);
  await createLocalKey(endpoints, { namespace: 'default', name, sha256, ...limits });
  return key;
}

/** Into a folder that MODELS names. */
export function writeSimulated(folder: string, name: string, spec: object, env: Record<string, string> = {}) {
  const { engine, ...rest } = spec as { engine?: object };
  const variables = Object.entries(env).map(([key, value]) => ({ name: key, value }));
  writeFileSync(
    join(folder, `${name}.yaml`),
    JSON.stringify({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name, namespace: 'default' },
      spec: { model: { id: name }, engine: { preset: 'simulator', env: variables, ...engine }, ...rest },
    }),
  );
}
