/** Writes the heads of requests: nothing that a caller gives can end a line of them. */
import { type Dispatcher, errors } from 'undici';
import { FIELD_NAME, FIELD_VALUE, readContentLength } from './http1-grammar.ts';

const PATH = /^\/[\x21-\xff]*$/;
/** What only the client decides. */
const OWN = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'expect']);
/** A server may wait for the length of their body, even if it is none. */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);

export interface RequestHead {
  text: string;
  /** The body's; null: it is sent in chunks. */
  length: number | null;
}

/** `bytes`: the body's; null if only the caller's `Content-Length` can tell. Throws an error of undici. */
export function writeRequestHead(
  { method, path, headers }: Dispatcher.DispatchOptions,
  host: string,
  bytes: number | null,
): RequestHead {
  if (!FIELD_NAME.test(method) || method === 'CONNECT') refuse('method');
  if (!PATH.test(path)) refuse('path');
  let fields = '';
  let hasHost = false;
  let length = bytes;
  for (const [name, value] of listFields(headers)) {
    const key = name.toLowerCase();
    if (!FIELD_NAME.test(name) || !FIELD_VALUE.test(value) || OWN.has(key)) refuse(`header ${key}`);
    if (key === 'content-length') {
      const told = readContentLength(value);
      if (told === null) refuse(`header ${key}`);
      length ??= told;
      if (length !== told) throw new errors.RequestContentLengthMismatchError();
      continue;
    }
    hasHost ||= key === 'host';
    fields += `${name}: ${value}\r\n`;
  }
  if (length === null) fields += 'transfer-encoding: chunked\r\n';
  else if (length > 0 || WITH_BODY.has(method)) fields += `content-length: ${length}\r\n`;
  const start = `${method} ${path} HTTP/1.1\r\n${hasHost ? '' : `host: ${host}\r\n`}`;
  const connection = method === 'HEAD' ? 'close' : 'keep-alive';
  return { text: `${start}connection: ${connection}\r\n${fields}\r\n`, length };
}

function refuse(what: string): never {
  throw new errors.InvalidArgumentError(`invalid ${what}`);
}

/** One for each line. */
function listFields(headers: Dispatcher.DispatchOptions['headers']): [name: string, value: string][] {
  const fields: [string, string][] = [];
  const add = (name: string, value: unknown) => {
    if (Array.isArray(value)) for (const one of value) add(name, one);
    else if (value !== undefined) fields.push([name, String(value)]);
  };
  if (!Array.isArray(headers)) for (const [name, value] of Object.entries(headers ?? {})) add(name, value);
  else if (headers.length % 2 !== 0) refuse('headers');
  else for (let index = 0; index < headers.length; index += 2) add(headers[index]!, headers[index + 1]);
  return fields;
}
