/** One Redis user per workspace: it reads its configuration, works on its own keys and calls the functions. */
import { createHash } from 'node:crypto';
import { channels, configKeys, globalKeys, workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';

/** What gateways send and what the functions call on their behalf; ACLs apply inside functions too. */
/** That functions may run, too: they have the rights of their caller. */
export const COMMANDS = [
  ...'fcall ping client|setname subscribe unsubscribe time'.split(' '),
  // Sizes of values, and whether memory is full.
  ...'memory|usage info|memory'.split(' '),
  ...'get getrange set incr incrby decr expire pexpire pttl exists unlink'.split(' '),
  ...'hget hset hstrlen hdel hgetall hvals hincrby hmget'.split(' '),
  ...'zadd zrem zcard zrank zrange zpopmin'.split(' '),
];

const USER_PREFIX = 'ws:';
const NAMESPACE = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

export interface WorkspaceUser {
  namespace: string;
  username: string;
  /** Redis gets only its SHA-256. */
  password: string;
  /** It exists but is disabled. */
  isSuspended?: boolean;
}

/**
 * Creates or corrects the user; true if it changed. Users are neither in the AOF nor replicated, so this is
 * called again for every server and after each restart.
 */
export async function ensureWorkspaceUser(redis: RedisClient, user: WorkspaceUser): Promise<boolean> {
  const wanted = buildUser(user);
  const present = await readUser(redis, user.username);
  if (present && equalUsers(present, wanted)) return false;
  await redis.acl(
    'SETUSER',
    user.username,
    'reset',
    ...wanted.flags,
    `#${wanted.passwords[0]}`,
    ...wanted.keys,
    ...wanted.channels,
    ...wanted.commands,
    ...wanted.selectors,
  );
  await saveUsers(redis);
  // Existing connections stay open.
  if (user.isSuspended) await cutConnections(redis, user.username);
  return true;
}

/** Disables the user and closes its connections, until `ensureWorkspaceUser` enables it again. */
export async function suspendWorkspaceUser(redis: RedisClient, username: string): Promise<void> {
  const users = (await redis.acl('USERS')) as string[];
  if (!users.includes(username)) return;
  await redis.acl('SETUSER', username, 'off');
  await cutConnections(redis, username);
  await saveUsers(redis);
}

const cutConnections = (redis: RedisClient, username: string) => redis.client('KILL', 'USER', username);

/** Removes the user and closes its connections; false if there was none. */
export async function removeWorkspaceUser(redis: RedisClient, username: string): Promise<boolean> {
  const removed = await redis.acl('DELUSER', username);
  if (removed === 0) return false;
  await saveUsers(redis);
  return true;
}

/** Names of all workspaces' users. */
export async function listWorkspaceUsers(redis: RedisClient): Promise<string[]> {
  const users = (await redis.acl('USERS')) as string[];
  return users.filter((name) => name.startsWith(USER_PREFIX)).sort();
}

interface UserRules {
  flags: string[];
  passwords: string[];
  keys: string[];
  channels: string[];
  commands: string[];
  /** Additional selectors. */
  selectors: string[];
}

function buildUser({ namespace, password, isSuspended = false }: WorkspaceUser): UserRules {
  // A name with a wildcard would match other workspaces' keys.
  if (!NAMESPACE.test(namespace)) throw new Error(`"${namespace}" is not the name of a namespace`);
  const jobs = channels.jobs(namespace, '*');
  return {
    flags: [isSuspended ? 'off' : 'on'],
    passwords: [createHash('sha256').update(password).digest('hex')],
    keys: [`%R~${configKeys(namespace).prefix}*`, `~${workKeys(namespace).prefix}*`],
    channels: [`&${channels.workspace(namespace)}`, `&${jobs}`],
    commands: ['-@all', ...COMMANDS.map((command) => `+${command}`)],
    selectors: [
      // The functions announce jobs and events as the caller; configuration changes are announced by the operator alone.
      `(-@all +publish &${jobs} &${channels.events(namespace)})`,
      // Whether an id is some workspace's.
      `(-@all +exists %R~${globalKeys.requestPrefix('*')})`,
    ],
  };
}

/** The rules of a user on the server; null if there is none. */
export async function readUser(redis: RedisClient, username: string): Promise<UserRules | null> {
  const reply = (await redis.acl('GETUSER', username)) as unknown[] | null;
  if (!reply) return null;
  const read = (field: string): string[] => {
    const value = reply[reply.indexOf(field) + 1];
    return Array.isArray(value) ? value.map(String) : String(value).split(' ').filter(Boolean);
  };
  return {
    // Redis adds its own flags about passwords and payloads; only whether the user is on counts.
    flags: read('flags').filter((flag) => flag === 'on' || flag === 'off' || flag === 'nopass'),
    passwords: read('passwords'),
    keys: read('keys'),
    channels: read('channels'),
    commands: read('commands'),
    selectors: (reply[reply.indexOf('selectors') + 1] as string[][]).map(formatSelector),
  };
}

/** A selector as `buildUser` writes it, from the pairs that Redis returns. */
function formatSelector(pairs: readonly string[]): string {
  const read = (field: string) => pairs[pairs.indexOf(field) + 1]!;
  return `(${[read('commands'), read('keys'), read('channels')].filter(Boolean).join(' ')})`;
}

function equalUsers(a: UserRules, b: UserRules): boolean {
  const normal = (rules: UserRules) =>
    JSON.stringify(
      [rules.flags, rules.passwords, rules.keys, rules.channels, rules.commands, rules.selectors].map(
        (list) => [...list].sort(),
      ),
    );
  return normal(a) === normal(b);
}

/** Writes the ACL file, if the server has one. */
async function saveUsers(redis: RedisClient): Promise<void> {
  try {
    await redis.acl('SAVE');
  } catch (error) {
    if (!/not configured to use an ACL file/.test(String(error))) throw error;
  }
}
