/** Ends a program after an error that nothing caught. Node would print it with all that libraries hang on errors. */
import { openLog } from './log.ts';

/** Before anything else that a program does. */
export function exitOnFatalErrors(program: string): void {
  const exit = (error: unknown) => exitFatally(program, error);
  process.on('uncaughtException', exit);
  // Else Node makes an exception of it, whose message repeats a reason that is no Error.
  process.on('unhandledRejection', exit);
}

/** Writes one redacted line to the log and exits 1. */
export function exitFatally(program: string, error: unknown): never {
  openLog({ level: 'fatal', base: { program } }).fatal({ err: error }, 'uncaught error, exiting');
  process.exit(1);
}
