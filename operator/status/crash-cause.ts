/** Why a container ended, from the end of its log: the line that matters, and what follows it. Pure. */

const MAX_CHARACTERS = 800;
/** The kubelet keeps 2,048 bytes: the first line of a longer log is cut. */
const KEPT_CHARACTERS = 2_000;

/** vLLM writes them also where no terminal reads. */
const COLORS = /\u001b\[[\d;]*m/g;
/** Processes, times, levels and places that logs of engines start with, such as `[2026-01-31 12:00:00 TP0] `. */
const PREFIX =
  /^(?:\([^)]*\bpid=\d+\) ?|\[[^\]]*(?:\d{4}-\d\d-|\.py:\d)[^\]]*\] ?|ERROR [\d-]+ [\d:.,]+ |[\d.]+ [EF] )+/;
const QUIET =
  /^(?:\([^)]*\) ?)?(?:DEBUG|INFO|WARNING)\b|^[\d.]+ [DIW] |^\[[IW]\d{4} |^\S+\.py:\d+: \w*Warning: |^\{"level":[1-4]0,/;
const MARKED = /^[\d.]+ [EF] |^\{"level":[56]0,/;
const FAULT = /error|exception|failed|fatal|panic|out of memory/i;
/** The last line of a traceback. */
const EXCEPTION = /^(?:[A-Za-z_]\w*\.)*[A-Z]?\w*(?:Error|Exception)(?:\([\w.]+\))?(?::|$)/;
const TRACEBACK = /Traceback \(most recent call last\)/;
/** Between an exception and the one that it caused. */
const CAUSED = /^(?:During handling of the above exception|The above exception was the direct cause)/;
/** vLLM's front end, once its engine process has ended. */
const POINTER = /root cause/i;

interface Line {
  text: string;
  isQuiet: boolean;
  isMarked: boolean;
}

/** Empty if there is no log. */
export function findCause(log: string): string {
  const all = log.replace(COLORS, '').trim().split('\n').map(parseLine);
  const lines = log.length >= KEPT_CHARACTERS && all.length > 1 ? all.slice(1) : all;
  const start = findException(lines) ?? findFault(lines);
  if (start === undefined) return truncateText(lines.at(-1)!.text.trim());
  const rest = lines.slice(start + 1);
  const next = rest.findIndex(({ text }) => TRACEBACK.test(text) || CAUSED.test(text));
  const found = [lines[start]!, ...rest.slice(0, next === -1 ? undefined : next)]
    .filter(({ isQuiet }) => !isQuiet)
    .map(({ text }) => text.trimEnd());
  // Engines repeat themselves: one process after the other, or one attempt.
  return truncateText([...new Set(found)].join('\n').trim());
}

/** A progress bar overwrites its line. */
function parseLine(line: string): Line {
  const shown = line.trimEnd().split('\r').at(-1)!;
  return { text: shown.replace(PREFIX, ''), isQuiet: QUIET.test(shown), isMarked: MARKED.test(shown) };
}

/** The first that caused no other; one that only points to another if there is none else. */
function findException(lines: readonly Line[]): number | undefined {
  const found = lines.flatMap(({ text, isQuiet }, at) => (EXCEPTION.test(text) && !isQuiet ? [at] : []));
  const ends = found.filter(
    (at, index) => !lines.slice(at, found[index + 1] ?? lines.length).some(({ text }) => CAUSED.test(text)),
  );
  return ends.find((at) => !POINTER.test(lines[at]!.text)) ?? ends[0];
}

function findFault(lines: readonly Line[]): number | undefined {
  const isFault = ({ text, isQuiet, isMarked }: Line) =>
    isMarked || (FAULT.test(text) && !isQuiet && !/^\s/.test(text));
  const at = lines.findIndex(isFault);
  return at === -1 ? undefined : at;
}

/** Cuts at the end of a word. */
export function truncateText(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  return `${text.slice(0, MAX_CHARACTERS).replace(/\s+\S*$/, '')} …`;
}
