/**
 * What a log may contain of an error. Libraries attach whole requests to theirs: a failed command of Redis with all its
 * arguments (a prompt, a password), a key's id, headers. So only listed fields are logged, and secrets are redacted from texts.
 */

export interface DescribedError {
  type: string;
  message: string;
  code?: string | number;
  status?: number;
  syscall?: string;
  stack?: string;
  cause?: DescribedError;
}

const MAX_TEXT = 1_000;
const MAX_FRAMES = 20;
const MAX_CAUSES = 4;

/** Each match ends at a character that it cannot match again, so none backtracks badly. */
const SECRETS: readonly [RegExp, string][] = [
  // Redis repeats the arguments of an unknown command.
  [/with args beginning with:[\s\S]*/, 'with arguments'],
  // V8 repeats the invalid JSON.
  [/(Unexpected [a-z ]+)[\s\S]*is not valid JSON/, '$1: not valid JSON'],
  [/\/\/[^\s/@]{1,256}@/g, '//…@'],
  [/\b(bearer|basic) +[^\s"',]{1,512}/gi, '$1 …'],
  [/\bsk-[\w-]{4,256}/g, 'sk-…'],
  // Tokens of Hugging Face; its packages, such as hf_transfer, have more words.
  [/\bhf_[A-Za-z0-9]{16,256}/g, 'hf_…'],
  [/(--[\w-]{0,64}(?:token|key|password|secret)[= ]["']?)[^\s"']{1,2048}/gi, '$1…'],
  // A list of them.
  [
    /\b((?:\w{0,64}_)?(?:(?:api|access|secret|private)[_-]?key|credential|token|password|secret)s?["']?[=:] ?[[(])[^\])]{0,2048}/gi,
    '$1…',
  ],
  [
    /\b((?:\w{0,64}_)?(?:(?:api|access|secret|private)[_-]?key|credential|token|password|passwd|secret)["']?[=:] ?["'[(]{0,3})[^\s"',;&]{1,2048}/gi,
    '$1…',
  ],
  [/([?&][\w-]*(?:signature|credential|token|key|password|secret)[\w-]*=)[^\s&"']{1,2048}/gi, '$1…'],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{12,128}/g, 'AKIA…'],
];

/** Truncated, without anything that looks like a secret. */
export function redactText(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  let clear = text.slice(0, MAX_TEXT);
  for (const [pattern, replacement] of SECRETS) clear = clear.replace(pattern, replacement);
  return text.length > MAX_TEXT ? `${clear}…` : clear;
}

/** Describes whatever was thrown. */
export const describeError = (thrown: unknown): DescribedError => describe(thrown, MAX_CAUSES);

function describe(thrown: unknown, causes: number): DescribedError {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: 'a value that is not an Error' };
  const { code, syscall, $metadata, issues } = thrown as unknown as Record<string, unknown>;
  const status = ($metadata as { httpStatusCode?: unknown } | undefined)?.httpStatusCode;
  return {
    type: thrown.name.slice(0, 100),
    message: Array.isArray(issues) ? describeIssues(issues) : String(redactText(thrown.message)),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(typeof status === 'number' && { status }),
    ...(typeof syscall === 'string' && { syscall }),
    ...(thrown.stack && { stack: listFrames(thrown.stack, thrown.message) }),
    ...(thrown.cause instanceof Error && causes > 0 && { cause: describe(thrown.cause, causes - 1) }),
  };
}

/** For a schema error: path and code, never the value or a message that may repeat it. */
const describeIssues = (issues: readonly { path?: unknown; code?: unknown }[]): string =>
  issues
    .slice(0, 10)
    .map(({ path, code }) => `${Array.isArray(path) ? path.join('.').slice(0, 100) : ''}: ${String(code)}`)
    .join('; ');

/** Only the frames: a stack starts with the message. */
const listFrames = (stack: string, message: string): string =>
  stack
    .replace(message, () => '')
    .split('\n', 200)
    .filter((line) => line.startsWith('    at '))
    .slice(0, MAX_FRAMES)
    .map((line) => String(redactText(line)))
    .join('\n');
