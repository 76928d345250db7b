/** Random answers of an engine as bytes: valid ones, and slightly broken ones. */

export interface RandomAnswer {
  id: number;
  method: 'GET' | 'POST' | 'HEAD';
  /** The request's. */
  body: 'none' | 'small' | 'upload';
  /** Latin-1. */
  wire: string;
  /** How many bytes are sent at a time; the rest follows at once. */
  cuts: number[];
  /** Sent before the request's body has arrived. */
  isEarly: boolean;
  /** What happens to the connection after the bytes. */
  end: 'kept' | 'closed' | 'reset';
}

const STATUSES = [200, 200, 200, 201, 204, 299, 304, 400, 404, 429, 500, 503, 599];
const REASONS = [' OK', ' Too Many Requests', ' ', '', ' a\tb', ' \xe9'];
const FIELDS = [
  'Content-Type: text/event-stream',
  'x-a:b',
  'X-A: c',
  'x-blank: \t a  b',
  'x-empty:',
  'x-!#$%&\'*+.^_`|~1: ("@")',
  'x-utf8: M\xc3\xb6we',
  'set-cookie: a=b',
  'Set-Cookie: c=d',
  'Connection: keep-alive',
  'connection: close',
  'Connection: x, Close',
  'Keep-Alive: timeout=5, max=9',
  'keep-alive: timeout=1',
  '__proto__: a',
  'constructor: b',
];
const TRAILERS = ['x-end: yes', 'X-End: no', 'x-sum: 1'];
const PIECES = [
  'data: {"a":1}\n\n',
  '\r\n',
  '0\r\n\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
  '\0\xff',
  '5\r\n',
  'x'.repeat(3_000),
];
const LARGE_PIECE = 'y'.repeat(200_000);
const EXTENSIONS = ['', '', ';a', ';a=b', ';a="b"'];
/** Replace or join others. */
const BYTES = '\r\n\0 \t:;,07fG-+\x7f\x80"';
const MAX_CUTS = 24;

export function writeAnswer(random: () => number, id: number): RandomAnswer {
  const pick = <T>(from: ArrayLike<T>): T => from[Math.floor(random() * from.length)]!;
  const pickSome = <T>(from: readonly T[], most: number): T[] =>
    Array.from({ length: Math.floor(random() * (most + 1)) }, () => pick(from));

  const method = pick(['POST', 'POST', 'POST', 'GET', 'HEAD'] as const);
  const body = method === 'POST' ? pick(['small', 'small', 'small', 'upload'] as const) : 'none';
  const framing = pick(['counted', 'chunked', 'until closed'] as const);
  const status = pick(STATUSES);
  const isBare = method === 'HEAD' || status === 204 || status === 304;
  const pieces = pickSome(PIECES, 5);
  if (random() < 0.02) pieces.push(LARGE_PIECE);
  const fields = pickSome(FIELDS, 5);
  if (framing === 'counted') fields.push(`Content-Length: ${pieces.join('').length}`);
  if (framing === 'chunked') fields.push(pick(['Transfer-Encoding: chunked', 'transfer-encoding: Chunked']));
  fields.sort(() => random() - 0.5);
  const version = random() < 0.1 && framing !== 'chunked' ? '1.0' : '1.1';
  const head = [
    random() < 0.1 ? 'HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n' : '',
    `HTTP/${version} ${status}${pick(REASONS)}\r\n`,
    ...fields.map((field) => `${field}\r\n`),
    '\r\n',
  ].join('');

  const writeChunk = (piece: string) => {
    const size = piece.length.toString(16);
    return `${pick([size, size.toUpperCase(), `00${size}`])}${pick(EXTENSIONS)}\r\n${piece}\r\n`;
  };
  const writeChunks = () =>
    `${pieces.map(writeChunk).join('')}0\r\n${pickSome(TRAILERS, 2)
      .map((field) => `${field}\r\n`)
      .join('')}\r\n`;
  const content = framing === 'chunked' ? writeChunks() : pieces.join('');
  let wire = isBare ? head : head + content;
  let end: RandomAnswer['end'] = (isBare || framing !== 'until closed') && random() < 0.8 ? 'kept' : 'closed';

  if (random() < 0.5) {
    // Mostly in the head and the first chunks.
    const at = Math.floor(random() * Math.min(wire.length, random() < 0.8 ? head.length + 40 : Infinity));
    const [before, after] = [wire.slice(0, at), wire.slice(at)];
    const line = before.slice(before.lastIndexOf('\n') + 1) + after.slice(0, after.indexOf('\n') + 1);
    end = 'closed';
    const flaws: [string, RandomAnswer['end']][] = [
      [before, 'closed'],
      [before + after.slice(1), 'closed'],
      [before + pick(BYTES) + after, 'closed'],
      [before + pick(BYTES) + after.slice(1), 'closed'],
      [
        before.slice(0, before.lastIndexOf('\n') + 1) + line + line + after.slice(after.indexOf('\n') + 1),
        'closed',
      ],
    ];
    // A body that lasts until the connection ends is complete for undici also where it is reset.
    if (framing !== 'until closed' && !isBare) flaws.push([before, 'reset']);
    [wire, end] = pick(flaws);
  }

  const longest = pick([1, 2, 3, 7, 40, 1_000]);
  const cuts = Array.from({ length: MAX_CUTS }, () => 1 + Math.floor(random() * longest));
  return {
    id,
    method,
    body,
    wire,
    cuts: random() < 0.3 ? [] : cuts,
    isEarly: body === 'upload' && random() < 0.5,
    end,
  };
}
