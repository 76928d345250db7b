/** Why a container ended, from the end of its log: the line that matters, and what follows it. Pure. */
import { redactText } from '../../kit/log-redaction.ts';

const MAX_CHARACTERS = 800;
/** The kubelet keeps 2,048 bytes: the first line of a longer log is cut. */
const KEPT_BYTES = 2_000;

/** vLLM writes them also where no terminal reads. */
const COLORS = /\u001b\[[\d;]*m/g;
/** Processes, times, levels and places that logs of engines start with, such as `[2026-01-31 12:00:00 TP0] `. */
const PREFIX =
  /^(?:\([^)]*\bpid=\d+\) ?|\[[^\]]*(?:\d{4}-\d\d-|\.py:\d)[^\]]*\] ?|(?:ERROR|CRITICAL|FATAL) [\d-]+ [\d:.,]+ |[\d.]+ [EF] )+/;
const QUIET =
  /^(?:\([^)]*\) ?)?(?:DEBUG|INFO|WARNING)\b|^[\d.]+ [DIW] |^\[[IW]\d{4} |^\S+\.py:\d+: \w*Warning: /;
/** By its level, wherever a logger writes it. */
const MARKED = /^[\d.]+ [EF] |^.{0,80}?\b(?:ERROR|CRITICAL|FATAL)\b/;
const FAULT =
  /error|exception|failed|fatal|panic|out of memory|segmentation fault|core dumped|killed|cannot|unable to|denied/i;
/** The last line of a traceback. */
const EXCEPTION = /^(?:[A-Za-z_]\w*\.)*[A-Z]?\w*(?:Error|Exception)(?:\([\w.]+\))?(?::|$)/;
const TRACEBACK = /Traceback \(most recent call last\)/;
/** Between an exception and the one that it caused. */
const CAUSED = /^(?:During handling of the above exception|The above exception was the direct cause)/;
/** vLLM's front end, once its engine process has ended. */
const POINTER = /root cause/i;
/** What a request met before an engine answered one again has not ended it. The front end of vLLM answers others without its engine. */
const SERVED =
  /"POST [^"]{0,160}\/(?:completions|messages|responses|embeddings|rerank|score|pooling|transcriptions|speech)\b[^"]{0,40}" 2\d\d\b|\bAvg prompt throughput\b|\bDecode batch\b/;
/** The answer to a request that met an exception. */
const REFUSED = /"POST [^"]{1,200}" 4\d\d\b/;
/** pydantic and FastAPI repeat what a user sent. */
const USER_INPUT =
  /(\binput_value=|'input': |"input": ?|\bprompt: )(?!…)[\s\S]*?(?=, (?:input_type=|'ctx'|"ctx")|$)/g;
/** pino's. */
const FATAL_LEVEL = 60;

interface Line {
  text: string;
  isQuiet: boolean;
  isMarked: boolean;
}

/** null if no line reports an error. */
export function findCause(log: string): string | null {
  const lines = readLines(log);
  const served = lines.findLastIndex(({ text }) => SERVED.test(text));
  const start = findException(lines, served) ?? findFault(lines, served);
  if (start === undefined) return null;
  const rest = lines.slice(start + 1);
  const next = rest.findIndex(({ text }) => TRACEBACK.test(text) || CAUSED.test(text));
  const found = [lines[start]!, ...rest.slice(0, next === -1 ? undefined : next)]
    .filter(({ isQuiet }) => !isQuiet)
    .map(({ text }) => clear(text));
  // Engines repeat themselves: one process after the other, or one attempt.
  return truncateText([...new Set(found)].join('\n').trim());
}

/** Empty if there is no log. */
export const findLastLine = (log: string): string => truncateText(clear(readLines(log).at(-1)!.text).trim());

function readLines(log: string): Line[] {
  const lines = log.replace(COLORS, '').trim().split('\n').map(parseLine);
  return Buffer.byteLength(log) >= KEPT_BYTES && lines.length > 1 ? lines.slice(1) : lines;
}

function parseLine(line: string): Line {
  if (line.startsWith('{')) return parseRecord(line);
  // A progress bar overwrites its line.
  const shown = line.trimEnd().split('\r').at(-1)!;
  return { text: shown.replace(PREFIX, ''), isQuiet: QUIET.test(shown), isMarked: MARKED.test(shown) };
}

/** A line of the gateway's log, which reports each request that failed: what ends it is fatal. Or of an engine's that writes JSON. */
function parseRecord(line: string): Line {
  try {
    const { level, msg, message, err } = JSON.parse(line) as {
      level?: unknown;
      msg?: unknown;
      message?: unknown;
      err?: { message?: unknown };
    };
    const text = [msg ?? message, err?.message].filter((part) => typeof part === 'string').join(': ');
    const isMarked = level === FATAL_LEVEL || /^(?:error|critical|fatal)$/i.test(String(level));
    return { text: text || line, isQuiet: !isMarked, isMarked };
  } catch {
    return { text: line, isQuiet: false, isMarked: false };
  }
}

/** Readable without the right to read logs. */
const clear = (text: string): string => String(redactText(text.trimEnd().replace(USER_INPUT, '$1…')));

/** The first since it served that caused no other. One that only points to another names the latest before, or itself if there is none. */
function findException(lines: readonly Line[], served: number): number | undefined {
  const found = lines.flatMap(({ text, isQuiet }, at) => (EXCEPTION.test(text) && !isQuiet ? [at] : []));
  const isOver = ({ text }: Line) => CAUSED.test(text) || REFUSED.test(text);
  const ends = found.filter((at, index) => !lines.slice(at, found[index + 1] ?? lines.length).some(isOver));
  const causes = ends.filter((at) => !POINTER.test(lines[at]!.text));
  const pointer = ends.find((at) => at > served);
  return causes.find((at) => at > served) ?? (pointer === undefined ? undefined : (causes.at(-1) ?? pointer));
}

function findFault(lines: readonly Line[], served: number): number | undefined {
  const isFault = ({ text, isQuiet, isMarked }: Line, at: number) =>
    at > served && !isQuiet && !/^\s/.test(text) && !TRACEBACK.test(text) && (isMarked || FAULT.test(text));
  const at = lines.findIndex(isFault);
  return at === -1 ? undefined : at;
}

/** Cuts at the end of a word. */
export function truncateText(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  return `${text.slice(0, MAX_CHARACTERS).replace(/\s+\S*$/, '')} …`;
}
