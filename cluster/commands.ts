/** Runs commands to completion. */
import { type SpawnOptions, spawn } from 'node:child_process';

export interface CommandOptions {
  input?: string;
  env?: Record<string, string>;
  cwd?: string;
}

/** Runs a command; resolves with its standard output. Throws with its standard error when it fails. */
export async function runCommand(argv: string[], options: CommandOptions = {}): Promise<string> {
  const { code, output, errors } = await tryCommand(argv, options);
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}:\n${(errors || output).trimEnd()}`);
  return output;
}

/** Runs a command; resolves with its output and exit code, whatever the result. */
export function tryCommand(
  [command, ...args]: string[],
  { input, env, cwd }: CommandOptions = {},
): Promise<{ code: number; output: string; errors: string }> {
  const settings: SpawnOptions = { env: { ...process.env, ...env }, stdio: 'pipe' };
  if (cwd) settings.cwd = cwd;
  return new Promise((resolve, reject) => {
    const child = spawn(command!, args, settings);
    let output = '';
    let errors = '';
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    child.stdin!.on('error', () => {});
    child.stdin!.end(input ?? '');
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output, errors }));
  });
}
