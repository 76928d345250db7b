/** What can be changed while the simulator runs, with the rules of each setting. */
import { z } from 'zod';
import { ENGINES } from './personality.ts';

const DAY_MS = 86_400_000;
const DAY_SECONDS = 86_400;
const MAX_TOKENS = 131_072;
const MAX_COUNT = 1_000_000;
const MAX_CONTEXT_TOKENS = 10_000_000;
const MAX_CACHE_TOKENS = 16_000_000;

const afterFrames = z.int().min(0).max(MAX_COUNT).default(0);

const faultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('status'), status: z.int().min(200).max(599), body: z.json().optional() }),
  z.strictObject({ kind: z.literal('drop'), afterFrames }),
  z.strictObject({ kind: z.literal('end'), afterFrames }),
  z.strictObject({ kind: z.literal('abort'), afterFrames }),
  z.strictObject({
    kind: z.literal('error-frame'),
    afterFrames,
    shape: z.enum(['nested', 'flat', 'detail']).default('nested'),
  }),
  z.strictObject({ kind: z.literal('hang'), afterFrames }),
  z.strictObject({ kind: z.literal('oom') }),
  z.strictObject({ kind: z.literal('exit') }),
]);

export type Fault = z.infer<typeof faultSchema>;
export type ErrorShape = Extract<Fault, { kind: 'error-frame' }>['shape'];

const settingsSchema = z.strictObject({
  ttftMs: z.number().min(0).max(DAY_MS),
  itlMs: z.number().min(0).max(DAY_MS),
  prefillMs: z.number().min(0).max(DAY_MS),
  cacheTokens: z.int().min(0).max(MAX_CACHE_TOKENS),
  contextTokens: z.int().min(1).max(MAX_CONTEXT_TOKENS),
  tokens: z.int().min(1).max(MAX_TOKENS).nullable(),
  jobSeconds: z.number().min(0).max(DAY_SECONDS),
  maxConcurrency: z.int().min(0).max(MAX_COUNT).nullable(),
  maxQueued: z.int().min(0).max(MAX_COUNT).nullable(),
  draining: z.boolean(),
  paused: z.boolean(),
  looseTools: z.boolean(),
  healthy: z.boolean(),
  healthDelayMs: z.number().min(0).max(DAY_MS),
  sleepMs: z.number().min(0).max(DAY_MS),
  like: z.enum(ENGINES).nullable(),
  fault: faultSchema.nullable(),
  faultTimes: z.int().min(-1).max(MAX_COUNT),
});

export type Settings = z.infer<typeof settingsSchema>;
export type SettingName = keyof Settings;

export const DEFAULT_SETTINGS: Settings = {
  ttftMs: 0,
  itlMs: 0,
  prefillMs: 0,
  cacheTokens: 0,
  contextTokens: 131_072,
  tokens: null,
  jobSeconds: 1,
  maxConcurrency: 0,
  maxQueued: null,
  draining: false,
  paused: false,
  looseTools: false,
  healthy: true,
  healthDelayMs: 0,
  sleepMs: 0,
  like: null,
  fault: null,
  faultTimes: 1,
};

