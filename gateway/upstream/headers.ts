/** Which headers are relayed. */
import type { IncomingHttpHeaders } from 'node:http';
import { RECEIPT_HEADER } from '../../api/names.ts';

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Node has responded to it already. */
const ANSWERED = 'expect';
const OWN_PREFIX = 'x-berth-';

export type RelayedHeaders = Record<string, string | string[]>;

/** Without hop-by-hop headers, those that `Connection` names, and all but one of `x-berth-*`, which no outsider may set. */
export function selectRequestHeaders(headers: IncomingHttpHeaders): RelayedHeaders {
  return select(
    headers,
    (name) => name === RECEIPT_HEADER || (name !== ANSWERED && !name.startsWith(OWN_PREFIX)),
  );
}

/** Without hop-by-hop headers. */
export const selectResponseHeaders = (headers: IncomingHttpHeaders): RelayedHeaders =>
  select(headers, () => true);

function select(headers: IncomingHttpHeaders, isWanted: (name: string) => boolean): RelayedHeaders {
  const named = new Set(splitList(headers.connection));
  const selected: RelayedHeaders = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !HOP_BY_HOP.has(name) && !named.has(name) && isWanted(name))
      selected[name] = value;
  return selected;
}

/** Without a regular expression for the spaces around commas, which would take quadratic time. */
const splitList = (text = ''): string[] =>
  text
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
