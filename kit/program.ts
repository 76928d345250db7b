/** The lifecycle of a program: it starts, serves until a signal, and shuts down in order. */

import { EnvironmentError } from './environment.ts';
import { openLog } from './log.ts';
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

/** With only the message for configuration or environment errors, such as a port in use. */
function exitAfterFailedStart(name: string, error: unknown): never {
  const isPlain = error instanceof EnvironmentError || (error instanceof Error && 'cause' in error);
  if (!isPlain) exitFatally(name, error);
  // Line by line, since long texts are truncated.
  console.error(error.message.split('\n').map(redactText).join('\n'));
  process.exit(1);
}

/** Before anything else that a program does. */
export function exitOnFatalErrors(program: string): void {
  const exit = (error: unknown) => exitFatally(program, error);
  process.on('uncaughtException', exit);
  // Otherwise Node throws it as an exception, whose message repeats a reason that is not an Error.
  process.on('unhandledRejection', exit);
}

/** Writes one redacted line to the log and exits 1: Node would print the error with everything that libraries attach to it. */
export function exitFatally(program: string, error: unknown): never {
  openLog({ level: 'fatal', base: { program } }).fatal({ err: error }, 'uncaught error, exiting');
  process.exit(1);
}
