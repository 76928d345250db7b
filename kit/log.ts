/** Structured logs of every program: JSON lines with the time in words, and errors without what libraries hang on them. */
import { type Logger, pino } from 'pino';
import { describeError, redactText } from './log-redaction.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export interface LogOptions {
  level: string;
  /** Fields of every line. */
  base: Record<string, string>;
  /** In place of standard output. */
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

/** What JSON needs no escapes for; and of fields that are redacted, what no secret looks like. */
const PLAIN = /^[\w.:/+=-]*$/;
const PLAIN_CODE = /^[a-z_]*$/;
const REDACTED: ReadonlySet<string> = new Set(['err', 'error', 'reason']);

/**
 * As `log[level](fields, message)`, for the lines that each request writes: it takes half the time where all that is written is plain.
 * What is not goes through pino. `message` has to be plain but for spaces.
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
/** Of a time in words, up to its second: it costs more to write than the rest of a line. */
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

/** Lines that nobody has read yet; what is more is dropped. */
const MAX_PENDING_BYTES = 4 * 1024 ** 2;
const COLLECT_MS = 10;
const MAX_COLLECTED_CHARACTERS = 64 * 1024;

/**
 * Standard output: nothing waits for whoever reads it but the process's end. The lines of a moment go out in one write, since one
 * for each request is a tenth of what the request costs.
 */
class Output {
  readonly #destination: ReturnType<typeof pino.destination>;
  #lines = '';
  #timer: NodeJS.Timeout | null = null;

  constructor() {
    // Before pino's own, which writes to the end what the destination has.
    process.on('exit', () => this.#flush());
    this.#destination = pino.destination({ dest: 1, sync: false, maxLength: MAX_PENDING_BYTES });
  }

  write(line: string): void {
    this.#lines += line;
    if (this.#lines.length >= MAX_COLLECTED_CHARACTERS) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS);
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '') this.#destination.write(lines);
  }
}

let output: Output | undefined;
const openOutput = () => (output ??= new Output());

/** `error` is also the code of an answer. */
const describeUnlessText = (error: unknown): unknown =>
  error instanceof Error ? describeError(error) : redactText(error);
