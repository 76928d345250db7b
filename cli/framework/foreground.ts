/** Another program in the place of `berth`: it has the terminal, and its exit code counts. */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { Failure } from './failure.ts';

/** A terminal sends these to both: what they mean is the program's to decide. */
const ITS_OWN = ['SIGINT', 'SIGQUIT'] as const;
const FORWARDED = ['SIGTERM', 'SIGHUP'] as const;

/** Resolves with its exit code, as a shell has it. Throws Failure if it cannot be started. */
export async function runInForeground(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  let child: ChildProcess | undefined;
  const forward = (signal: NodeJS.Signals) => child?.kill(signal);
  const ignore = () => {};
  for (const signal of ITS_OWN) process.on(signal, ignore);
  for (const signal of FORWARDED) process.on(signal, forward);
  try {
    // Only now: a signal may come as soon as it runs.
    const started = spawn(program, args, { env, stdio: 'inherit' });
    child = started;
    return await new Promise<number>((resolve, reject) => {
      started.once('error', ({ message }) =>
        reject(new Failure('failed', `${program} cannot be started: ${message}`)),
      );
      started.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
    });
  } finally {
    for (const signal of ITS_OWN) process.removeListener(signal, ignore);
    for (const signal of FORWARDED) process.removeListener(signal, forward);
  }
}
