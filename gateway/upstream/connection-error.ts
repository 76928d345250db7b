/** What the errors of a connection to another server mean. */

const NOT_CONNECTED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

export const readErrorCode = (error: unknown): string => String((error as NodeJS.ErrnoException).code);

/** No connection was established, so nothing was sent. */
export const isNotConnected = (error: unknown): boolean => NOT_CONNECTED.has(readErrorCode(error));

/** An engine takes no connections any more, and gives nothing to those that it has. */
export class EngineDesertedError extends Error {}
