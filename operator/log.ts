/** The operator's log. */
import { type Logger, openLog } from '../kit/log.ts';

export const createLog = (level: string): Logger => openLog({ level, base: { program: 'operator' } });
