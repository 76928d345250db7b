/** The Redis of `make run`: a real server on loopback, as the chart configures it, its data in .berth/redis. */
import { resolve } from 'node:path';
import { prepareRedis } from '../tools/redis-files.ts';
import { ensureValkey } from '../tools/valkey.ts';
import { deriveRedisPasswords } from './local-plan.ts';
import { type Child, startChild } from './processes/child-process.ts';

export function startLocalRedis(port: number, folder: string, masterKey: string): Child {
  return startChild({
    name: 'redis',
    command: ensureValkey(),
    args: prepareRedis({ port, folder: resolve(folder), passwords: deriveRedisPasswords(masterKey) }),
    env: {},
    logPath: `${folder}/../logs/redis.log`,
  });
}
