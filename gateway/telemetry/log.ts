/** Structured logs. Nothing that a client sends is logged but its request id: no keys, no prompts. */
import { type Logger, openLog } from '../../kit/log.ts';

export type { Logger } from '../../kit/log.ts';

/** `write` takes the lines in place of standard output. */
export const createLog = (
  level: string,
  bindings: Record<string, string> = {},
  write?: (line: string) => void,
): Logger => openLog({ level, base: bindings, ...(write ? { write } : {}) });
