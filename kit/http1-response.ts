/**
 * Reads responses of HTTP/1.1 from bytes as they arrive, whatever the pieces. What another reader may take for another response is refused:
 * bare line feeds, folded fields, two lengths, encodings beside chunks (RFC 9112).
 */
import type { IncomingHttpHeaders } from 'node:http';
import { errors } from 'undici';
import { GrowingBuffer } from './growing-buffer.ts';
import { FIELD_NAME, FIELD_VALUE, readContentLength } from './http1-grammar.ts';

/** vLLM describes each of up to 2,048 vectors that it sends as bytes in a header. */
const MAX_HEAD_BYTES = 512 * 1024;
const MAX_FIELDS = 1_000;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
/** With extensions, which mean nothing here. */
const CHUNK_LINE = /^[\da-f]{1,13}[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/i;
const MAX_PLAIN_DIGITS = 8;
/** By byte; -1: it is none. */
const HEX_DIGITS = Int8Array.from({ length: 256 }, (_, byte) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase()),
);
const LF = 0x0a;
const CR = 0x0d;

export interface ResponseSink {
  /** No further byte is read: it waits, or is over. */
  readonly isHalted: boolean;
  /** Never of an informational response. */
  takeHead(status: number, headers: IncomingHttpHeaders): void;
  takeData(piece: Buffer): void;
  takeEnd(trailers: IncomingHttpHeaders): void;
}

type Stage =
  | 'status'
  | 'fields'
  | 'counted'
  | 'chunk'
  | 'chunk data'
  | 'chunk end'
  | 'trailers'
  | 'rest'
  | 'over';

const refuse = (what: string): never => {
  throw new errors.HTTPParserError(`The response has ${what}.`);
};

export class ResponseParser {
  #stage: Stage = 'over';
  #sink: ResponseSink | null = null;
  #isHead = false;
  #status = 0;
  /** The start of a line. */
  readonly #held = new GrowingBuffer();
  #headBytes = 0;
  #fields = 0;
  /** Without a prototype, whose names a server could send. */
  #headers: IncomingHttpHeaders = Object.create(null);
  /** What is left of a body of known length, or of a chunk. */
  #left = 0;
  /** Whether another request may follow, and how long the server keeps the connection; null: it does not say. */
  canReuse = false;
  keptMs: number | null = null;

  /** Begins the response to the next request. */
  expect(method: string, sink: ResponseSink): void {
    this.#stage = 'status';
    this.#sink = sink;
    this.#isHead = method === 'HEAD';
    this.#headBytes = 0;
    this.canReuse = false;
  }

