/** Reads the simulator's environment: the only place that knows the variables. */
import { KINDS, type Kind } from './engine.ts';
import { ENGINES } from './personality.ts';
import type { SimulatorOptions } from './server.ts';
import { DEFAULT_SETTINGS, parseSettings, type SettingName } from './settings.ts';

export type Environment = Record<string, string | undefined>;
export type SimulatorEnvironment = Omit<SimulatorOptions, 'exit'>;

/** Names the variable, what it may be and what it was. */
export class EnvironmentError extends Error {}

/** A row of `--help` and of docs/environment.md. */
export interface SimulatorVariable {
  name: string;
  about: string;
  /** In words. */
  fallback: string;
}
const row = (name: string, about: string, fallback: string): SimulatorVariable => ({ name, about, fallback });

export const START_VARIABLES: readonly SimulatorVariable[] = [
  row('SIMULATOR_HOST', "Address of the engine's port.", '127.0.0.1'),
  row('SIMULATOR_PORT', "The engine's port; 0 takes a free one.", '8000'),
  row('SIMULATOR_CONTROL_PORT', 'The control port.', 'none'),
  row('SIMULATOR_CONTROL_HOST', 'Address of the control port.', '127.0.0.1'),
  row('SIMULATOR_MODEL', 'Id of the served model.', 'simulator'),
  row('SIMULATOR_KIND', `One of ${KINDS.join(', ')}.`, 'LLM'),
  row('SIMULATOR_STARTUP_SECONDS', 'How long everything answers 503 after the start.', '0'),
  row('SIMULATOR_ADAPTERS', "1: it has vLLM's /v1/load_lora_adapter and /v1/unload_lora_adapter.", 'off'),
  row('SIMULATOR_SLEEP_MODE', "1: it has vLLM's /sleep, /wake_up and /is_sleeping.", 'off'),
];

/** Start values of what the control port can change. */
export const SETTING_VARIABLES: Record<SettingName, SimulatorVariable> = {
  ttftMs: row('SIMULATOR_TTFT_MS', 'Milliseconds to the first token.', '0'),
  itlMs: row('SIMULATOR_ITL_MS', 'Milliseconds between tokens.', '0'),
  prefillMs: row('SIMULATOR_PREFILL_MS', 'Milliseconds for each prompt token that is not cached.', '0'),
  cacheTokens: row('SIMULATOR_CACHE_TOKENS', 'Size of the prefix cache in tokens; 0: none.', '0'),
  contextTokens: row(
    'SIMULATOR_CONTEXT_TOKENS',
    'Most tokens of a prompt and its answer together.',
    String(DEFAULT_SETTINGS.contextTokens),
  ),
  tokens: row('SIMULATOR_TOKENS', 'Length of an answer.', '16 to 64, by the prompt'),
  jobSeconds: row(
    'SIMULATOR_JOB_SECONDS',
    'Time of an image or a video.',
    String(DEFAULT_SETTINGS.jobSeconds),
  ),
  maxConcurrency: row('SIMULATOR_MAX_CONCURRENCY', 'Calls worked on at once; more wait. 0: unlimited.', '0'),
  maxQueued: row('SIMULATOR_MAX_QUEUED', 'Calls that may wait; more are refused.', 'unlimited'),
  draining: row('SIMULATOR_DRAINING', 'true: text calls fail, and the health check does not.', 'false'),
  paused: row('SIMULATOR_PAUSED', 'true: calls wait, and the health check does not.', 'false'),
  looseTools: row('SIMULATOR_LOOSE_TOOLS', 'true: forced calls of tools may break their schema.', 'false'),
  healthy: row('SIMULATOR_HEALTHY', 'false: the health check fails.', 'true'),
  healthDelayMs: row('SIMULATOR_HEALTH_DELAY_MS', 'Milliseconds that the health check takes.', '0'),
  sleepMs: row('SIMULATOR_SLEEP_MS', 'Milliseconds that falling asleep takes, and waking.', '0'),
  like: row('SIMULATOR_LIKE', `The habits of one of ${ENGINES.join(', ')}.`, 'none'),
  fault: row('SIMULATOR_FAULT', 'A fault as JSON, such as {"kind":"drop","afterFrames":3}.', 'none'),
  faultTimes: row('SIMULATOR_FAULT_TIMES', 'How many calls the fault hits; -1 for ever.', '1'),
};

