import type { Log } from '../../../kube/log.ts';

/** A log whose lines a test can read, as `level message`. */
export function recordLog(): Log & { lines: string[] } {
  const lines: string[] = [];
  const note = (level: string) => (_fields: object, message: string) => lines.push(`${level} ${message}`);
  return { lines, debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
}
