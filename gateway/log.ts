/** Structured logs. Nothing that a client sends is logged but its request id: no keys, no prompts. */
import { type Logger, pino, stdTimeFunctions } from 'pino';

export type { Logger } from 'pino';

export function createLog(level: string, bindings: Record<string, string> = {}): Logger {
  return pino({ level, base: bindings, timestamp: stdTimeFunctions.isoTime, messageKey: 'message' });
}
