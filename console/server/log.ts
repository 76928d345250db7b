/** Structured logs: who called what and how it ended; never tokens, bodies or query strings. */
import { type Logger, openLog } from '../../kit/log.ts';

export type { Logger } from '../../kit/log.ts';

export const createLog = (level: string): Logger => openLog({ level, base: { program: 'console' } });
