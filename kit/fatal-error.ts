/** Ends a program after an error that nothing caught. Node would print it with all that libraries hang on errors. */
import { EnvironmentError } from './environment.ts';
import { openLog } from './log.ts';

/** Before anything else that a program does. */
export function exitOnFatalErrors(program: string): void {
  const exit = (error: unknown) => exitFatally(program, error);
  process.on('uncaughtException', exit);
  // Else Node makes an exception of it, whose message repeats a reason that is no Error.
  process.on('unhandledRejection', exit);
}

/** Ends a program that could not start: with the plain message where its settings or its surroundings are wrong. */
export function exitAfterFailedStart(program: string, error: unknown): never {
  const isPlain = error instanceof EnvironmentError || (error instanceof Error && 'cause' in error);
  if (!isPlain) exitFatally(program, error);
  console.error(error.message);
  process.exit(1);
}

/** Writes one redacted line to the log and exits 1. */
function exitFatally(program: string, error: unknown): never {
  openLog({ level: 'fatal', base: { program } }).fatal({ err: error }, 'uncaught error, exiting');
  process.exit(1);
}
