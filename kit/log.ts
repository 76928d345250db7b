/** Structured logs of every program: JSON lines with the time in words, and errors without what libraries hang on them. */
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { describeError, redactText } from './log-redaction.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export interface LogOptions {
  level: string;
  /** Fields of every line. */
  base: Record<string, string>;
  /** In place of standard output. */
  write?: (line: string) => void;
}

export function openLog({ level, base, write }: LogOptions): Logger {
  const options = {
    level,
    base,
    timestamp: stdTimeFunctions.isoTime,
    messageKey: 'message',
    serializers: { err: describeError, error: describeUnlessText, reason: redactText },
  };
  return pino(options, write ? { write } : openOutput());
}

/** Lines that nobody has read yet; what is more is dropped. */
const MAX_PENDING_BYTES = 4 * 1024 ** 2;

let output: ReturnType<typeof pino.destination> | undefined;

/** Standard output: nothing waits for whoever reads it but the process's end. */
const openOutput = () =>
  (output ??= pino.destination({ dest: 1, sync: false, maxLength: MAX_PENDING_BYTES }));

/** `error` is also the code of an answer. */
const describeUnlessText = (error: unknown): unknown =>
  error instanceof Error ? describeError(error) : redactText(error);
