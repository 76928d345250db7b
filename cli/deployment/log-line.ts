/** Lines of logs for people: what gateways write as JSON, in words. Pure. */
import { isObject } from '../../kit/json.ts';
import { printable } from '../framework/output.ts';

const LEVELS: Record<number, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};
/** The same in each line of a gateway. */
const OWN_FIELDS = new Set(['level', 'time', 'message', 'role', 'deployment', 'replica']);

/** An object if it is one in JSON. */
export function parseLine(line: string): Record<string, unknown> | string {
  if (!line.startsWith('{')) return line;
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : line;
  } catch {
    return line;
  }
}

/** `time level message field=value …`; any other line as it is. */
export function formatLine(line: string): string {
  const entry = parseLine(line);
  if (typeof entry === 'string') return printable(entry);
  const { time, level, message } = entry;
  const fields = Object.entries(entry)
    .filter(([name]) => !OWN_FIELDS.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const words = [time, LEVELS[level as number] ?? level, message, ...fields];
  return printable(words.filter((word) => word !== undefined).join(' '));
}
