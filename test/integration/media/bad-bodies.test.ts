import { expect } from 'chai';
import type { RedisConnection } from '../../../redis/client.ts';
import { makePicture } from '../../support/media-files.ts';
import { describeModel } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { openSocket, type RawAnswer, sendRaw } from '../../support/raw-client.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { type IntakeEndpoint, startIntake } from './intake-endpoint.ts';

const MIB = 1024 * 1024;
const FORM = 'multipart/form-data; boundary=XX';

describe('bad bodies of media routes', () => {
  let redis: RedisServer;
  let connection: RedisConnection;
  let endpoint: IntakeEndpoint;
  let picture: Buffer;

  before(async () => {
    redis = await startRedis();
    connection = await connectTo(redis);
    const config = describeModel({ kind: 'Image', image: { tasks: ['txt2img', 'img2img'] } });
    config.limits = { ...config.limits, uploadTimeoutMs: 2_000, fileBytes: MIB, multipartBodyBytes: 3 * MIB };
    endpoint = await startIntake(config, connection.redis);
    picture = await makePicture(64, 48);
  });
  after(async () => {
    await endpoint?.stop();
    await connection?.close();
    await redis?.stop();
  });
  afterEach('nothing lies in the spool, and the endpoint goes on serving', async () => {
    await pollUntil(() => endpoint.listSpooled().length === 0, 'an empty spool');
    expect(endpoint.spool.used).to.equal(0);
    const { status, body } = await post(whole());
    expect(status, body).to.equal(200);
  });

  const head = (fields: Record<string, string>) =>
    `POST /v1/images/edits HTTP/1.1\r\n${Object.entries({ host: 'x', ...fields })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`;
  const post = (body: Buffer | string, fields: Record<string, string> = {}): Promise<RawAnswer> => {
    const length = String(Buffer.byteLength(body));
    return sendRaw(endpoint.port, head({ 'content-type': FORM, 'content-length': length, ...fields }), body);
  };
  const part = (name: string, content: string | Buffer, more = '') =>
    Buffer.concat([
      Buffer.from(`--XX\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]);
  const END = Buffer.from('--XX--\r\n');
  const start = () =>
    Buffer.concat([
      part('model', 'berth/chat'),
      part('prompt', 'A ship'),
      part('image', picture, '; filename="x"'),
    ]);
  const whole = (...more: Buffer[]) => Buffer.concat([start(), ...more, END]);

  const bodies: [string, () => Buffer | string, number, string?][] = [
    ['nothing', () => '', 400],
    ['no parts', () => END, 400],
    ['a text', () => 'hello', 400],
    ['JSON', () => '{"model":"berth/chat"}', 400],
    ['another boundary', () => whole().toString('latin1').replaceAll('XX', 'YY'), 400],
    ['no end', () => start(), 400],
    ['half an end', () => Buffer.concat([start(), Buffer.from('--XX-')]), 400],
    ['an end in a file', () => start().subarray(0, -20), 400],
    ['an end in a head', () => Buffer.concat([start(), Buffer.from('--XX\r\ncontent-disp')]), 400],
    ['an end in a text', () => '--XX\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nA sh', 400],
    ['only a boundary', () => '--XX\r\n', 400],
    ['parts without heads', () => '--XX\r\n\r\nhello\r\n--XX--\r\n', 400],
    [
      'parts without names',
      () => '--XX\r\ncontent-disposition: form-data\r\n\r\nhello\r\n--XX--\r\n',
      400,
      'missing_required_parameter',
    ],
    ['no disposition', () => '--XX\r\ncontent-type: text/plain\r\n\r\nhello\r\n--XX--\r\n', 400],
    ['line feeds only', () => whole().toString('latin1').replaceAll('\r\n', '\n'), 400],
    ['a head without end', () => `--XX\r\n${'x: y\r\n'.repeat(50_000)}`, 400],
    ['a line without end', () => `--XX\r\ncontent-disposition: form-data; name="${'a'.repeat(500_000)}`, 400],
    ['many boundaries', () => '--XX\r\n'.repeat(50_000), 400],
    ['a part too many of them', () => whole(...Array<Buffer>(200).fill(part('x', '1'))), 400],
    ['a file over the limit', () => whole(part('mask', Buffer.alloc(MIB + 1), '; filename="m"')), 413],
    ['a text over the limit', () => whole(part('size', 'x'.repeat(MIB))), 413],
    ['a body over the limit', () => whole(part('x', Buffer.alloc(3 * MIB), '; filename="m"')), 413],
    ['zero bytes', () => Buffer.alloc(100_000), 400],
  ];
  for (const [what, make, status, code] of bodies)
    for (const encoding of ['with its length', 'in chunks'])
      it(`answers ${status} to ${what}, sent ${encoding}`, async () => {
        const body = Buffer.from(make() as Buffer);
        const answer =
          encoding === 'in chunks'
            ? await sendRaw(
                endpoint.port,
                head({ 'content-type': FORM, 'transfer-encoding': 'chunked' }),
                ...chunk(body, 7_001),
              )
            : await post(body);
        expect([answer.status, answer.code], answer.body).to.deep.equal([
          status,
          code ?? (status === 413 ? 'request_too_large' : 'invalid_request_error'),
        ]);
      });

  /** As pieces of a chunked body, its end included. */
  function chunk(body: Buffer, size: number): Buffer[] {
    const pieces: Buffer[] = [];
    for (let at = 0; at < body.length; at += size) {
      const piece = body.subarray(at, at + size);
      pieces.push(
        Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
      );
    }
    return [...pieces, Buffer.from('0\r\n\r\n')];
  }

  const heads: [string, Record<string, string>, number][] = [
    ['no type', { 'content-type': '' }, 415],
    ['JSON', { 'content-type': 'application/json' }, 400],
    ['a plain form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['another multipart', { 'content-type': 'multipart/mixed; boundary=XX' }, 415],
    ['no boundary', { 'content-type': 'multipart/form-data' }, 400],
    ['an empty boundary', { 'content-type': 'multipart/form-data; boundary=' }, 400],
    ['a quoted empty boundary', { 'content-type': 'multipart/form-data; boundary=""' }, 400],
    ['a long boundary', { 'content-type': `multipart/form-data; boundary=${'a'.repeat(10_000)}` }, 400],
    ['compression', { 'content-encoding': 'gzip' }, 415],
  ];
  for (const [what, fields, status] of heads)
    it(`answers ${status} to ${what} in the head`, async () => {
      const answer = await post(whole(), fields);
      expect(answer.status, answer.body).to.equal(status);
      expect(answer.code).to.be.a('string');
    });

  it('takes a form in pieces of one byte', async () => {
    const body = whole();
    const pieces = [...body].map((byte) => Buffer.from([byte]));
    const answer = await sendRaw(
      endpoint.port,
      head({ 'content-type': FORM, 'content-length': String(body.length) }),
      ...pieces,
    );
    expect(answer.status, answer.body).to.equal(200);
  });

  it('answers every form that was damaged on its way, at once', async () => {
    const random = createRandom(Number(process.env.SEED ?? 1));
    const pick = (most: number) => Math.floor(random() * most);
    const bits = ['--XX', '\r\n', '--', '\r\n\r\n', '--XX--', '"', ';', 'content-type: x', '\0', '\xff'];
    for (let round = 0; round < Number(process.env.ROUNDS ?? 300); round++) {
      let body = whole(part('mask', picture, '; filename="m"'));
      for (let change = pick(4); change >= 0; change--) {
        const at = pick(body.length);
        const bit = Buffer.from(bits[pick(bits.length)]!, 'latin1');
        const rest = body.subarray(at + (pick(2) === 0 ? 0 : pick(200)));
        body = Buffer.concat([body.subarray(0, at), bit, rest]);
      }
      const answer = await sendRaw(
        endpoint.port,
        head({ 'content-type': FORM, 'transfer-encoding': 'chunked' }),
        ...chunk(body, 1 + pick(body.length)),
      );
      expect(answer.status, `round ${round}: ${answer.body}`).to.be.oneOf([200, 400, 404, 413, 422]);
      expect(endpoint.listSpooled()).to.deep.equal([]);
    }
  });

  it('goes on with a connection whose form was refused', async () => {
    const form = whole(part('prompt', 'again'), part('x', Buffer.alloc(2 * MIB), '; filename="m"'));
    const first = Buffer.concat([
      Buffer.from(head({ 'content-type': FORM, 'content-length': String(form.length) })),
      form,
    ]);
    const socket = await openSocket(endpoint.port);
    let text = '';
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1');
    });
    socket.write(first);
    await pollUntil(() => text.includes('`prompt` appears twice'), 'the refusal');
    socket.write(head({ 'content-type': FORM, 'content-length': String(whole().length) }));
    socket.write(whole());
    await pollUntil(() => text.includes('HTTP/1.1 200'), 'the second answer');
    socket.destroy();
  });

  it('answers 408 when a body does not arrive in time', async () => {
    const answer = await sendRaw(
      endpoint.port,
      head({ 'content-type': FORM, 'content-length': '100000' }),
      start(),
    );
    expect([answer.status, answer.code]).to.deep.equal([408, 'request_timeout']);
  });

  it('removes what it has of a client that leaves', async () => {
    const socket = await openSocket(endpoint.port);
    socket.write(head({ 'content-type': FORM, 'content-length': '1000000' }));
    socket.write(start());
    socket.write(part('mask', Buffer.alloc(200_000), '; filename="m"'));
    await pollUntil(() => endpoint.spool.used > 0, 'bytes in the spool');
    socket.destroy();
    await pollUntil(() => endpoint.spool.used === 0, 'an empty spool');
  });

  it('rejects 200 MB before they are sent if their length is declared', async () => {
    const answer = await sendRaw(
      endpoint.port,
      head({ 'content-type': FORM, 'content-length': String(200 * MIB) }),
      start(),
    );
    expect([answer.status, answer.code]).to.deep.equal([413, 'request_too_large']);
    expect(answer.body).to.contain(String(3 * MIB));
  });

  it('breaks off 200 MB of chunks at the limit, and says so', async () => {
    const piece = Buffer.alloc(MIB);
    let sent = 0;
    const before = process.memoryUsage().rss;
    const body = new ReadableStream({
      pull(controller) {
        if (sent === 0) controller.enqueue(Buffer.concat([start(), Buffer.from('--XX\r\n')]));
        sent += piece.length;
        if (sent > 200 * MIB) controller.close();
        else controller.enqueue(piece);
      },
    });
    const response = await fetch(`${endpoint.origin}/v1/images/edits`, {
      method: 'POST',
      headers: { 'content-type': FORM },
      body,
      duplex: 'half',
    } as RequestInit);
    expect(response.status).to.equal(413);
    expect(process.memoryUsage().rss - before).to.be.lessThan(100 * MIB);
  });
});

/** Mulberry32: the same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
