/**
 * For connections of undici, which negotiates HTTP/2 by default. There, Node falls into an endless loop when a request with a body is
 * aborted while it is sent, and a connection that lost its peer stays in use.
 */
export const HTTP1_ONLY = { allowH2: false } as const;
