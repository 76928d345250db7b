/** The Redis of `make run`: a real server on loopback, its data in .berth/redis. */
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { ensureProgram } from '../tools/system-package.ts';
import { type Child, startChild } from './child-process.ts';
import { LOOPBACK } from './local-plan.ts';

export function startLocalRedis(port: number, folder: string): Child {
  const program = ensureProgram('redis-server', 'redis-server');
  mkdirSync(folder, { recursive: true });
  const settings = {
    bind: LOOPBACK,
    port: String(port),
    dir: resolve(folder),
    appendonly: 'yes',
    save: '',
    'maxmemory-policy': 'noeviction',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return startChild({
    name: 'redis',
    command: program,
    args,
    env: {},
    logPath: `${folder}/../logs/redis.log`,
  });
}
