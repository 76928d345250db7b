/** Structured logs of every program: JSON lines with ISO timestamps, and errors without what libraries attach to them. */
import { type Logger, pino } from 'pino';
import { LogOutput } from './log-output.ts';
import { describeError, redactText } from './log-redaction.ts';

export type { Logger } from 'pino';

export interface LogOptions {
  level: string;
  /** Fields of every line. */
  base: Record<string, string>;
  /** Replaces standard output. */
  write?: (line: string) => void;
}

export function openLog({ level, base, write }: LogOptions): Logger {
  const options = {
    level,
    base,
    timestamp: formatTime,
    messageKey: 'message',
    serializers: { err: describeError, error: describeUnlessText, reason: redactText },
  };
  const destination = write ? { write } : openOutput();
  const log: Logger = pino(options, destination);
  plainSinks.set(log, { bindings: formatBindings(base), write: (line) => destination.write(line) });
  return log;
}

const formatBindings = (base: Record<string, string>): string =>
  Object.entries(base)
    .map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
    .join('');

/** Loggers whose lines can be written without pino. */
const plainSinks = new WeakMap<Logger, { bindings: string; write(line: string): void }>();

export type PlainFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Characters that JSON does not escape; for redacted fields, only texts that cannot be secrets. */
const PLAIN = /^[\w.:/+=-]*$/;
const PLAIN_CODE = /^[a-z_]*$/;
const REDACTED: ReadonlySet<string> = new Set(['err', 'error', 'reason']);

/**
 * As `log[level](fields, message)`, for the lines of each request: it takes half the time if all values are plain (decision 0333).
 * Others go through pino. `message` has to be plain, except for spaces.
 */
export function writePlain(
  log: Logger,
  level: 'debug' | 'info' | 'warn',
  { fields, message }: { fields: PlainFields; message: string },
): void {
  if (!log.isLevelEnabled(level)) return;
  const sink = plainSinks.get(log);
  const text = sink ? formatPlain(fields) : null;
  if (sink && text !== null) {
    const beginning = `{"level":${log.levels.values[level]}${formatTime()}${sink.bindings}`;
    sink.write(`${beginning}${text},"message":"${message}"}\n`);
  } else log[level](fields, message);
}

/** Null: something is not plain. */
function formatPlain(fields: PlainFields): string | null {
  let text = '';
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined) continue;
    if (typeof value === 'string') {
      if (!(REDACTED.has(name) ? PLAIN_CODE : PLAIN).test(value)) return null;
      text += `,"${name}":"${value}"`;
    } else if (typeof value === 'number' && !Number.isFinite(value)) return null;
    else text += `,"${name}":${value}`;
  }
  return text;
}

let second = 0;
/** The cached timestamp up to the second: formatting it costs more than the rest of a line. */
let beginning = '';

function formatTime(): string {
  const now = Date.now();
  const milliseconds = now % 1_000;
  if (now - milliseconds !== second || beginning === '') {
    second = now - milliseconds;
    beginning = new Date(second).toISOString().slice(0, -'000Z'.length);
  }
  return `,"time":"${beginning}${String(milliseconds).padStart(3, '0')}Z"`;
}

let output: LogOutput | undefined;
const openOutput = () => (output ??= new LogOutput());

/** `error` is also the code of a response. */
const describeUnlessText = (error: unknown): unknown =>
  error instanceof Error ? describeError(error) : redactText(error);