  /** Returns how many bytes were read: fewer where the sink halts, or the response ends. */
  parse(data: Buffer): number {
    const sink = this.#sink!;
    let at = 0;
    while (!sink.isHalted && this.#stage !== 'over')
      if (this.#stage === 'counted' && this.#left === 0) this.#end({});
      else if (at < data.length) at = this.#step(data, at, sink);
      else break;
    return at;
  }

  /** The connection has ended. Whether that ends the response. */
  finish(): boolean {
    if (this.#stage !== 'rest') return false;
    this.#end({});
    return true;
  }

  #step(data: Buffer, at: number, sink: ResponseSink): number {
    if (this.#stage === 'rest') {
      sink.takeData(at === 0 ? data : data.subarray(at));
      return data.length;
    }
    if (this.#stage !== 'counted' && this.#stage !== 'chunk data')
      return this.#skipPlainLine(data, at) ?? this.#readLine(data, at);
    const end = Math.min(data.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0 && this.#stage === 'chunk data') this.#stage = 'chunk end';
    sink.takeData(at === 0 && end === data.length ? data : data.subarray(at, end));
    return end;
  }

  /** Most lines around chunks are only digits, or nothing, and arrive at once: they need no string. Undefined: it is another one. */
  #skipPlainLine(data: Buffer, at: number): number | undefined {
    if (this.#held.length > 0 || (this.#stage !== 'chunk' && this.#stage !== 'chunk end')) return undefined;
    let size = 0;
    let end = at;
    for (; end < at + MAX_PLAIN_DIGITS && data[end] !== CR; end++) {
      const digit = HEX_DIGITS[data[end] ?? 0]!;
      if (digit < 0) return undefined;
      size = 16 * size + digit;
    }
    // The last chunk and broken lines are left to the reader of all lines.
    const isPlain = this.#stage === 'chunk' ? size > 0 : end === at;
    if (!isPlain || data[end] !== CR || data[end + 1] !== LF) return undefined;
    this.#headBytes = 0;
    this.#left = size;
    this.#stage = this.#stage === 'chunk' ? 'chunk data' : 'chunk';
    return end + 2;
  }

  #readLine(data: Buffer, at: number): number {
    const feed = data.indexOf(LF, at);
    const end = feed < 0 ? data.length : feed + 1;
    this.#headBytes += end - at;
    if (this.#headBytes > MAX_HEAD_BYTES) throw new errors.HeadersOverflowError();
    const isHeld = feed < 0 || this.#held.length > 0;
    if (isHeld) this.#held.add(data.subarray(at, end));
    if (feed < 0) return end;
    const line = isHeld ? this.#held.read() : data;
    const first = isHeld ? 0 : at;
    const last = isHeld ? line.length - 2 : end - 2;
    if (last < first || line[last] !== CR) refuse('a line that ends without a carriage return');
    const text = line.toString('latin1', first, last);
    this.#held.clear();
    this.#takeLine(text);
    return end;
  }

  #takeLine(line: string): void {
    switch (this.#stage) {
      case 'status':
        this.#readStatus(line);
        break;
      case 'fields':
        if (line === '') this.#endHead();
        else this.#readField(line);
        break;
      case 'chunk':
        this.#beginChunk(line);
        break;
      case 'chunk end':
        if (line !== '') refuse('a chunk of another length');
        this.#stage = 'chunk';
        break;
      case 'trailers':
        if (line === '') this.#end(this.#headers);
        else this.#readField(line);
        break;
    }
  }

  #readStatus(line: string): void {
    const [, minor, status] = STATUS_LINE.exec(line) ?? refuse('no status line');
    this.#status = Number(status);
    this.canReuse = minor === '1';
    this.#beginFields('fields');
  }

  #beginFields(stage: 'fields' | 'trailers'): void {
    this.#stage = stage;
    this.#headers = Object.create(null);
    this.#fields = 0;
  }

  #readField(line: string): void {
    if (++this.#fields > MAX_FIELDS) throw new errors.HeadersOverflowError();
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    let start = colon + 1;
    let end = line.length;
    // A regular expression would take quadratic time; `trim` takes more than HTTP's blanks.
    while (start < end && isBlank(line.charCodeAt(start))) start++;
    while (start < end && isBlank(line.charCodeAt(end - 1))) end--;
    const value = line.slice(start, end);
    if (!FIELD_NAME.test(name) || !FIELD_VALUE.test(value)) refuse('an invalid field');
    const before = this.#headers[name];
    this.#headers[name] = before === undefined ? value : [before, value].flat();
  }

  #endHead(): void {
    const { 'transfer-encoding': encoding, 'content-length': length, connection } = this.#headers;
    const isChunked = encoding !== undefined;
    if (isChunked && (!this.canReuse || String(encoding).toLowerCase() !== 'chunked'))
      refuse('a transfer encoding beside chunks');
    if (isChunked && length !== undefined) refuse('both a length and chunks');
    // Two of them are an array, which is no string.
    if (length !== undefined && !(typeof length === 'string' && readContentLength(length) !== null))
      refuse('an invalid length');
    if (this.#status === 101) refuse('another protocol');
    if (this.#status < 200) {
      this.#stage = 'status';
      return;
    }
    if (/(^|[\s,])close($|[\s,])/i.test(String(connection ?? ''))) this.canReuse = false;
    const kept = /timeout=(\d{1,9})/i.exec(String(this.#headers['keep-alive'] ?? ''));
    this.keptMs = kept && Number(kept[1]) * 1_000;
    const hasNone = this.#isHead || this.#status === 204 || this.#status === 304;
    // A server that wrongly sends a body would answer the next request with it.
    if (this.#isHead || (hasNone && (isChunked || Number(length ?? 0) > 0))) this.canReuse = false;
    this.#left = hasNone ? 0 : Number(length ?? 0);
    if (hasNone || length !== undefined) this.#stage = 'counted';
    else if (isChunked) this.#stage = 'chunk';
    else {
      this.#stage = 'rest';
      this.canReuse = false;
    }
    this.#sink!.takeHead(this.#status, this.#headers);
  }

  #beginChunk(line: string): void {
    if (!CHUNK_LINE.test(line)) refuse('an invalid chunk');
    this.#left = Number.parseInt(line, 16);
    this.#headBytes = 0;
    if (this.#left > 0) this.#stage = 'chunk data';
    else this.#beginFields('trailers');
  }

  #end(trailers: IncomingHttpHeaders): void {
    this.#stage = 'over';
    this.#sink!.takeEnd(trailers);
  }
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;
