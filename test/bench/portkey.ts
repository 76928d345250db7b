/** The baseline `portkey`: @portkey-ai/gateway from npm, installed outside the checkout. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const VERSION = '1.15.2';
const FOLDER = join(process.env.BERTH_CACHE ?? join(homedir(), '.cache', 'berth'), `portkey-${VERSION}`);
const SERVER = join(FOLDER, 'node_modules/@portkey-ai/gateway/build/start-server.js');

/** The path of Portkey's server; installs it at the first call. */
export function ensurePortkey(): string {
  if (existsSync(SERVER)) return SERVER;
  console.log(`installing @portkey-ai/gateway ${VERSION}…`);
  mkdirSync(FOLDER, { recursive: true });
  // Later versions of these two break it.
  const overrides = { hono: '4.9.7', '@hono/node-server': '1.13.5' };
  writeFileSync(join(FOLDER, 'package.json'), JSON.stringify({ private: true, overrides }));
  execFileSync('npm', ['install', '--loglevel=error', `@portkey-ai/gateway@${VERSION}`], {
    cwd: FOLDER,
    stdio: 'inherit',
  });
  return SERVER;
}
