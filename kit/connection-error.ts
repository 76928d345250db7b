/** Classifies the error codes of failed connections, whichever client opened them. */

/**
 * `closed`: by this program, before anything was sent. `lost`: an established connection broke. `response_timeout`: it
 * is established, but nothing was received in time.
 */
export type ConnectionFailure =
  | 'refused'
  | 'unreachable'
  | 'unresolved'
  | 'connect_timeout'
  | 'closed'
  | 'lost'
  | 'response_timeout';

const FAILURES: Readonly<Record<string, ConnectionFailure>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ENOTFOUND: 'unresolved',
  EAI_AGAIN: 'unresolved',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_CLOSED: 'closed',
  UND_ERR_DESTROYED: 'closed',
  ECONNRESET: 'lost',
  ECONNABORTED: 'lost',
  EPIPE: 'lost',
  UND_ERR_SOCKET: 'lost',
  UND_ERR_HEADERS_TIMEOUT: 'response_timeout',
  UND_ERR_BODY_TIMEOUT: 'response_timeout',
};

/** By the error's code; null for other errors. */
export function readConnectionFailure(error: unknown): ConnectionFailure | null {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  // The kernel times out an established connection with the same code.
  if (code === 'ETIMEDOUT' && (syscall === 'read' || syscall === 'write')) return 'lost';
  return FAILURES[String(code)] ?? null;
}

const NOT_CONNECTED: ReadonlySet<ConnectionFailure | null> = new Set<ConnectionFailure>([
  'refused',
  'unreachable',
  'connect_timeout',
]);

/** No connection was established, so nothing was sent. */
export const isNotConnected = (error: unknown): boolean => NOT_CONNECTED.has(readConnectionFailure(error));
