/** The console of `make run`, and the page that it serves, built when its sources changed. */
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CONSOLE_ENV } from '../api/console-environment.ts';
import { LOOPBACK, type LocalPorts, localRedisURL } from './local-plan.ts';
import { type Child, readLogTail, startChild } from './processes/child-process.ts';

const WEB = 'console/web';
const BUILT = join(WEB, 'dist');
const CACHE = 'node_modules/.cache';
const SOURCES = [
  `${WEB}/**/*.{ts,tsx,css,html,svg}`,
  'console/*.ts',
  'api/*.ts',
  'examples/webhooks/*',
  'package-lock.json',
];

/**
 * A copy of the page in the state folder, which later builds do not affect; builds it first if a
 * source is newer. Throws with the end of the log.
 */
export async function ensurePage(folder: string): Promise<string> {
  const page = resolve(folder, 'page');
  rmSync(page, { recursive: true, force: true });
  if (!isCurrent()) await build(folder);
  cpSync(BUILT, page, { recursive: true });
  return page;
}

async function build(folder: string): Promise<void> {
  // Moved when complete, so that a partial page is never served.
  mkdirSync(CACHE, { recursive: true });
  const fresh = mkdtempSync(join(CACHE, 'console-page-'));
  try {
    const child = startChild({
      name: 'page of the console',
      command: process.execPath,
      args: [
        'node_modules/vite/bin/vite.js',
        'build',
        '-c',
        `${WEB}/vite.config.ts`,
        '--outDir',
        resolve(fresh),
      ],
      env: {},
      logPath: join(folder, 'logs', 'console-page.log'),
    });
    await child.ended;
    if (child.process.exitCode !== 0)
      throw new Error(`building the console's page failed:\n${readLogTail(child)}`);
    rmSync(BUILT, { recursive: true, force: true });
    renameSync(fresh, BUILT);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function isCurrent(): boolean {
  const page = join(BUILT, 'index.html');
  if (!existsSync(page)) return false;
  const builtAt = statSync(page).mtimeMs;
  return globSync(SOURCES, { exclude: [`${BUILT}/**`] }).every((path) => statSync(path).mtimeMs <= builtAt);
}

export function startConsole(
  ports: LocalPorts,
  { folder, page, masterKey }: { folder: string; page: string; masterKey: string },
): Child {
  return startChild({
    name: 'console',
    command: process.execPath,
    args: ['console/server/main.ts'],
    env: {
      [CONSOLE_ENV.host]: LOOPBACK,
      [CONSOLE_ENV.port]: String(ports.console),
      [CONSOLE_ENV.metricsPort]: String(ports.consoleMetrics),
      [CONSOLE_ENV.webFolder]: page,
      [CONSOLE_ENV.kubernetesURL]: `http://${LOOPBACK}:${ports.api}`,
      [CONSOLE_ENV.tokenPath]: resolve(folder, CONSOLE_TOKEN_FILE),
      [CONSOLE_ENV.redisURL]: localRedisURL(ports.redis, masterKey, 'console'),
    },
    logPath: join(folder, 'logs', 'console.log'),
  });
}

/** In the state folder. */
export const CONSOLE_TOKEN_FILE = 'console-token';
