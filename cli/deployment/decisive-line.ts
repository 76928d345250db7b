/** The line of a log that says why a program ended. Pure. */

/** `ValueError: …`, `torch.OutOfMemoryError: …`: what a stack ends with. */
const EXCEPTION = /(?:^|\s)(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)(?::\s+\S|$)/;
const PROBLEM =
  /\b(?:error|exception|failed|failure|fatal|panic(?:ked)?|abort(?:ed)?|cannot|could not|unable to|no such|not found|out of memory|killed|denied|invalid)\b/i;
/** Points to another line, or is no problem. */
const POINTER =
  /\b(?:root cause above|see (?:the )?(?:stack ?trace|above|log)|no errors?\b|0 errors?\b|errors?=(?:0|none)\b)/i;
const WARNING = /\b(?:warn(?:ing)?|deprecated)\b/i;

/** The first exception, else the first problem, else the last line; undefined without any. From its beginning, whole. */
export function findDecisiveLine(lines: readonly string[]): string | undefined {
  const written = lines.map((line) => line.trim()).filter((line) => line !== '');
  const telling = written.filter((line) => !POINTER.test(line) && !WARNING.test(line));
  return (
    telling.find((line) => EXCEPTION.test(line)) ??
    telling.find((line) => PROBLEM.test(line)) ??
    written.at(-1)
  );
}
