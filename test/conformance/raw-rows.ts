/**
 * Requests by RFC 9110 and 9112, and what sidecar, front and console answer: the statuses in order, and whether the connection stays
 * open. One text holds for all three. A line break stands for CRLF, ␊ for a bare LF, ␍ for a bare CR. `{path}` is answered
 * with 200 to a GET, `{post}` takes a JSON body, `{fields}` are what a good request has beside its Host.
 */
type Outcome = string | readonly [sidecar: string, front: string, console: string];
export type Row = readonly [what: string, sent: string, outcome: Outcome];

const GET = 'GET {path} HTTP/1.1\nHost: {host}\n{fields}\n';
/** The JSON body of `{post}`. */
const POST = 'POST {post} HTTP/1.1\nHost: {host}\n{fields}\n';
const BODY = '{body}';
const TAKEN: Outcome = ['200 open', '200 open', '400 open'];
const TAKEN_CLOSED: Outcome = ['200 closed', '200 closed', '400 closed'];
const start = (line: string, fields = ''): string => `${line}\nHost: {host}\n{fields}\n${fields}\n`;
const post = (fields: string, body: string): string => `${POST}${fields}\n\n${body}`;

export const ROWS: Record<string, readonly Row[]> = {
  'the request line': [
    ['a path', start('GET {path} HTTP/1.1'), '200 open'],
    ['a path with a query', start('GET {path}?a=b HTTP/1.1'), '200 open'],
    ['an absolute form', start('GET http://{host}{path} HTTP/1.1'), '200 open'],
    ['an absolute form, its scheme in upper case', start('GET HTTP://{host}{path} HTTP/1.1'), '200 open'],
    ['an absolute form of https', start('GET https://{host}{path} HTTP/1.1'), '200 open'],
    ['an absolute form of ws', start('GET ws://{host}{path} HTTP/1.1'), '200 open'],
    ['an absolute form of another scheme', start('GET ftp://{host}{path} HTTP/1.1'), '400 open'],
    ['an absolute form with a user', start('GET http://user@{host}{path} HTTP/1.1'), '400 open'],
    ['an absolute form without a host', start('GET http://{path} HTTP/1.1'), '400 open'],
    [
      'an absolute form to post',
      post('Content-Length: {length}', BODY).replace('POST ', 'POST HTTP://{host}'),
      TAKEN,
    ],
    ['a path with dot segments', start('GET /x/..{path} HTTP/1.1'), ['404 open', '404 open', '200 open']],
    [
      'an absolute form with dot segments',
      start('GET http://{host}/x/..{path} HTTP/1.1'),
      ['404 open', '404 open', '200 open'],
    ],
    ['an authority', start('GET {host} HTTP/1.1'), '400 closed'],
    ['an asterisk of OPTIONS', start('OPTIONS * HTTP/1.1'), ['404 open', '404 open', '405 open']],
    ['an asterisk of another method', start('GET * HTTP/1.1'), '400 open'],
    ['a name without a slash', start('GET models HTTP/1.1'), '400 closed'],
    ['two spaces', start('GET  {path} HTTP/1.1'), '200 open'],
    ['no version', 'GET {path}\n\n', '505 closed'],
    ['an empty line before it', `\n${GET}\n`, '200 open'],
  ],
  'the Host': [
    [
      'another than the absolute form, whose host counts',
      'GET http://{host}{path} HTTP/1.1\nHost: other.example.com\n{fields}\n\n',
      '200 open',
    ],
    [
      'its own, where the absolute form is of another',
      'GET http://other.example.com{path} HTTP/1.1\nHost: {host}\n{fields}\n\n',
      ['200 open', '404 open', '200 open'],
    ],
    ['none', 'GET {path} HTTP/1.1\n{fields}\n\n', '400 open'],
    ['none with an absolute form', 'GET http://{host}{path} HTTP/1.1\n{fields}\n\n', '400 open'],
    ['an empty one', 'GET {path} HTTP/1.1\nHost:\n{fields}\n\n', '400 open'],
    ['the same twice', `${GET}Host: {host}\n\n`, '400 open'],
    ['two', `${GET}host: other.example.com\n\n`, '400 open'],
    ['one with a user', 'GET {path} HTTP/1.1\nHost: user@{host}\n{fields}\n\n', '400 open'],
    ['one with a path', 'GET {path} HTTP/1.1\nHost: {host}/x\n{fields}\n\n', '400 open'],
    ['a list', 'GET {path} HTTP/1.1\nHost: {host}, other\n{fields}\n\n', '400 open'],
    ['an open bracket', 'GET {path} HTTP/1.1\nHost: [::1\n{fields}\n\n', '400 open'],
    ['a port that is no number', 'GET {path} HTTP/1.1\nHost: x:http\n{fields}\n\n', '400 open'],
    [
      'an IPv6 address',
      'GET {path} HTTP/1.1\nHost: [::1]:80\n{fields}\n\n',
      ['200 open', '404 open', '200 open'],
    ],
  ],
  'the version': [
    ['1.0', start('GET {path} HTTP/1.0'), '200 closed'],
    ['1.0 with keep-alive', start('GET {path} HTTP/1.0', 'Connection: keep-alive\n'), '200 open'],
    ['1.0 without a Host', 'GET {path} HTTP/1.0\n{fields}\n\n', ['200 closed', '404 closed', '200 closed']],
    [
      '1.0 with chunks and keep-alive',
      post('Connection: keep-alive\nTransfer-Encoding: chunked', '{chunks}').replace('1.1', '1.0'),
      TAKEN_CLOSED,
    ],
    [
      '1.0 with Expect',
      post('Expect: 100-continue\nContent-Length: {length}', BODY).replace('1.1', '1.0'),
      TAKEN_CLOSED,
    ],
    ['0.9', start('GET {path} HTTP/0.9'), '505 closed'],
    ['1.2', start('GET {path} HTTP/1.2'), '505 closed'],
    ['2.0', start('GET {path} HTTP/2.0'), '505 closed'],
    ['3', start('GET {path} HTTP/3'), '505 closed'],
    ['in lower case', start('GET {path} http/1.1'), '400 closed'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\n\nSM\n\n', '505 closed'],
  ],
  'the framing': [
    ['a length', post('Content-Length: {length}', BODY), TAKEN],
    ['chunks', post('Transfer-Encoding: chunked', '{chunks}'), TAKEN],
    ['chunks, the name in upper case', post('Transfer-Encoding: CHUNKED', '{chunks}'), TAKEN],
    ['chunks with an extension', post('Transfer-Encoding: chunked', '{size};a=b\n{body}\n0\n\n'), TAKEN],
    [
      'chunks with trailers',
      post('Transfer-Encoding: chunked', '{size}\n{body}\n0\nX-Trailer: 1\n\n'),
      TAKEN,
    ],
    ['a chunk size in upper case', post('Transfer-Encoding: chunked', '{SIZE}\n{body}\n0\n\n'), TAKEN],
    [
      'a chunk size with zeros before it',
      post('Transfer-Encoding: chunked', '000{size}\n{body}\n0\n\n'),
      TAKEN,
    ],
    [
      'a chunk size that is no number',
      post('Transfer-Encoding: chunked', 'xyz\n{body}\n0\n\n'),
      '400 closed',
    ],
    ['a negative chunk size', post('Transfer-Encoding: chunked', '-1\n{body}\n0\n\n'), '400 closed'],
    ['a chunk size with 0x', post('Transfer-Encoding: chunked', '0x{size}\n{body}\n0\n\n'), '400 closed'],
    [
      'a chunk that is longer than its size',
      post('Transfer-Encoding: chunked', '2\n{body}\n0\n\n'),
      '400 closed',
    ],
    [
      'a bare LF after a chunk size',
      post('Transfer-Encoding: chunked', '{size}␊{body}\n0\n\n'),
      '400 closed',
    ],
    ['a length twice, equal', post('Content-Length: {length}\nContent-Length: {length}', BODY), '400 closed'],
    ['two lengths', post('Content-Length: {length}\nContent-Length: 1', BODY), '400 closed'],
    ['a list of lengths', post('Content-Length: {length}, {length}', BODY), '400 closed'],
    ['a length with a sign', post('Content-Length: +{length}', BODY), '400 closed'],
    ['a negative length', post('Content-Length: -1', BODY), '400 closed'],
    ['a length in hexadecimal', post('Content-Length: 0x10', BODY), '400 closed'],
    ['an empty length', post('Content-Length:', BODY), '400 closed'],
    ['a length above 64 bits', post('Content-Length: 99999999999999999999', BODY), '400 closed'],
    [
      'a length and chunks',
      post('Content-Length: {length}\nTransfer-Encoding: chunked', '{chunks}'),
      '400 closed',
    ],
    [
      'chunks and a length',
      post('Transfer-Encoding: chunked\nContent-Length: {length}', '{chunks}'),
      '400 closed',
    ],
    ['a coding that is not known', post('Transfer-Encoding: xchunked', BODY), '400 closed'],
    ['identity', post('Transfer-Encoding: identity', BODY), '400 closed'],
    ['a coding after chunks', post('Transfer-Encoding: chunked, gzip', '{chunks}'), '400 closed'],
    ['chunks twice', post('Transfer-Encoding: chunked, chunked', '{chunks}'), '400 closed'],
    ['neither length nor chunks', `${POST}\n`, ['400 open', '400 open', '400 open']],
  ],
  'the fields': [
    ['whitespace before the colon', `${GET}X-A : 1\n\n`, '400 closed'],
    ['whitespace before the name', `${GET} X-A: 1\n\n`, '400 closed'],
    ['a folded line', `${GET}X-A: 1\n 2\n\n`, '400 closed'],
    ['no colon', `${GET}X-A\n\n`, '400 closed'],
    ['no name', `${GET}: 1\n\n`, '400 closed'],
    ['a bare LF at its end', `${GET}X-A: 1␊X-B: 2\n\n`, '400 closed'],
    ['a bare CR in it', `${GET}X-A: 1␍2\n\n`, '400 closed'],
    ['an empty value', `${GET}X-A:\n\n`, '200 open'],
    ['more than 16 KiB', `${GET}X-A: ${'a'.repeat(17_000)}\n\n`, '431 closed'],
    ['Connection: close', `${GET}Connection: close\n\n`, '200 closed'],
    ['Connection: keep-alive', `${GET}Connection: keep-alive\n\n`, '200 open'],
    ['Connection with other names', `${GET}Connection: x-a, X-B\nX-A: 1\n\n`, '200 open'],
    ['Upgrade', `${GET}Connection: upgrade\nUpgrade: h2c\n\n`, '200 open'],
  ],
  'the method': [
    ['HEAD', start('HEAD {path} HTTP/1.1'), '200 open'],
    ['OPTIONS', start('OPTIONS {path} HTTP/1.1'), ['405 open', '405 open', '200 open']],
    ['TRACE', start('TRACE {path} HTTP/1.1'), ['405 open', '405 open', '200 open']],
    ['PUT', start('PUT {post} HTTP/1.1', 'Content-Length: 0\n'), '405 open'],
    ['CONNECT', start('CONNECT {host}:443 HTTP/1.1'), '405 closed'],
    ['one that is not known', start('BREW {path} HTTP/1.1'), '501 closed'],
    ['one in lower case', start('get {path} HTTP/1.1'), '501 closed'],
    ['GET with a body', `${GET}Content-Length: 5\n\nhello`, '200 open'],
    ['GET with chunks', `${GET}Transfer-Encoding: chunked\n\n5\nhello\n0\n\n`, '200 open'],
  ],
  'an expectation': [
    [
      '100-continue, with the body at once',
      post('Expect: 100-continue\nContent-Length: {length}', BODY),
      ['100 200 open', '100 200 open', '100 400 open'],
    ],
    [
      '100-continue in upper case',
      post('Expect: 100-Continue\nContent-Length: {length}', BODY),
      ['100 200 open', '100 200 open', '100 400 open'],
    ],
    ['another', post('Expect: x\nContent-Length: {length}', BODY), ['200 open', '200 open', '417 open']],
  ],
  'several requests at once': [
    ['two good ones', `${GET}\n${GET}\n`, '200 200 open'],
    [
      'a post and a good one',
      `${post('Content-Length: {length}', BODY)}${GET}\n`,
      ['200 200 open', '200 200 open', '400 200 open'],
    ],
    ['a good one and garbage', `${GET}\n\u0001\u0002\n\n`, '200 400 closed'],
    ['two good ones and garbage', `${GET}\n${GET}\ngarbage\n\n`, '200 200 400 closed'],
    [
      'a post and garbage',
      `${post('Content-Length: {length}', BODY)}garbage\n\n`,
      ['200 400 closed', '200 400 closed', '400 400 closed'],
    ],
    ['a good one and one with a bad length', `${GET}\n${post('Content-Length: x', '')}`, '200 400 closed'],
    [
      'a good one and one with a bad chunk',
      `${GET}\n${post('Transfer-Encoding: chunked', 'xyz\n')}`,
      '200 400 closed',
    ],
    [
      'a good one, and one without a key whose body is malformed',
      `${GET}\nPOST {post} HTTP/1.1\nHost: {host}\nTransfer-Encoding: chunked\n\n1\nx\nxyz\n`,
      '200 400 closed',
    ],
    ['three good ones', `${GET}\n${GET}\n${GET}\n`, '200 200 200 open'],
    [
      'a good one and a method that is not known',
      `${GET}\n${start('BREW {path} HTTP/1.1')}`,
      '200 501 closed',
    ],
    ['a good one and CONNECT', `${GET}\n${start('CONNECT {host}:443 HTTP/1.1')}`, '200 405 closed'],
    ['one that closes and a good one', `${GET}Connection: close\n\n${GET}\n`, '200 closed'],
    ['a bad Host and a good one', `GET {path} HTTP/1.1\nHost: a/b\n\n${GET}\n`, '400 200 open'],
  ],
};