/** Allowed values of each setting, for error messages. */
const ALLOWED: Record<string, string> = {
  ttftMs: `a number of milliseconds from 0 to ${DAY_MS}`,
  itlMs: `a number of milliseconds from 0 to ${DAY_MS}`,
  prefillMs: `a number of milliseconds from 0 to ${DAY_MS}`,
  cacheTokens: `a whole number from 0 (no cache) to ${MAX_CACHE_TOKENS}`,
  contextTokens: `a whole number from 1 to ${MAX_CONTEXT_TOKENS}`,
  tokens: `a whole number from 1 to ${MAX_TOKENS}, or null (the prompt decides)`,
  jobSeconds: `a number of seconds from 0 to ${DAY_SECONDS}`,
  maxConcurrency: `a whole number from 0 to ${MAX_COUNT} (0 or null: unlimited)`,
  maxQueued: `a whole number from 0 to ${MAX_COUNT}, or null (unlimited)`,
  draining: 'true or false',
  paused: 'true or false',
  looseTools: 'true or false',
  healthy: 'true or false',
  healthDelayMs: `a number of milliseconds from 0 to ${DAY_MS}`,
  sleepMs: `a number of milliseconds from 0 to ${DAY_MS}`,
  like: `null or one of ${ENGINES.join(', ')}`,
  fault: 'null or an object with a kind: status, drop, end, abort, error-frame, hang, oom or exit',
  'fault.kind': 'one of status, drop, end, abort, error-frame, hang, oom, exit',
  'fault.status': 'a whole number from 200 to 599',
  'fault.body': 'any JSON value',
  'fault.afterFrames': `a whole number from 0 to ${MAX_COUNT}`,
  'fault.shape': 'one of nested, flat, detail',
  faultTimes: `a whole number from -1 (for ever) to ${MAX_COUNT}`,
};

export interface SettingProblem {
  /** Dotted path of the setting; empty for the whole. */
  field: string;
  message: string;
}

export type ParsedSettings =
  | { ok: true; patch: Partial<Settings> }
  | { ok: false; problems: SettingProblem[] };

/** Checks some settings; each problem names its field and what is allowed there. */
export function parseSettings(input: unknown): ParsedSettings {
  const result = settingsSchema.partial().safeParse(input);
  if (result.success) return { ok: true, patch: dropAbsent(result.data) };
  return { ok: false, problems: result.error.issues.flatMap((issue) => describeIssue(issue, input)) };
}

const dropAbsent = (patch: Partial<Settings>): Partial<Settings> =>
  Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));

function describeIssue(issue: z.core.$ZodIssue, input: unknown): SettingProblem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const field = [...path, key].join('.');
      const allowed =
        path.length === 0 ? `settings are ${Object.keys(DEFAULT_SETTINGS).join(', ')}` : describeFault(input);
      return { field, message: `${field} is unknown; ${allowed}` };
    });
  if (path.length === 0) return [{ field: '', message: 'the settings must be a JSON object' }];
  const field = path.slice(0, 2).join('.');
  const given = issue.path.reduce<unknown>(
    (at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key],
    input,
  );
  const got = given === undefined ? 'it is missing' : `got ${JSON.stringify(given).slice(0, 100)}`;
  return [{ field, message: `${field} must be ${ALLOWED[field] ?? issue.message}; ${got}` }];
}

function describeFault(input: unknown): string {
  const kind = (input as { fault?: { kind?: string } }).fault?.kind;
  const option = faultSchema.options.find(({ shape }) => shape.kind.value === kind);
  return `a ${kind} fault takes ${Object.keys(option?.shape ?? {}).join(', ')}`;
}

/** The settings in force, and how often the fault still strikes. */
export class SettingsStore {
  readonly #start: Settings;
  #current: Settings;
  #faultsLeft: number;
  readonly #listeners: (() => void)[] = [];

  constructor(start: Settings) {
    this.#start = start;
    this.#current = start;
    this.#faultsLeft = start.faultTimes;
  }

  get current(): Readonly<Settings> {
    return this.#current;
  }

  /** Naming the fault or its times arms it again. */
  merge(patch: Partial<Settings>): void {
    this.#current = { ...this.#current, ...patch };
    if ('fault' in patch || 'faultTimes' in patch) this.#faultsLeft = this.#current.faultTimes;
    for (const listener of this.#listeners) listener();
  }

  reset(): void {
    this.merge(this.#start);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** The fault that strikes the call that asks, or null; counts it. */
  takeFault(): Fault | null {
    const { fault } = this.#current;
    if (fault === null || this.#faultsLeft === 0) return null;
    if (this.#faultsLeft > 0) this.#faultsLeft--;
    return fault;
  }
}
