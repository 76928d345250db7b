/** The life of a program: it starts, serves until a signal, and shuts down in order. */

import { EnvironmentError } from './environment.ts';
import { exitFatally, exitOnFatalErrors } from './fatal-error.ts';
import { redactText } from './log-redaction.ts';

export interface RunningProgram {
  stop(): Promise<void>;
}

export interface ProgramOptions {
  /** Milliseconds that `stop` may take before the process exits with 1; unlimited by default. */
  stopTimeoutMs?: number;
}

/**
 * Runs a program until SIGTERM or SIGINT: exits 0 once it has stopped, 1 if that fails; a second signal exits at once.
 * A signal that arrives before `start` has resolved exits 0, since nothing is served yet.
 */
export function runProgram(
  name: string,
  start: () => Promise<RunningProgram>,
  { stopTimeoutMs }: ProgramOptions = {},
): void {
  exitOnFatalErrors(name);
  let program: RunningProgram | undefined;
  let isStopping = false;
  const onSignal = () => {
    if (isStopping) process.exit(1);
    isStopping = true;
    if (stopTimeoutMs !== undefined) setTimeout(() => process.exit(1), stopTimeoutMs).unref();
    Promise.resolve(program?.stop()).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  start().then(
    (started) => {
      program = started;
    },
    (error: unknown) => exitAfterFailedStart(name, error),
  );
}

/** With the plain message where settings or surroundings are wrong, such as a port that is taken. */
function exitAfterFailedStart(name: string, error: unknown): never {
  const isPlain = error instanceof EnvironmentError || (error instanceof Error && 'cause' in error);
  if (!isPlain) exitFatally(name, error);
  // Line by line, since each text is cut at some length.
  console.error(error.message.split('\n').map(redactText).join('\n'));
  process.exit(1);
}
