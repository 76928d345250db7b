/** Structured logs. Nothing that a client sends is logged but its request id: no keys, no prompts. */
import { type Logger, openLog } from '../kit/log.ts';

export type { Logger } from '../kit/log.ts';

export const createLog = (level: string, bindings: Record<string, string> = {}): Logger =>
  openLog({ level, base: bindings });
