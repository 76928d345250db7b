/** Structured logs: who called what and how it ended; never tokens, bodies or query strings. */
import { type Logger, pino, stdTimeFunctions } from 'pino';

export type { Logger } from 'pino';

export const createLog = (level: string): Logger =>
  pino({ level, base: { program: 'console' }, timestamp: stdTimeFunctions.isoTime, messageKey: 'message' });
