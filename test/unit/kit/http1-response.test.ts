import type { IncomingHttpHeaders } from 'node:http';
import { expect } from 'chai';
import { ResponseParser } from '../../../kit/http1-response.ts';

interface Read {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  trailers: IncomingHttpHeaders | null;
  canReuse: boolean;
  keptMs: number | null;
  /** Bytes after the response. */
  unread: string;
}

/** Reads pieces as a connection does, and then the connection's end. */
function read(pieces: string[], method = 'GET', pausesAtEach = false): Read {
  const parser = new ResponseParser();
  const seen: Read = {
    status: 0,
    headers: {},
    body: '',
    trailers: null,
    canReuse: false,
    keptMs: null,
    unread: '',
  };
  const sink = {
    isHalted: false,
    takeHead(status: number, headers: IncomingHttpHeaders) {
      expect(seen.status).to.equal(0);
      Object.assign(seen, { status, headers });
      sink.isHalted = pausesAtEach;
    },
    takeData(piece: Buffer) {
      expect(sink.isHalted).to.equal(false);
      expect(piece.length).to.be.greaterThan(0);
      seen.body += piece.toString('latin1');
      sink.isHalted = pausesAtEach;
    },
    takeEnd(trailers: IncomingHttpHeaders) {
      expect(sink.isHalted).to.equal(false);
      expect(seen.trailers).to.equal(null);
      seen.trailers = trailers;
    },
  };
  parser.expect(method, sink);
  for (const piece of pieces) {
    let rest = Buffer.from(piece, 'latin1');
    do {
      sink.isHalted = false;
      rest = rest.subarray(parser.parse(rest));
    } while (sink.isHalted);
    seen.unread += rest.toString('latin1');
  }
  if (!seen.trailers) parser.finish();
  return Object.assign(seen, { canReuse: parser.canReuse, keptMs: parser.keptMs });
}

const splitBytes = (wire: string) => Array.from(wire);

const HEAD = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

