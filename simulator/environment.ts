/** Reads the simulator's environment: the only place that knows the variables. */
import { KINDS, type Kind } from './engine.ts';
import { ENGINES } from './personality.ts';
import type { SimulatorOptions } from './server.ts';
import { DEFAULT_SETTINGS, parseSettings, type SettingName } from './settings.ts';

export type Environment = Record<string, string | undefined>;
export type SimulatorEnvironment = Omit<SimulatorOptions, 'exit'>;

/** Names the variable, what it may be and what it was. */
export class EnvironmentError extends Error {}

const SETTING_VARIABLES: Record<SettingName, string> = {
  ttftMs: 'SIMULATOR_TTFT_MS',
  itlMs: 'SIMULATOR_ITL_MS',
  prefillMs: 'SIMULATOR_PREFILL_MS',
  cacheTokens: 'SIMULATOR_CACHE_TOKENS',
  contextTokens: 'SIMULATOR_CONTEXT_TOKENS',
  tokens: 'SIMULATOR_TOKENS',
  jobSeconds: 'SIMULATOR_JOB_SECONDS',
  maxConcurrency: 'SIMULATOR_MAX_CONCURRENCY',
  healthy: 'SIMULATOR_HEALTHY',
  healthDelayMs: 'SIMULATOR_HEALTH_DELAY_MS',
  sleepMs: 'SIMULATOR_SLEEP_MS',
  like: 'SIMULATOR_LIKE',
  fault: 'SIMULATOR_FAULT',
  faultTimes: 'SIMULATOR_FAULT_TIMES',
};

export const HELP = `Usage: node simulator/main.ts

A GPU-free engine that speaks the routes of real ones. Everything is set by environment variables:

  SIMULATOR_HOST             address of the engine's port (127.0.0.1)
  SIMULATOR_PORT             the engine's port; 0 takes a free one (8000)
  SIMULATOR_CONTROL_PORT     the control port; unset: there is none
  SIMULATOR_CONTROL_HOST     address of the control port (127.0.0.1)
  SIMULATOR_MODEL            id of the served model (simulator)
  SIMULATOR_KIND             ${KINDS.join(', ')} (LLM)
  SIMULATOR_STARTUP_SECONDS  for so long everything answers 503 (0)
  SIMULATOR_SLEEP_MODE       1: it has vLLM's /sleep, /wake_up and /is_sleeping (unset: it has not)

The start values of what the control port can change:

  SIMULATOR_TTFT_MS          milliseconds to the first token (0)
  SIMULATOR_ITL_MS           milliseconds between tokens (0)
  SIMULATOR_PREFILL_MS       milliseconds for each prompt token that is not cached (0)
  SIMULATOR_CACHE_TOKENS     size of the prefix cache in tokens (0: none)
  SIMULATOR_CONTEXT_TOKENS   most tokens of a prompt and its answer together (${DEFAULT_SETTINGS.contextTokens})
  SIMULATOR_TOKENS           length of an answer (unset: 16 to 64, by the prompt)
  SIMULATOR_JOB_SECONDS      time of an image or a video (${DEFAULT_SETTINGS.jobSeconds})
  SIMULATOR_MAX_CONCURRENCY  calls worked on at once; more wait (0: unlimited)
  SIMULATOR_HEALTHY          true, or false: the health check fails (true)
  SIMULATOR_HEALTH_DELAY_MS  milliseconds that the health check takes (0)
  SIMULATOR_SLEEP_MS         milliseconds that falling asleep takes, and waking (0)
  SIMULATOR_LIKE             the habits of ${ENGINES.join(', ')} (unset: none)
  SIMULATOR_FAULT            a fault as JSON, such as {"kind":"drop","afterFrames":3}
  SIMULATOR_FAULT_TIMES      how many calls the fault hits; -1 for ever (1)

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
  const given = Object.entries(SETTING_VARIABLES).flatMap(([field, name]) =>
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
  const variable = SETTING_VARIABLES[name as SettingName];
  const path = [variable, ...rest].join('.');
  return message.startsWith(field) ? `${path}${message.slice(field.length)}` : `${variable}: ${message}`;
}