const formatRows = (rows: readonly SimulatorVariable[]): string =>
  rows.map(({ name, about, fallback }) => `  ${name.padEnd(26)} ${about} (${fallback})`).join('\n');

export const HELP = `Usage: node simulator/main.ts

A GPU-free engine that speaks the routes of real ones. Everything is set by environment variables:

${formatRows(START_VARIABLES)}

The start values of what the control port can change:

${formatRows(Object.values(SETTING_VARIABLES))}

Try it:

  curl http://127.0.0.1:8000/v1/chat/completions -d '{"messages":[{"role":"user","content":"Hello"}]}'
`;

/** Throws an EnvironmentError for a value that cannot be used; an empty variable counts as unset. */
export function readEnvironment(env: Environment = process.env): SimulatorEnvironment {
  const controlPort = readPort(env, 'SIMULATOR_CONTROL_PORT', null);
  return {
    listen: { host: env.SIMULATOR_HOST || '127.0.0.1', port: readPort(env, 'SIMULATOR_PORT', 8000) },
    control:
      controlPort === null ? null : { host: env.SIMULATOR_CONTROL_HOST || '127.0.0.1', port: controlPort },
    model: env.SIMULATOR_MODEL || 'simulator',
    kind: readKind(env),
    startupSeconds: readSeconds(env, 'SIMULATOR_STARTUP_SECONDS'),
    hasAdapters: env.SIMULATOR_ADAPTERS === '1',
    sleepMode: env.SIMULATOR_SLEEP_MODE === '1',
    settings: { ...DEFAULT_SETTINGS, ...readSettings(env) },
  };
}

const refuse = (name: string, allowed: string, value: string): EnvironmentError =>
  new EnvironmentError(`${name} must be ${allowed}; got ${JSON.stringify(value)}`);

function readPort<T extends number | null>(env: Environment, name: string, fallback: T): number | T {
  const value = env[name];
  if (!value) return fallback;
  const port = Number(value);
  if (!/^\d+$/.test(value) || port > 65_535) throw refuse(name, 'a port from 0 to 65535', value);
  return port;
}

function readKind(env: Environment): Kind {
  const value = env.SIMULATOR_KIND || 'LLM';
  const kind = KINDS.find((one) => one === value);
  if (!kind) throw refuse('SIMULATOR_KIND', `one of ${KINDS.join(', ')}`, value);
  return kind;
}

function readSeconds(env: Environment, name: string): number {
  const value = env[name] || '0';
  const seconds = Number(value);
  if (!Number.isFinite(seconds) || seconds < 0) throw refuse(name, 'a number of seconds, 0 or more', value);
  return seconds;
}

function readSettings(env: Environment): object {
  const given = Object.entries(SETTING_VARIABLES).flatMap(([field, { name }]) =>
    env[name] ? [[field, parseVariable(env[name])]] : [],
  );
  const parsed = parseSettings(Object.fromEntries(given));
  if (parsed.ok) return parsed.patch;
  throw new EnvironmentError(parsed.problems.map(nameVariable).join('; '));
}

/** Invalid JSON stays a string, which the settings' rules then reject with its name. */
function parseVariable(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function nameVariable({ field, message }: { field: string; message: string }): string {
  const [name = '', ...rest] = field.split('.');
  const variable = SETTING_VARIABLES[name as SettingName].name;
  const path = [variable, ...rest].join('.');
  return message.startsWith(field) ? `${path}${message.slice(field.length)}` : `${variable}: ${message}`;
}