describe('a parser of responses', () => {
  const valid: [what: string, wire: string, expected: Partial<Read>, method?: string][] = [
    [
      'a counted body',
      `${HEAD}Content-Length: 5\r\nX-A: b\r\n\r\nhello`,
      { body: 'hello', headers: { 'content-length': '5', 'x-a': 'b' }, canReuse: true },
    ],
    ['an empty body', `${HEAD}content-length: 0\r\n\r\n`, { body: '', canReuse: true }],
    [
      'chunks with extensions and trailers',
      `${CHUNKED}5;a="b"\r\nhello\r\nA\r\n, my world\r\n0\r\nX-End: yes\r\nx-end: no\r\n\r\n`,
      { body: 'hello, my world', trailers: { 'x-end': ['yes', 'no'] }, canReuse: true },
    ],
    ['chunks that look like heads', `${CHUNKED}7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n`, { body: '\r\n0\r\n\r\n' }],
    ['a body until the end of the connection', `${HEAD}\r\nhello`, { body: 'hello', canReuse: false }],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi', { body: 'hi', canReuse: false }],
    ['no reason', 'HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi', { status: 200, body: 'hi' }],
    [
      'a status beyond the known',
      'HTTP/1.1 599 \r\ncontent-length: 2\r\n\r\nhi',
      { status: 599, body: 'hi' },
    ],
    [
      'informational responses before',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n${HEAD}content-length: 2\r\n\r\nhi`,
      { status: 200, body: 'hi', headers: { 'content-length': '2' } },
    ],
    ['the head of a HEAD', `${HEAD}content-length: 9\r\n\r\n`, { body: '', canReuse: false }, 'HEAD'],
    ['the head of a HEAD in chunks', CHUNKED, { body: '', canReuse: false }, 'HEAD'],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, canReuse: true }],
    [
      '304 with the length of what it is about',
      'HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n',
      { status: 304, canReuse: false },
    ],
    ['Connection: close', `${HEAD}connection: x, Close\r\ncontent-length: 0\r\n\r\n`, { canReuse: false }],
    [
      'a hint how long it is kept',
      `${HEAD}keep-alive: timeout=5, max=9\r\ncontent-length: 0\r\n\r\n`,
      { canReuse: true, keptMs: 5_000 },
    ],
    [
      'fields with blanks, obsolete text and strange names',
      `${HEAD}a: \t b c\t \r\nd:\xe9\r\ne:\r\n__proto__: f\r\ncontent-length: 0\r\n\r\n`,
      {
        headers: Object.defineProperty({ a: 'b c', d: '\xe9', e: '', 'content-length': '0' }, '__proto__', {
          value: 'f',
          enumerable: true,
        }) as IncomingHttpHeaders,
      },
    ],
  ];
  for (const [what, wire, expected, method] of valid)
    describe(what, () => {
      const check = (pieces: string[], pauses = false) => {
        const got = read(pieces, method, pauses);
        expect(got).to.deep.include({ status: 200, unread: '', ...expected });
        expect(got.trailers).to.not.equal(null);
      };
      it('is read at once', () => check([wire]));
      it('is read byte by byte', () => check(splitBytes(wire)));
      it('is read in any two pieces', () => {
        for (let at = 1; at < wire.length; at++) check([wire.slice(0, at), wire.slice(at)]);
      });
      it('is read by a reader that waits after each part', () => {
        check([wire], true);
        check(splitBytes(wire), true);
      });
    });

  it('leaves what follows a response', () => {
    for (const wire of [`${HEAD}content-length: 2\r\n\r\nhi`, `${CHUNKED}2\r\nhi\r\n0\r\n\r\n`])
      expect(read([`${wire}HTTP`])).to.include({ body: 'hi', unread: 'HTTP' });
  });

  const broken: [what: string, wire: string][] = [
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['an empty line before', `\r\n${HEAD}\r\n`],
    ['a bare line feed after the status', 'HTTP/1.1 200 OK\n\r\n'],
    ['a bare line feed after a field', `${HEAD}a: b\n\r\n`],
    ['a bare line feed after the fields', `${HEAD}a: b\r\n\n`],
    ['a bare carriage return', `${HEAD}a: b\rc\r\n\r\n`],
    ['a null byte', `${HEAD}a: b\0\r\n\r\n`],
    ['a folded field', `${HEAD}a: b\r\n c\r\n\r\n`],
    ['a blank before the colon', `${HEAD}a : b\r\n\r\n`],
    ['no name', `${HEAD}: b\r\n\r\n`],
    ['no colon', `${HEAD}a\r\n\r\n`],
    ['both a length and chunks', `${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['two lengths', `${HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n`],
    ['the same length twice', `${HEAD}content-length: 2\r\ncontent-length: 2\r\n\r\n`],
    ['a list of lengths', `${HEAD}content-length: 2, 2\r\n\r\n`],
    ['a signed length', `${HEAD}content-length: +2\r\n\r\n`],
    ['an empty length', `${HEAD}content-length:\r\n\r\n`],
    ['a length beyond what can be counted', `${HEAD}content-length: 9999999999999999\r\n\r\n`],
    ['an encoding beside chunks', `${HEAD}transfer-encoding: gzip, chunked\r\n\r\n`],
    ['chunks twice', `${HEAD}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
    ['a chunk without a size', `${CHUNKED}\r\n`],
    ['a chunk with a size in other digits', `${CHUNKED}0x5\r\nhello\r\n`],
    ['a negative chunk', `${CHUNKED}-5\r\nhello\r\n`],
    ['a chunk beyond what can be counted', `${CHUNKED}fffffffffffffff\r\n`],
    ['a chunk with a bare line feed', `${CHUNKED}5\nhello\r\n`],
    ['a chunk that is longer than its size', `${CHUNKED}4\r\nhello\r\n`],
    ['a chunk that ends with a bare line feed', `${CHUNKED}5\r\nhello\n`],
    ['an endless extension', `${CHUNKED}5;${'a'.repeat(513 * 1024)}`],
    ['an invalid trailer', `${CHUNKED}0\r\na b\r\n\r\n`],
    ['too many fields', `${HEAD}${'a: b\r\n'.repeat(1_001)}\r\n`],
    ['a head that is too large', `${HEAD}a: ${'b'.repeat(513 * 1024)}`],
    ['endless informational responses', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(20_000)],
    ['endless trailers', `${CHUNKED}0\r\na: ${'b'.repeat(513 * 1024)}`],
  ];
  for (const [what, wire] of broken)
    it(`refuses ${what}, in whatever pieces`, () => {
      expect(() => read([wire])).to.throw();
      if (wire.length < 10_000) expect(() => read(splitBytes(wire))).to.throw();
    });

  for (const [what, wire] of [
    ['a head', HEAD],
    ['a counted body', `${HEAD}content-length: 5\r\n\r\nhell`],
    ['chunks', `${CHUNKED}5\r\nhello\r\n`],
    ['trailers', `${CHUNKED}0\r\n`],
  ] as const)
    it(`takes no connection's end within ${what} for the end of a response`, () =>
      expect(read([wire]).trailers).to.equal(null));

  for (const [what, parse] of [
    [
      'a head that comes byte by byte',
      (size: number) => void read(splitBytes(`${HEAD}a: ${'b'.repeat(size)}\r\n\r\n`)),
    ],
    [
      'the blanks of a field',
      (size: number) => expect(() => read([`${HEAD}a: ${' '.repeat(size)}\0\r\n`])).to.throw(),
    ],
  ] as const)
    it(`takes CPU in proportion to ${what}`, () => {
      const measure = (size: number) => {
        const costs = [1, 2, 3].map(() => {
          const before = process.cpuUsage();
          parse(size);
          const { user, system } = process.cpuUsage(before);
          return user + system;
        });
        return Math.min(...costs);
      };
      measure(20_000);
      // In proportion it is 8 times, by the square 64 times; what does not grow is under a millisecond.
      expect(measure(400_000)).to.be.below(24 * measure(50_000) + 20_000);
    });
});
