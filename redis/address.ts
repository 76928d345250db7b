/** Parses addresses of Redis: host:port, redis://, rediss://, redis+sentinel://, rediss+sentinel://. */

export interface HostAndPort {
  host: string;
  port: number;
}

export interface RedisAddress {
  /** The server, or the Sentinels. */
  hosts: HostAndPort[];
  /** Name of the master that the Sentinels watch; null for a single server. */
  masterName: string | null;
  tls: boolean;
  /** `?servername=`: the name that certificates must have, if hosts are reached by other names, as with Sentinels. */
  serverName: string | null;
  username: string | null;
  password: string | null;
  db: number;
}

const DEFAULT_PORT = 6379;
const DEFAULT_SENTINEL_PORT = 26379;
const SHAPE = /^(rediss?)(\+sentinel)?:\/\/(?:([^@/]*)@)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/;

/**
 * Reads an address such as `redis://host:6379/0` or `redis+sentinel://host1,host2:26379/master`.
 * Throws an Error that describes the problem, without the credentials in the address.
 */
export function parseRedisAddress(text: string): RedisAddress {
  const match = SHAPE.exec(text.includes('://') ? text : `redis://${text}`);
  if (!match) {
    throw new Error('A Redis address is host:port, redis[s]://host:port or redis[s]+sentinel://hosts/master');
  }
  const [, scheme, sentinel, credentials, hosts, path = '', query] = match;
  if (sentinel && !path) {
    throw new Error('A redis+sentinel:// address ends in the name of the master, such as /mymaster');
  }
  if (!sentinel && !/^\d*$/.test(path)) throw new Error('The path of a Redis address is a database number');
  const { username, password } = parseCredentials(credentials);
  return {
    hosts: hosts!.split(',').map((host) => parseHost(host, sentinel ? DEFAULT_SENTINEL_PORT : DEFAULT_PORT)),
    masterName: sentinel ? decodeURIComponent(path) : null,
    tls: scheme === 'rediss',
    serverName: parseServerName(query, scheme === 'rediss'),
    username,
    password,
    db: sentinel ? 0 : Number(path || 0),
  };
}

function parseServerName(query: string | undefined, tls: boolean): string | null {
  if (query === undefined) return null;
  const parameters = new URLSearchParams(query);
  const name = parameters.get('servername');
  if (!tls || !name || parameters.size > 1)
    throw new Error('A Redis address takes ?servername=NAME with rediss:// and no other parameter');
  return name;
}

function parseCredentials(text: string | undefined): Pick<RedisAddress, 'username' | 'password'> {
  if (!text) return { username: null, password: null };
  const colon = text.indexOf(':');
  if (colon < 0) return { username: decodeURIComponent(text), password: null };
  return {
    username: decodeURIComponent(text.slice(0, colon)) || null,
    password: decodeURIComponent(text.slice(colon + 1)) || null,
  };
}

function parseHost(text: string, defaultPort: number): HostAndPort {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text.trim());
  const port = Number(match?.[3] ?? defaultPort);
  if (!match || port < 1 || port > 65535) throw new Error(`"${text}" is not a Redis host and port`);
  return { host: (match[1] ?? match[2])!, port };
}
