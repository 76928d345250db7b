/** The chart's Redis configuration, for every Redis that is started without the chart. */
import { createHash } from 'node:crypto';
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Berth's own users, each `berth-<name>`. */
export type RedisUser = 'operator' | 'front' | 'console';
export type RedisPasswords = Record<RedisUser, string>;

export interface RedisPlace {
  port: number;
  /** Data folder; created if missing. */
  folder: string;
  passwords: RedisPasswords;
  /** As the chart's `redis.durability`. */
  isStrict?: boolean;
  /** As the chart's `redis.bundled.tls`: PEM files of the server; the port then accepts only TLS. */
  tls?: { certFile: string; keyFile: string };
}

const CHART = join(import.meta.dirname, '../charts/berth');

/** Writes the configuration and the users into the folder; returns the server's arguments, to which more can be added. */
export function prepareRedis({ port, folder, passwords, isStrict = false, tls }: RedisPlace): string[] {
  mkdirSync(folder, { recursive: true });
  const users = join(folder, 'users.acl');
  const others = existsSync(users) ? readFileSync(users, 'utf8').split('\n').filter(isOther) : [];
  writeFileSync(users, [...others, ...describeUsers(passwords), ''].join('\n'), { mode: 0o600 });
  // A copy: Sentinel has the file rewritten.
  const configuration = join(folder, 'redis.conf');
  copyFileSync(join(CHART, 'files/redis/redis.conf'), configuration);
  if (tls) appendFileSync(configuration, readFileSync(join(CHART, 'files/redis/tls.conf')));
  const settings = {
    bind: '127.0.0.1',
    port: tls ? '0' : String(port),
    ...(tls && { 'tls-port': String(port), 'tls-cert-file': tls.certFile, 'tls-key-file': tls.keyFile }),
    dir: folder,
    aclfile: users,
    appendfsync: isStrict ? 'always' : 'everysec',
    maxmemory: parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')).redis.bundled.maxmemory as string,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return [configuration, ...args];
}

/** As the chart's write-users.sh writes them. */
const describeUsers = (passwords: RedisPasswords): string[] =>
  readFileSync(join(CHART, 'files/redis/users.acl'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('user '))
    .map((line) => line.replace(/\{(\w+)\}/, (_, name: RedisUser) => hash(passwords[name])));

/** A workspace's, as the operator saved it. */
const isOther = (line: string): boolean => /^user (?!default |berth-)/.test(line);

const hash = (password: string): string => createHash('sha256').update(password).digest('hex');
