/** Readers of a gateway's environment variables and of its mounted Secret. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { SIDECAR_SECRET_PATH } from '../../api/names.ts';
import { EnvironmentError } from '../../kit/environment.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

export { EnvironmentError };

export const secretFolder = (env: Variables): string => env[GATEWAY_ENV.secretPath] ?? SIDECAR_SECRET_PATH;

export function readRequired(env: Variables, name: string): string {
  const value = env[name];
  if (!value) throw new EnvironmentError(`${name} must be set`);
  return value;
}

export function readInteger(env: Variables, name: string, fallback: number, most: number): number {
  const text = env[name];
  if (text === undefined || text === '') return fallback;
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || value > most)
    throw new EnvironmentError(`${name} must be a whole number from 0 to ${most}, not "${text}"`);
  return value;
}

export const readPort = (env: Variables, name: string, fallback: number) =>
  readInteger(env, name, fallback, 65_535);

export function readFlag(env: Variables, name: string, fallback = false): boolean {
  const text = env[name] || String(fallback);
  if (text !== 'true' && text !== 'false')
    throw new EnvironmentError(`${name} must be true or false, not "${text}"`);
  return text === 'true';
}

export function readOrigin(env: Variables, name: string): string {
  const text = readRequired(env, name);
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new EnvironmentError(`${name} must be an origin such as http://127.0.0.1:8000, not "${text}"`);
  return url.origin;
}

export function readPath(env: Variables, name: string): string {
  const path = env[name] || '/health';
  if (!path.startsWith('/')) throw new EnvironmentError(`${name} must begin with "/", not "${path}"`);
  return path;
}

export function readSecret(folder: string, file: string, isRequired: boolean): string | undefined {
  try {
    return readFileSync(join(folder, file), 'utf8').trim() || undefined;
  } catch (error) {
    if (!isRequired) return undefined;
    throw new EnvironmentError(
      `cannot read ${join(folder, file)} (${GATEWAY_ENV.secretPath}): ${(error as Error).message}`,
    );
  }
}
