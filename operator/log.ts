/** The operator's log: JSON lines with the time in words. */
import { type Logger, pino, stdTimeFunctions } from 'pino';

export const createLog = (level: string): Logger =>
  pino({
    level,
    base: { program: 'operator' },
    timestamp: stdTimeFunctions.isoTime,
    messageKey: 'message',
    // An error of Redis carries the failed command, a password among its arguments.
    redact: ['err.command', 'err.args', 'err.previousErrors'],
  });
